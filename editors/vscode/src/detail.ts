// How much of a task the chat draws: what the user wants, as the server says it. Never reads a setting: a file of the user may have it.

import * as vscode from 'vscode';
import type { Detail } from './wire';

const ROWS: { label: string; description: string; detail: Detail }[] = [
  { label: 'Brief', description: 'Answers, changes, commands, questions, the plan and whatever went wrong', detail: 'brief' },
  { label: 'Normal', description: 'Also a line for each step that only looks', detail: 'normal' },
  { label: 'Full', description: 'Also thoughts and the arguments of steps', detail: 'full' },
];

// Asks how much is to be drawn, and writes it into the settings of the user. `is` is what is drawn now.
export async function chooseDetail(is: Detail) {
  const chosen = ROWS.filter(({ detail }) => detail === is), others = ROWS.filter(({ detail }) => detail !== is);
  const rows = [...chosen.map((one) => ({ ...one, label: `$(check) ${one.label}` })), ...others];
  const picked = await vscode.window.showQuickPick(rows, { title: 'Adjutant: How Much of a Task the Chat Shows' });
  if (picked) await vscode.workspace.getConfiguration('adjutant').update('detail', picked.detail, vscode.ConfigurationTarget.Global);
}
