// The language client: which program, which documents, which capabilities.
// Never answers an ask by itself; popups are the editor's own.
'use strict';

const vscode = require('vscode');
const { LanguageClient, State } = require('vscode-languageclient/node');
const { save } = require('./save');
const { ofUser, serverPath } = require('./settings');

// What goes unsaid: we draw the state, and the end of a run that failed.
const NOT_DRAWN = [
  'user_message', 'agent_message', 'agent_thought', 'tool_call_update', '_turn', '_complete', '_ask', '_change_set',
  '_rule', 'notice',
];

function createClient(status, outputChannel) {
  const client = new LanguageClient(
    'adjutant',
    'Adjutant',
    // A function: a new path counts at the next start.
    () => start(),
    {
      outputChannel,
      // Every text document of these schemes is announced, shown or not: `documents.complete` says so.
      documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }],
      initializationOptions: () => ofUser(),
      middleware: {
        // By either way the server gets its section without what a workspace says, which may never loosen anything.
        workspace: {
          didChangeConfiguration: () =>
            client.sendNotification('workspace/didChangeConfiguration', { settings: { adjutant: ofUser() } }),
          configuration: async (params, token, next) => {
            const values = await next(params, token);
            return params.items.map((item, at) => (item.section === 'adjutant' ? ofUser() : values[at]));
          },
        },
        window: { showDocument: (params, next) => (params.external ? next(params) : showBeside(params)) },
        // Progress that can be cancelled would be a popup; it belongs into the status bar, and *Cancel* is a command.
        handleWorkDoneProgress: (token, params, next) =>
          next(token, params.kind === 'begin' ? { ...params, cancellable: false } : params),
      },
    },
  );
  client.registerFeature({
    fillClientCapabilities(capabilities) {
      capabilities.experimental = {
        ...capabilities.experimental,
        agent: {
          version: 0,
          updates: { chunks: false, optOut: NOT_DRAWN },
          // A notification of VS Code is one line of text: a diff cannot be judged there.
          asks: { popupLine: true },
          documents: { save: true, complete: true },
        },
      };
    },
    initialize() {},
    getState: () => ({ kind: 'static' }),
    clear() {},
  });
  client.onRequest('agent/document/save', save);
  client.onNotification('agent/session/update', ({ update }) => {
    if (update.sessionUpdate === 'state_update') status.says(update);
    if (update.sessionUpdate === '_run' && update.phase === 'ended') drawFailure(update.end);
  });
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Running) status.ready();
    else if (newState === State.Starting) status.starting();
    else {
      status.stopped();
      // What a server asked that is gone cannot be answered any more, and its notification would stay.
      vscode.commands.executeCommand('notifications.clearAll');
    }
  });
  return client;
}

// What the server opens stands beside the file, which stays in sight.
async function showBeside({ uri, takeFocus }) {
  const aside = vscode.window.tabGroups.activeTabGroup.viewColumn > vscode.ViewColumn.One;
  const viewColumn = aside ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside;
  try {
    await vscode.window.showTextDocument(vscode.Uri.parse(uri, true), { viewColumn, preserveFocus: !takeFocus });
    return { success: true };
  } catch {
    return { success: false };
  }
}

// A run that ended without success needs the user; the others are quiet.
function drawFailure({ outcome, summary }) {
  if (outcome !== 'failed' && outcome !== 'limit') return;
  vscode.window.showErrorMessage(`Adjutant: ${summary ?? 'the task could not be finished'}`);
}

// Starts the server by hand, to say what to do when there is none.
async function start() {
  const { spawn } = require('node:child_process');
  const folder = vscode.workspace.workspaceFolders?.find((one) => one.uri.scheme === 'file');
  const path = serverPath();
  const child = spawn(path, ['lsp'], { cwd: folder?.uri.fsPath, stdio: ['pipe', 'pipe', 'pipe'] });
  await new Promise((started, failed) => {
    child.once('spawn', started);
    child.once('error', (error) => failed(new Error(
      `"${path}" could not be started (${error.code ?? error.message}). Install Adjutant, or set adjutant.server.path.`)));
  });
  return child;
}

module.exports = { createClient };
