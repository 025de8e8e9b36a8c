// The status bar item: what the server says of all tasks of this window, in its words.
// Never guesses, and knows nothing of what a server said that is gone.

import * as vscode from 'vscode';
import type { Overview } from './wire';

type Look = [icon: string, tooltip: string, command?: string];

const start: Look = ['sparkle', 'Start a task', 'adjutant.task.start'];
const LOOKS: Partial<Record<string, Look>> = {
  idle: start,
  running: ['sync~spin', 'Cancel', 'adjutant.task.cancel'],
  interrupted: ['debug-pause', 'It was cut short', 'adjutant.task.ask'],
  asks: ['question', 'It waits for your answer', 'adjutant.task.ask'],
};

export function createStatus() {
  const item = vscode.window.createStatusBarItem('adjutant.state', vscode.StatusBarAlignment.Left, 0);
  item.name = 'Adjutant';
  const draw = ([icon, tooltip, command]: Look, words: string, lines: string[] = []) => {
    item.text = `$(${icon}) Adjutant${words ? `: ${words}` : ''}`;
    item.tooltip = [...lines, tooltip].join('\n');
    // A screen reader does not hover.
    item.accessibilityInformation = { label: [`Adjutant${words ? `: ${words}` : ''}`, ...lines, tooltip].join('. ') };
    item.command = command;
    item.backgroundColor = icon === 'question' ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    item.show();
  };
  return {
    ready: () => draw(start, ''),
    starting: () => draw(['sync~spin', 'The server starts'], 'starting'),
    stopped: () => draw(['circle-slash', 'Start the server again', 'adjutant.restart'], 'not running'),
    // One `agent/overview`. A server that is newer may know more kinds.
    says: ({ kind, short, tooltip }: Overview) => draw(LOOKS[kind] ?? start, short, tooltip),
    dispose: () => item.dispose(),
  };
}
