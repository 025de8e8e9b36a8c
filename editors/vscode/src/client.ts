// The language client: which program, which documents, which capabilities.
// Never answers an ask by itself; its notifications are the editor's own.

import * as vscode from 'vscode';
import { ErrorAction, LanguageClient, type ShowDocumentParams, type ShowDocumentResult, State } from 'vscode-languageclient/node';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { serverIsGone, toast } from './asks';
import { line } from './display';
import { save } from './save';
import { OPEN } from './session';
import { ofUser, serverPath } from './settings';
import type { createAnswer } from './answer';
import type { createChanges } from './changes';
import type { createChat } from './chat/view';
import type { createClosed } from './closed';
import { wordsOf } from './failure';
import type { createFollow } from './follow';
import type { Hunks } from './hunks';
import type { Questions } from './questions';
import type { createSessions } from './sessions';
import type { createStatus } from './status';
import type { AskResolvedParams, Overview, ResumeResult, ReviewUpdateParams, RunEnd, SessionChangedParams, SessionListResult, SessionUpdateParams } from './wire';

type Changes = ReturnType<typeof createChanges>;
interface Surfaces {
  status: ReturnType<typeof createStatus>; answer: ReturnType<typeof createAnswer>; chat: ReturnType<typeof createChat>; follow: ReturnType<typeof createFollow>; questions: Questions; hunks: Hunks;
  changes: Changes; closed: ReturnType<typeof createClosed>; sessions: ReturnType<typeof createSessions>; started: () => void; ready: () => void;
  failed: (sessionId: string, end: RunEnd) => void; edited: (sessionId: string, runId: string, end: RunEnd) => void;
}

// What goes unsaid: no surface shows it.
const NOT_DRAWN = ['agent_thought_chunk', '_turn', '_rule'];
const WEEK_MS = 7 * 24 * 3600 * 1000;
const MOST_REOPENED = 3;

// A write to a server that died fails before its end is seen. By itself the client would stop for good after three of them; its
// end starts it again.
function goOn({ clientOptions }: LanguageClient) {
  const { errorHandler } = clientOptions;
  if (!errorHandler) return;
  clientOptions.errorHandler = { error: () => ({ action: ErrorAction.Continue, handled: true }), closed: () => errorHandler.closed() };
}

export function createClient(surfaces: Surfaces, outputChannel: vscode.OutputChannel) {
  const { status, answer, chat, follow, questions, started, failed, edited, hunks, changes, closed, sessions, ready } = surfaces;
  const client: LanguageClient = new LanguageClient(
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
            if (!Array.isArray(values)) return values;
            return params.items.map((item, at) => (item.section === 'adjutant' ? ofUser() : values[at]));
          },
        },
        // A task from a code action is one that the user gave.
        executeCommand: (command, args, next) => {
          if (command === 'adjutant.start') started();
          return Promise.resolve(next(command, args)).catch((error: unknown) => vscode.window.showErrorMessage(`Adjutant: ${line(wordsOf(error), 300)}`));
        },
        window: {
          showDocument: async (params, next) => {
            if (!params.external) return showBeside(params, questions.shown);
            return await next(params, new vscode.CancellationTokenSource().token) as ShowDocumentResult;
          },
        },
      },
    },
  );
  client.registerFeature({
    fillClientCapabilities(capabilities) {
      // The item of the status bar says what a task does; progress would be a second one.
      capabilities.window = { ...capabilities.window, workDoneProgress: false };
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
          window: { reach: true },
        },
      };
    },
    initialize() {},
    getState: () => ({ kind: 'static' }),
    clear() {},
  });
  client.onRequest('agent/document/save', save);
  // On a remote host this code runs there. What only the window can do is done when the window can be reached.
  client.onRequest('agent/window/reach', async () => {
    await vscode.commands.executeCommand('setContext', 'adjutant.reached', true);
    return {};
  });
  client.onRequest('window/showMessageRequest', toast);
  client.onRequest('agent/session/request_permission', questions.asked);
  client.onNotification('agent/ask/resolved', questions.resolved);
  client.onNotification('agent/session/update', (params: SessionUpdateParams) => {
    const { sessionId, update } = params;
    answer.told(params);
    chat.told(params);
    follow.told(params);
    questions.told(params);
    if (update.sessionUpdate === '_change_set') {
      changes.refresh();
      closed.told(update);
    }
    if (update.sessionUpdate === '_run' && update.phase === 'ended') {
      answer.ended(follow.shows);
      failed(sessionId, update.end);
      edited(sessionId, update.runId, update.end);
    }
  });
  client.onNotification('agent/session/changed', (change: SessionChangedParams) => {
    sessions.told(change);
    chat.named(change);
  });
  client.onNotification('agent/overview', (overview: Overview) => {
    status.says(overview);
    chat.draws(overview.detail);
    changes.asked(overview.asks);
  });
  client.onNotification('agent/review/update', (params: ReviewUpdateParams) => {
    if (hunks.says(params)) changes.refresh();
  });
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Running) {
      status.ready();
      chat.ready();
      sessions.ready();
      ready();
      leftOpen(client, changes, questions).catch((error: unknown) => outputChannel.appendLine(`What is open is not known: ${wordsOf(error)}`));
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
async function leftOpen(client: LanguageClient, changes: Changes, questions: Questions) {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === 'file');
  for (const folder of folders) {
    const cwd = client.code2ProtocolConverter.asUri(folder.uri);
    const { sessions } = await client.sendRequest<SessionListResult>('agent/session/list', { cwd });
    const recent = sessions.filter((one) => one.updatedAt > Date.now() - WEEK_MS);
    const open = recent.filter((one) => OPEN.includes(one.state));
    for (const { sessionId } of open.slice(0, MOST_REOPENED)) {
      // One that another window has open is that window's.
      const resumed = await client.sendRequest<ResumeResult>('agent/session/resume', { sessionId }).catch(() => undefined);
      if (resumed) questions.resumed(sessionId, resumed);
    }
  }
  changes.refresh();
}

// What the server opens stands beside the file, which stays in sight.
async function showBeside({ uri, takeFocus }: ShowDocumentParams, shown: (uri: vscode.Uri) => void) {
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
  const folder = vscode.workspace.workspaceFolders?.find((one) => one.uri.scheme === 'file');
  const path = serverPath();
  const child: ChildProcessWithoutNullStreams = spawn(path, ['lsp'], { cwd: folder?.uri.fsPath, stdio: ['pipe', 'pipe', 'pipe'] });
  await new Promise<void>((started, failed) => {
    child.once('spawn', () => started());
    child.once('error', (error: NodeJS.ErrnoException) => failed(new Error(
      `"${path}" could not be started (${error.code ?? error.message}). Install Adjutant, or set adjutant.server.path.`)));
  });
  return child;
}
