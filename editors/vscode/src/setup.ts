// Sets up a model without leaving the editor: a provider, its key, one call, and then the settings file, all done by the server.
// Keeps no key: what is typed goes to the server and nowhere else.

import * as vscode from 'vscode';
import type { CancellationToken, LanguageClient } from 'vscode-languageclient/node';
import { line, status } from './display';
import { isThere, serverPath } from './settings';
import type { Step } from './walkthrough';
import type { DoctorResult, ModelListResult, SetupKey, SetupParams, SetupProvider, SetupProvidersResult, SetupTryResult, SetupWriteResult } from './wire';

export type Readiness = ReturnType<typeof createReadiness>;

const TITLE = 'Adjutant: Add a Provider';
const INSTALL = 'cargo install --path server';

const { showInformationMessage, showInputBox, showQuickPick, showWarningMessage } = vscode.window;
// A key is often copied from elsewhere, so no step closes when the window loses the focus.
const ask = (prompt: string, more: vscode.InputBoxOptions) => showInputBox({ title: TITLE, prompt, ignoreFocusOut: true, ...more });
const filled = (value: string) => (value.trim() ? undefined : 'This needs an answer.');

// Returns where the key is, nothing if it needs none; `false` if the user left. A key that was found may be the wrong one.
async function keyOf({ keyVariable, keyFound }: SetupProvider, again: boolean): Promise<SetupKey | undefined | false> {
  if (!keyVariable || (keyFound && !again)) return undefined;
  const ways = [
    { label: 'Type the key', detail: 'It goes into a file that only you can read.', typed: true },
    { label: 'It is in an environment variable', detail: 'Only its name goes into the settings.' },
  ];
  const way = await showQuickPick(ways, { title: TITLE, placeHolder: 'Where is the key?', ignoreFocusOut: true });
  if (!way) return false;
  if (way.typed) {
    const key = await ask('The key. It is not shown, and goes into a file that only you can read.', { password: true, validateInput: filled });
    return key !== undefined && { type: 'typed', key };
  }
  const name = await ask('The name of the variable. VS Code has to be started with it.', { value: keyVariable, validateInput: filled });
  return name !== undefined && { type: 'variable', name };
}

// Returns what is to be tried and written; nothing if the user left.
async function described(providers: SetupProvider[], again: boolean): Promise<SetupParams | undefined> {
  const rows = providers.map((one) => ({
    label: status(one.title, 100),
    description: one.keyFound ? `its key is in ${status(one.keyVariable, 60)}` : undefined,
    one,
  }));
  const one = (await showQuickPick(rows, { title: TITLE, placeHolder: 'Which service has the model?', ignoreFocusOut: true }))?.one;
  if (!one) return undefined;
  const address = one.needsAddress ? await ask('Address of its API, for example https://HOST/v1', { value: one.address, validateInput: filled }) : undefined;
  if (one.needsAddress && address === undefined) return undefined;
  const key = await keyOf(one, again);
  if (key === false) return undefined;
  const model = await ask('Model, as the service calls it', { value: one.model, validateInput: filled });
  return model === undefined ? undefined : { provider: one.provider, address, key, model };
}

// Tries it. Returns whether it works; nothing if the user stopped it.
const tried = (client: LanguageClient, params: SetupParams) => vscode.window.withProgress(
  { location: vscode.ProgressLocation.Notification, title: `Adjutant: Asking ${line(params.model, 60)} for one word…`, cancellable: true },
  (_, token: CancellationToken) => client.sendRequest<SetupTryResult>('agent/setup/try', params, token).catch((error) => {
    if (token.isCancellationRequested) return undefined;
    throw error;
  }),
);

// Leads from the choice of a service to the written settings. Returns the model; nothing if the user left.
export async function addProvider(client: LanguageClient | undefined) {
  if (!client?.isRunning()) throw new Error('no server runs; run "adjutant setup" in a terminal, or Adjutant: Restart the Server');
  const { providers, problem } = await client.sendRequest<SetupProvidersResult>('agent/setup/providers', {});
  if (problem) throw new Error(problem);
  for (let again = false; ; again = true) {
    const params = await described(providers, again);
    const result = params && await tried(client, params);
    if (!params || !result) return undefined;
    if (!result.works) {
      const pressed = await showWarningMessage(`Adjutant: ${line(result.text, 300)}`, 'Try Again', 'Write Anyway');
      if (!pressed) return undefined;
      if (pressed === 'Try Again') continue;
    }
    const written = await client.sendRequest<SetupWriteResult>('agent/setup/write', params);
    const show = written.inUse ? showInformationMessage : showWarningMessage;
    show(`Adjutant: ${line(written.text, 300)}`);
    return written.model;
  }
}

// What is set up, by the server's word; `done` hears of the steps of the walkthrough.
export function createReadiness(client: () => LanguageClient, done: (step: Step) => void, onChange: () => void) {
  let hasModel: boolean | undefined;
  return {
    // Whether it is known that there is no model.
    isWithoutModel: () => hasModel === false,
    async look() {
      const { checks } = await client().sendRequest<DoctorResult>('agent/doctor', {});
      const { models } = await client().sendRequest<ModelListResult>('agent/model/list', {});
      const before = hasModel;
      hasModel = models.length > 0;
      done('program');
      if (checks.some(({ check, health }) => check === 'model' && health === 'ok')) done('model');
      if (before !== hasModel) onChange();
    },
  };
}

// Says that there is no program, with the ways to it.
export async function program() {
  const path = serverPath();
  if (isThere(path)) return void showInformationMessage(`Adjutant: the program is there: ${line(path, 200)}`);
  const pressed = await showWarningMessage(`Adjutant: there is no program “${line(path, 200)}”. Set its path, or install it.`, 'Set Path', 'Install…');
  if (pressed === 'Set Path') await vscode.commands.executeCommand('workbench.action.openSettings', 'adjutant.server.path');
  if (pressed === 'Install…') await copyInstall();
}

// Runs the demo in a terminal: a scripted model in a project of its own, without key or network.
export async function demo() {
  if (!isThere(serverPath())) return program();
  const terminal = vscode.window.createTerminal('Adjutant: Demo');
  terminal.show();
  const path = serverPath();
  terminal.sendText(`${/^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`} demo`);
}

export async function copyInstall() {
  await vscode.env.clipboard.writeText(INSTALL);
  showInformationMessage(`Adjutant: "${INSTALL}" is copied; run it in a clone of Adjutant, then Adjutant: Restart the Server.`);
}
