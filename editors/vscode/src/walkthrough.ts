// Which steps of the walkthrough are done in this window. A step is done by a command, and the command runs again when a
// page opens. Never takes back a step: VS Code keeps what was done.

import * as vscode from 'vscode';

const STEPS = ['program', 'model', 'task'] as const;
export type Step = typeof STEPS[number];
const commandOf = (step: Step) => `adjutant.step.${step}`;

export function createWalkthrough() {
  const over = new Set<Step>();
  // VS Code knows the steps only once a page of it was opened, and never counts a condition that was true before that. Only
  // its own `runCommands` tells the walkthrough of a command of an extension.
  const say = () => {
    if (over.size > 0) void vscode.commands.executeCommand('runCommands', { commands: [...over].map(commandOf) });
  };
  const commands = STEPS.map((step) => vscode.commands.registerCommand(commandOf(step), () => {}));
  // The page of the walkthrough is of no kind that an extension can name.
  const isPage = ({ input, isActive }: vscode.Tab) => input === undefined && isActive;
  const opened = vscode.window.tabGroups.onDidChangeTabs(({ opened, changed }) => {
    if ([...opened, ...changed].some(isPage)) say();
  });
  return {
    done(step: Step) {
      if (over.has(step)) return;
      over.add(step);
      say();
    },
    dispose: () => [...commands, opened].forEach((one) => one.dispose()),
  };
}
