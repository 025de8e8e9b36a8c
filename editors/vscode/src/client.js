// The language client: which program, which documents, which capabilities.
// Never answers an ask by itself; its notifications are the editor's own.
'use strict';

const vscode = require('vscode');
const { ErrorAction, LanguageClient, State } = require('vscode-languageclient/node');
const { serverIsGone, toast } = require('./asks');
const { save } = require('./save');
const { OPEN } = require('./session');
const { ofUser, serverPath } = require('./settings');

// What goes unsaid: no surface shows it.
const NOT_DRAWN = ['agent_thought_chunk', '_turn', '_rule'];
const WEEK_MS = 7 * 24 * 3600 * 1000;
const MOST_REOPENED = 3;

// A write to a server that died fails before its end is seen. By itself the client would stop for good after three of them; its
// end starts it again.
function goOn({ clientOptions }) {
  const { errorHandler } = clientOptions;
  clientOptions.errorHandler = { error: () => ({ action: ErrorAction.Continue, handled: true }), closed: () => errorHandler.closed() };
}

function createClient(surfaces, outputChannel) {
  const { status, answer, chat, questions, started, failed, edited, hunks, changes, closed, sessions, ready } = surfaces;
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
          didChangeConfiguration: async () => {
            await client.sendNotification('workspace/didChangeConfiguration', { settings: { adjutant: ofUser() } });
            ready();
          },
          configuration: async (params, token, next) => {
            const values = await next(params, token);
            return params.items.map((item, at) => (item.section === 'adjutant' ? ofUser() : values[at]));
          },
        },
        // A task from a code action is one that the user gave.
        executeCommand: (command, args, next) => {
          if (command === 'adjutant.start') started();
          return next(command, args);
        },
        window: { showDocument: (params, next) => (params.external ? next(params) : showBeside(params, questions.shown)) },
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
          updates: { chunks: true, optOut: NOT_DRAWN },
          // The chat draws the whole of a question; a notification is one line of text, where nothing can be judged.
          asks: { request: true },
          documents: { save: true, complete: true },
          review: { hunks: true },
          overview: true,
          sessions: true,
          workspace: { trusted: vscode.workspace.isTrusted },
        },
      };
    },
    initialize() {},
    getState: () => ({ kind: 'static' }),
    clear() {},
  });
  client.onRequest('agent/document/save', save);
  client.onRequest('window/showMessageRequest', toast);
  client.onRequest('agent/session/request_permission', questions.asked);
  client.onNotification('agent/ask/resolved', questions.resolved);
  client.onNotification('agent/session/update', (params) => {
    const { sessionId, update } = params;
    answer.told(params);
    chat.told(params);
    questions.told(params);
    if (update.sessionUpdate === '_change_set') {
      changes.refresh();
      closed.told(update);
    }
    if (update.sessionUpdate === '_run' && update.phase === 'ended') {
      answer.ended();
      failed(sessionId, update.end);
      edited(sessionId, update.runId, update.end);
    }
  });
  client.onNotification('agent/session/changed', (change) => {
    sessions.told(change);
    chat.named(change);
  });
  client.onNotification('agent/overview', status.says);
  client.onNotification('agent/review/update', (params) => {
    if (hunks.says(params)) changes.refresh();
  });
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Running) {
      status.ready();
      chat.ready();
      sessions.ready();
      ready();
      leftOpen(client, changes, questions).catch((error) => outputChannel.appendLine(`What is open is not known: ${error.message}`));
    } else {
      serverIsGone();
      questions.lost();
      chat.lost();
      hunks.clear();
      changes.clear();
      if (newState === State.Starting) status.starting();
      else status.stopped();
    }
  });
  goOn(client);
  return client;
}

// Follows what an earlier server left open, with its questions.
async function leftOpen(client, changes, questions) {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === 'file');
  for (const folder of folders) {
    const cwd = client.code2ProtocolConverter.asUri(folder.uri);
    const { sessions } = await client.sendRequest('agent/session/list', { cwd });
    const recent = sessions.filter((one) => one.updatedAt > Date.now() - WEEK_MS);
    const open = recent.filter((one) => OPEN.includes(one.state));
    for (const { sessionId } of open.slice(0, MOST_REOPENED)) {
      // One that another window has open is that window's.
      const resumed = await client.sendRequest('agent/session/resume', { sessionId }).catch(() => undefined);
      if (resumed) questions.resumed(sessionId, resumed);
    }
  }
  changes.refresh();
}

// What the server opens stands beside the file, which stays in sight.
async function showBeside({ uri, takeFocus }, shown) {
  const aside = vscode.window.tabGroups.activeTabGroup.viewColumn > vscode.ViewColumn.One;
  const viewColumn = aside ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside;
  try {
    const opened = vscode.Uri.parse(uri, true);
    await vscode.window.showTextDocument(opened, { viewColumn, preserveFocus: !takeFocus });
    shown(opened);
    return { success: true };
  } catch {
    return { success: false };
  }
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
