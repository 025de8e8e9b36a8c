// The extension: starts the server, registers the commands, draws one status
// bar item and the answer. Holds no state about the agent; what is shown is what was last said.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { createAnswer } from './answer';
import { answerHere } from './answerHere';
import { createAttach } from './attach';
import { createAnswers, words } from './asks';
import { createChat } from './chat/view';
import { createChanges, openChange, type Row } from './changes';
import { createClosed } from './closed';
import { createComments } from './comments';
import { line } from './display';
import { chooseDetail } from './detail';
import { showDoctor } from './doctor';
import { type Complain, wordsOf } from './failure';
import { createFollow } from './follow';
import { createHunks } from './hunks';
import { createProposed } from './proposed';
import { createQuestions } from './questions';
import { createReview } from './review';
import { createRewind } from './rewind';
import { createSessions } from './sessions';
import { isThere, serverPath } from './settings';
import { addProvider, copyInstall, createReadiness, demo, program } from './setup';
import { createStatus } from './status';
import { createWalkthrough } from './walkthrough';
import type { Origin, ReviewHunk, ReviewListResult, RunEnd } from './wire';

const PATIENCE_MS = 60_000; // for a server that starts
let client: LanguageClient | undefined;
let turn: Promise<void> = Promise.resolve(); // starts and stops, one after the other: two at once would leave two servers

export async function activate(context: vscode.ExtensionContext) {
  // The words of a failure are the server's.
  const complain: Complain = (error) => void vscode.window.showErrorMessage(`Adjutant: ${line(wordsOf(error), 300)}`);
  const now = () => {
    if (!client) throw new Error('the server is not running; the status bar says more');
    return client;
  };
  const status = createStatus();
  const answer = createAnswer(complain);
  const output = vscode.window.createOutputChannel('Adjutant');
  const list = async (of = {}): Promise<ReviewHunk[]> => (client?.isRunning() ? (await client.sendRequest<ReviewListResult>('agent/review/list', of)).hunks : []);
  const note: Complain = (error) => output.appendLine(`The changes are not known: ${wordsOf(error)}`);
  const proposed = createProposed();
  const hunks = createHunks(proposed);
  const changes = createChanges(() => list(), note);
  const review = createReview({ hunks, proposed }, now, changes.refresh);
  const closed = createClosed(list, review.lost, complain);
  const decide = async (action: 'keep' | 'undo' | 'undoRun', given: { hunks?: ReviewHunk[]; sessionId?: string; runId?: string }) => {
    if (action !== 'undoRun') await review[action === 'keep' ? 'keepFile' : 'undoFile'](given);
    else if (given.sessionId && given.runId) await rewind.undoRun(given.sessionId, given.runId);
  };
  const walkthrough = createWalkthrough();
  // The answer beside the file is for those who do not see the chat.
  const started = () => {
    walkthrough.done('task');
    if (!chat.isVisible()) answer.begun();
  };
  const readiness = createReadiness(now, walkthrough.done, () => chat.readied());
  const ready = () => void readiness.look().catch((error: unknown) => output.appendLine(`What is set up is not known: ${wordsOf(error)}`));
  const add = async () => {
    const model = await addProvider(client);
    if (model) ready();
    return model;
  };
  const attach = createAttach((chips) => chat.attach(chips));
  const chat = createChat(context, { client: () => client, here, complain, started, questions: () => questions, decide, files: attach.dropped, readiness: () => readiness, add, isOnlyShown: (document) => follow.isOnlyShown(document) });
  const questions = createQuestions({ client: now, isInSight: chat.isInSight, reveal: chat.reveal, complain });
  questions.onDidChange(chat.asked);
  // A chat that is not in sight finds out when it comes into sight.
  const deleted = async (sessionId: string) => { if (chat.isInSight(sessionId)) await chat.begin(); };
  const sessions = createSessions({ client: () => client, reveal: chat.reveal, deleted, fork: chat.fork, complain });
  // Of a chat in sight, its conversation alone.
  const follow = createFollow(context, () => client, (sessionId) => !chat.isVisible() || chat.isInSight(sessionId), answer.isIn);
  context.subscriptions.push(follow, status, answer, walkthrough, attach, chat, questions, output, review, hunks, proposed, changes, closed, sessions);

  const answers = createAnswers(now);
  // In the chat the ways to go on stand below the failure.
  const failed = (sessionId: string, end: RunEnd) => { if (!chat.isInSight(sessionId)) answers.failed(sessionId, end).catch(complain); };
  const rewind = createRewind(now);
  const edited = (sessionId: string, runId: string, end: RunEnd) => manyFiles(rewind, sessionId, runId, end).catch(complain);
  // A client that could not start cannot start again, so each start has one of its own.
  const start = async () => {
    if (!isThere(serverPath())) {
      output.appendLine(`There is no program "${serverPath()}".`);
      status.stopped();
      void program().catch(complain);
      return;
    }
    // Its library takes longer to load than all the rest, and only the server needs it.
    const { createClient } = await import('./client');
    client = createClient({ status, answer, chat, follow, questions, started, failed, edited, hunks, changes, closed, sessions, ready }, output);
    // One that does not answer holds up no other.
    await Promise.race([client.start().catch(() => status.stopped()), new Promise<void>((done) => setTimeout(done, PATIENCE_MS))]);
  };
  const restart = () => {
    turn = turn.then(stop).then(start).catch(complain);
    return turn;
  };

  const ask = (command: string, ...args: object[]) => now().sendRequest('workspace/executeCommand', { command, arguments: args });
  const register = (name: string, run: (...given: never[]) => unknown) =>
    context.subscriptions.push(vscode.commands.registerCommand(name, (...given: never[]) => Promise.resolve(run(...given)).catch(complain)));
  // A text that is not taken waits in the chat, where the way on stands.
  const give = async (command: string, text: string, place: object) => {
    try {
      started();
      await ask(command, { text, ...place });
    } catch (error) {
      await chat.keep(text);
      throw error;
    }
  };
  register('adjutant.task.start', async () => {
    const text = await words('Start a Task', 'What is to be done?', { placeholder: 'make the failing test pass' });
    if (text) await give('adjutant.start', text, here());
  });
  register('adjutant.task.goOn', async () => {
    const text = await words('Go On', 'What comes next? While it works, this steers it.', { placeholder: 'and add a test for it' });
    if (text) await give('adjutant.prompt', text, {});
  });
  register('adjutant.task.cancel', () => ask('adjutant.cancel'));
  register('adjutant.task.cancelAll', () => ask('adjutant.cancel', { all: true }));
  register('adjutant.task.transcript', () => ask('adjutant.showTranscript'));
  register('adjutant.task.chat', chat.open);
  register('adjutant.task.newChat', chat.begin);
  register('adjutant.task.conversations', chat.pick);
  register('adjutant.task.fork', chat.forkHere);
  register('adjutant.task.choose', () => chat.choose());
  register('adjutant.task.detail', () => chooseDetail(chat.detail()));
  register('adjutant.task.follow', follow.begin);
  register('adjutant.task.unfollow', follow.end);
  for (const name of ['prompt', 'menu']) {
    register(`adjutant.${name}.ask`, attach.ask);
    register(`adjutant.${name}.addFile`, attach.addFile);
  }
  register('adjutant.task.answer', () => answer.show());
  register('adjutant.task.reject', answers.reject);
  register('adjutant.task.words', answers.answer);
  register('adjutant.task.ask', questions.review);
  register('adjutant.task.answerHere', () => answerHere(questions, complain));
  for (const act of ['keep', 'undo', 'keepFile', 'undoFile', 'keepAll', 'restore', 'show', 'next', 'previous', 'apply', 'reject'] as const) {
    register(`adjutant.change.${act}`, (given: never) => (review[act] as (given: never) => unknown)(given));
  }
  const comments = createComments({ client: now, hunks, meant: review.meant, answer });
  register('adjutant.change.comment', comments.comment);
  register('adjutant.comments.send', comments.send);
  register('adjutant.change.open', (given: Row) => openChange(given, hunks.of));
  // The buttons of the editor's title, which have no room for the whole names.
  register('adjutant.title.keepFile', () => review.keepFile());
  register('adjutant.title.undoFile', () => review.undoFile());
  register('adjutant.change.review', () => vscode.commands.executeCommand('adjutant.changes.focus'));
  register('adjutant.run.undo', rewind.undo);
  register('adjutant.run.restore', rewind.restore);
  for (const act of ['open', 'rename', 'fork', 'delete', 'transcript', 'more', 'refresh'] as const) {
    register(`adjutant.sessions.${act}`, (given: never) => sessions[act](given));
  }
  register('adjutant.provider.add', add);
  register('adjutant.demo', demo);
  register('adjutant.install.copy', copyInstall);
  register('adjutant.program', program);
  register('adjutant.doctor', () => showDoctor(client));
  register('adjutant.restart', restart);
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration((changed) => {
    if (changed.affectsConfiguration('adjutant.server')) restart();
  }));

  await restart();
}

// Says in one line that a run has changed many files; the words are the server's. Opens nothing by itself.
async function manyFiles(rewind: ReturnType<typeof createRewind>, sessionId: string, runId: string, { edits }: RunEnd) {
  if (!edits?.line) return;
  const ways = edits.unreviewed ? ['Review', 'Undo Run'] : ['Undo Run'];
  const pressed = await vscode.window.showInformationMessage(`Adjutant changed ${edits.line}`, ...ways);
  if (pressed === 'Review') await vscode.commands.executeCommand('adjutant.changes.focus');
  if (pressed === 'Undo Run') await rewind.undoRun(sessionId, runId);
}

// The place a task is about: a file of the workspace, which says in which folder the task runs, and
// the selection, if there is one.
function here(): Partial<Origin> {
  const editor = vscode.window.activeTextEditor;
  if (!client || editor?.document.uri.scheme !== 'file' || !vscode.workspace.getWorkspaceFolder(editor.document.uri)) return {};
  const uri = client.code2ProtocolConverter.asUri(editor.document.uri);
  return editor.selection.isEmpty ? { uri } : { uri, range: client.code2ProtocolConverter.asRange(editor.selection) };
}

async function stop() {
  if (client?.needsStop()) await client.stop().catch(() => {});
}

export function deactivate() {
  turn = turn.then(stop);
  return turn;
}
