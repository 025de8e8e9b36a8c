// The extension: starts the server, registers the commands, draws one status
// bar item and the answer. Holds no state about the agent; what is shown is what was last said.
'use strict';

const vscode = require('vscode');
const { createAnswer } = require('./answer');
const { answerHere } = require('./answerHere');
const { createAttach } = require('./attach');
const { createAnswers, words } = require('./asks');
const { createChat } = require('./chat/view');
const { createChanges, openChange } = require('./changes');
const { createClosed } = require('./closed');
const { createComments } = require('./comments');
const { line } = require('./display');
const { showDoctor } = require('./doctor');
const { createHunks } = require('./hunks');
const { createProposed } = require('./proposed');
const { createQuestions } = require('./questions');
const { createReview } = require('./review');
const { createRewind } = require('./rewind');
const { createSessions } = require('./sessions');
const { addProvider, copyInstall, createReadiness, demo } = require('./setup');
const { createStatus } = require('./status');
const { createWalkthrough } = require('./walkthrough');

const PATIENCE_MS = 60_000; // for a server that starts
let client;
let turn = Promise.resolve(); // starts and stops, one after the other: two at once would leave two servers

async function activate(context) {
  // The words of a failure are the server's.
  const complain = (error) => void vscode.window.showErrorMessage(`Adjutant: ${line(error.message, 300)}`);
  const status = createStatus();
  const answer = createAnswer(complain);
  const output = vscode.window.createOutputChannel('Adjutant');
  const list = async (of = {}) => (client?.isRunning() ? (await client.sendRequest('agent/review/list', of)).hunks : []);
  const note = (error) => output.appendLine(`The changes are not known: ${error.message}`);
  const proposed = createProposed();
  const hunks = createHunks(proposed);
  const changes = createChanges(() => list(), note);
  const review = createReview({ hunks, proposed }, () => client, changes.refresh);
  const closed = createClosed(list, review.lost, complain);
  const decide = async (action, given) => {
    if (action === 'undoRun') await rewind.undoRun(given.sessionId, given.runId);
    else await review[action === 'keep' ? 'keepFile' : 'undoFile'](given);
  };
  const walkthrough = createWalkthrough();
  // The answer beside the file is for those who do not see the chat.
  const started = () => {
    walkthrough.done('task');
    if (!chat.isVisible()) answer.begun();
  };
  const readiness = createReadiness(() => client, walkthrough.done, () => chat.readied());
  const ready = () => void readiness.look().catch((error) => output.appendLine(`What is set up is not known: ${error.message}`));
  const add = async () => {
    const model = await addProvider(client);
    if (model) ready();
    return model;
  };
  const attach = createAttach((chips) => chat.attach(chips));
  const chat = createChat(context, { client: () => client, here, complain, started, questions: () => questions, decide, files: attach.dropped, readiness: () => readiness, add });
  const questions = createQuestions({ client: () => client, isInSight: chat.isInSight, reveal: chat.reveal, complain });
  questions.onDidChange(chat.asked);
  // A chat that is not in sight finds out when it comes into sight.
  const deleted = async (sessionId) => { if (chat.isInSight(sessionId)) await chat.begin(); };
  const sessions = createSessions({ client: () => client, reveal: chat.reveal, deleted, complain });
  context.subscriptions.push(status, answer, walkthrough, attach, chat, questions, output, review, hunks, proposed, changes, closed, sessions);

  const answers = createAnswers(() => client);
  // In the chat the ways to go on stand below the failure.
  const failed = (sessionId, end) => { if (!chat.isInSight(sessionId)) answers.failed(sessionId, end).catch(complain); };
  const rewind = createRewind(() => client);
  const edited = (sessionId, runId, end) => manyFiles(rewind, sessionId, runId, end).catch(complain);
  // A client that could not start cannot start again, so each start has one of its own.
  const start = async () => {
    // Its library takes longer to load than all the rest, and only the server needs it.
    const { createClient } = require('./client');
    client = createClient({ status, answer, chat, questions, started, failed, edited, hunks, changes, closed, sessions, ready }, output);
    // One that does not answer holds up no other.
    await Promise.race([client.start().catch(() => status.stopped()), new Promise((done) => setTimeout(done, PATIENCE_MS))]);
  };
  const restart = () => {
    turn = turn.then(stop).then(start).catch(complain);
    return turn;
  };

  const ask = (command, ...args) => client.sendRequest('workspace/executeCommand', { command, arguments: args });
  const register = (name, run) =>
    context.subscriptions.push(vscode.commands.registerCommand(name, (...given) => Promise.resolve(run(...given)).catch(complain)));
  register('adjutant.task.start', async () => {
    const text = await words('Start a Task', 'What is to be done?', { placeholder: 'make the failing test pass' });
    if (!text) return;
    started();
    await ask('adjutant.start', { text, ...here() });
  });
  register('adjutant.task.goOn', async () => {
    const text = await words('Go On', 'What comes next? While it works, this steers it.', { placeholder: 'and add a test for it' });
    if (!text) return;
    started();
    await ask('adjutant.prompt', { text });
  });
  register('adjutant.task.cancel', () => ask('adjutant.cancel'));
  register('adjutant.task.cancelAll', () => ask('adjutant.cancel', { all: true }));
  register('adjutant.task.transcript', () => ask('adjutant.showTranscript'));
  register('adjutant.task.chat', chat.open);
  register('adjutant.task.newChat', chat.begin);
  register('adjutant.task.conversations', chat.pick);
  register('adjutant.task.choose', () => chat.choose());
  for (const name of ['prompt', 'menu']) {
    register(`adjutant.${name}.ask`, attach.ask);
    register(`adjutant.${name}.addFile`, attach.addFile);
  }
  register('adjutant.task.answer', () => answer.show());
  register('adjutant.task.reject', answers.reject);
  register('adjutant.task.words', answers.answer);
  register('adjutant.task.ask', questions.review);
  register('adjutant.task.answerHere', () => answerHere(questions, complain));
  for (const act of ['keep', 'undo', 'keepFile', 'undoFile', 'keepAll', 'restore', 'show', 'next', 'previous', 'apply', 'reject']) {
    register(`adjutant.change.${act}`, (given) => review[act](given));
  }
  const comments = createComments({ client: () => client, hunks, meant: review.meant, answer });
  register('adjutant.change.comment', comments.comment);
  register('adjutant.comments.send', comments.send);
  register('adjutant.change.open', (given) => openChange(given, hunks.of));
  // The buttons of the editor's title, which have no room for the whole names.
  register('adjutant.title.keepFile', () => review.keepFile());
  register('adjutant.title.undoFile', () => review.undoFile());
  register('adjutant.change.review', () => vscode.commands.executeCommand('adjutant.changes.focus'));
  register('adjutant.run.undo', rewind.undo);
  register('adjutant.run.restore', rewind.restore);
  for (const act of ['open', 'rename', 'delete', 'transcript', 'more', 'refresh']) {
    register(`adjutant.sessions.${act}`, (given) => sessions[act](given));
  }
  register('adjutant.provider.add', add);
  register('adjutant.demo', demo);
  register('adjutant.install.copy', copyInstall);
  register('adjutant.doctor', () => showDoctor(client));
  register('adjutant.restart', restart);
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration((changed) => {
    if (changed.affectsConfiguration('adjutant.server')) restart();
  }));

  await restart();
}

// Says in one line that a run has changed many files; the words are the server's. Opens nothing by itself.
async function manyFiles(rewind, sessionId, runId, { edits }) {
  if (!edits?.line) return;
  const ways = edits.unreviewed ? ['Review', 'Undo Run'] : ['Undo Run'];
  const pressed = await vscode.window.showInformationMessage(`Adjutant: ${edits.line}`, ...ways);
  if (pressed === 'Review') await vscode.commands.executeCommand('adjutant.changes.focus');
  if (pressed === 'Undo Run') await rewind.undoRun(sessionId, runId);
}

// The place a task is about: a file of the workspace, which says in which folder the task runs, and
// the selection, if there is one.
function here() {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== 'file' || !vscode.workspace.getWorkspaceFolder(editor.document.uri)) return {};
  const uri = client.code2ProtocolConverter.asUri(editor.document.uri);
  return editor.selection.isEmpty ? { uri } : { uri, range: client.code2ProtocolConverter.asRange(editor.selection) };
}

async function stop() {
  if (client?.needsStop()) await client.stop().catch(() => {});
}

function deactivate() {
  turn = turn.then(stop);
  return turn;
}

module.exports = { activate, deactivate };
