// A client of the agent/* methods on vscode-jsonrpc. Plays one story and prints its result.
// Never ignores a wrong message of the server: it ends with an error.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, file, story] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const rpc = require('vscode-jsonrpc/node');
const { TextDocument } = require('vscode-languageserver-textdocument');

const root = pathToFileURL(process.cwd()).href;
const uri = pathToFileURL(file).href;
let doc = TextDocument.create(uri, 'python', 1, readFileSync(file, 'utf8'));
const updates = [];
const waiting = [];

const server = spawn('adjutant', ['lsp'], { stdio: ['pipe', 'pipe', 'inherit'] });
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(server.stdout),
  new rpc.StreamMessageWriter(server.stdin),
);

// Returns the first past or future update that fulfils a condition.
function awaitUpdate(wanted) {
  const found = updates.find(wanted);
  if (found) return found;
  return new Promise((resolve) => waiting.push({ wanted, resolve }));
}

connection.onNotification('agent/session/update', ({ update }) => {
  updates.push(update);
  for (const one of waiting.filter(({ wanted }) => wanted(update))) one.resolve(update);
});
connection.onRequest('agent/session/request_permission', async (ask, withdrawn) => {
  assert.equal(ask.subject.type, 'edit');
  assert.match(ask.subject.diff, /^\+ {4}return "Hello, "/m);
  const option = (kind) => ask.options.find((one) => one.kind === kind).optionId;
  if (story === 'allows') return { outcome: { outcome: 'selected', optionId: option('allow_once') } };
  // The request stays open; the answer uses another method and has a reason.
  const closed = new Promise((resolve) => withdrawn.onCancellationRequested(resolve));
  await connection.sendRequest('agent/ask/respond', {
    askId: ask.askId,
    optionId: option('reject_once'),
    reason: 'leave it as it is',
  });
  await closed;
  return { outcome: { outcome: 'cancelled' } };
});
connection.onRequest('workspace/applyEdit', ({ edit }) => {
  const [change] = edit.documentChanges;
  assert.equal(change.textDocument.version, doc.version);
  doc = TextDocument.create(uri, 'python', doc.version + 1, TextDocument.applyEdits(doc, change.edits));
  connection.sendNotification('textDocument/didChange', {
    textDocument: { uri, version: doc.version },
    contentChanges: [{ text: doc.getText() }],
  });
  return { applied: true };
});
connection.listen();

const answer = await connection.sendRequest('initialize', {
  processId: process.pid,
  rootUri: root,
  workspaceFolders: [{ uri: root, name: 'project' }],
  capabilities: {
    workspace: { applyEdit: true, workspaceEdit: { documentChanges: true } },
    experimental: { agent: { version: 0, updates: { chunks: true }, asks: { request: true } } },
  },
});
assert.equal(answer.capabilities.experimental.agent.version, 0);
await connection.sendNotification('initialized', {});
await connection.sendNotification('textDocument/didOpen', {
  textDocument: { uri, languageId: 'python', version: 1, text: doc.getText() },
});

const { sessionId } = await connection.sendRequest('agent/session/new', { cwd: root });
const prompted = await connection.sendRequest('agent/session/prompt', {
  sessionId,
  prompt: [{ type: 'text', text: 'Mend the greeting' }],
});
assert.equal(prompted.disposition, 'started');
if (story === 'cancels') {
  await connection.sendNotification('agent/session/cancel', { sessionId, runId: prompted.runId });
}
const ended = await awaitUpdate((update) => update.sessionUpdate === '_run' && update.phase === 'ended');
const said = updates.filter((update) => update.sessionUpdate === 'agent_message').length;
const chunks = updates.filter((update) => update.sessionUpdate === 'agent_message_chunk').length;
const failure = await connection.sendRequest('agent/session/prompt', { sessionId, prompt: [] }).catch((error) => error);
await connection.sendRequest('shutdown');
await connection.sendNotification('exit');
await new Promise((gone) => server.once('exit', gone));
process.stdout.write(JSON.stringify({
  reason: ended.end.stopReason, buffer: doc.getText(), messages: said, chunks: chunks > 0, code: failure.code,
}));
