// The extension: starts the server, registers four commands, draws one status
// bar item. Holds no state about the agent; what is shown is what was last said.
'use strict';

const vscode = require('vscode');
const { createClient } = require('./client');
const { createStatus } = require('./status');

let client;

async function activate(context) {
  const status = createStatus();
  const output = vscode.window.createOutputChannel('Adjutant');
  context.subscriptions.push(status, output);

  // A client that could not start cannot start again, so each start has one of its own.
  const start = async () => {
    client = createClient(status, output);
    await client.start().catch(() => status.stopped());
  };
  const restart = async () => {
    await deactivate();
    await start();
  };

  // What the server is asked to do; the words of a failure are the server's.
  const ask = async (command, ...args) => {
    try {
      return await client.sendRequest('workspace/executeCommand', { command, arguments: args });
    } catch (error) {
      vscode.window.showErrorMessage(`Adjutant: ${error.message}`);
    }
  };
  const register = (name, run) => context.subscriptions.push(vscode.commands.registerCommand(name, run));
  register('adjutant.task.start', async () => {
    const text = await vscode.window.showInputBox({
      title: 'Adjutant: Start a Task',
      prompt: 'What is to be done?',
      placeHolder: 'make the failing test pass',
      ignoreFocusOut: true,
    });
    if (text?.trim()) await ask('adjutant.start', { text, ...here() });
  });
  register('adjutant.task.cancel', () => ask('adjutant.cancel'));
  register('adjutant.task.transcript', () => ask('adjutant.showTranscript'));
  register('adjutant.restart', restart);
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration((changed) => {
    if (changed.affectsConfiguration('adjutant.server')) restart();
  }));

  await start();
}

// The place a task is about: the selection, if there is one, in a file.
function here() {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.uri.scheme !== 'file' || editor.selection.isEmpty) return {};
  return {
    uri: client.code2ProtocolConverter.asUri(editor.document.uri),
    range: client.code2ProtocolConverter.asRange(editor.selection),
  };
}

async function deactivate() {
  if (client?.needsStop()) await client.stop().catch(() => {});
}

module.exports = { activate, deactivate };
