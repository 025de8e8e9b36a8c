// Whether Adjutant works as it is set up: what the server checked, as a list.
// Runs nothing: the command of a cure is typed into a terminal, and the user sends it.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { status } from './display';
import type { Check, DoctorResult, Health } from './wire';

const ICONS: Partial<Record<Health, string>> = { ok: 'pass', note: 'info', warning: 'warning', error: 'error' };
const WORST: Health[] = ['error', 'warning', 'note', 'ok'];
const MAX_TEXT = 1_000; // characters of a row

// All parts of a row may have icons, so the server's texts go through `status`.
function row({ check, health, text, cure }: Check) {
  return {
    label: `$(${ICONS[health] ?? 'info'}) ${status(check, 40)}`,
    detail: status(text, MAX_TEXT),
    description: cure ? `${cure.title} ${cure.command}` : undefined,
    cure,
  };
}

export async function showDoctor(client: LanguageClient | undefined) {
  if (!client?.isRunning()) throw new Error('no server runs; run "adjutant doctor" in a terminal, or Adjutant: Restart the Server');
  const { checks } = await client.sendRequest<DoctorResult>('agent/doctor', {});
  // What has to be done comes first.
  const sorted = [...checks].sort((one, other) => WORST.indexOf(one.health) - WORST.indexOf(other.health));
  const picked = await vscode.window.showQuickPick(sorted.map(row), {
    title: 'Adjutant: Check the Set-up',
    placeHolder: 'A row with a cure opens a terminal with its command',
  });
  if (!picked?.cure) return;
  const terminal = vscode.window.createTerminal('Adjutant');
  terminal.show();
  terminal.sendText(picked.cure.command, false);
}
