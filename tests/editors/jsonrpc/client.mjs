// A plain client on vscode-languageserver-protocol, with its own buffers.
// One line of JSON in, one line of JSON out. Never decides; ends with its input.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [modules, file] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const lsp = require('vscode-languageserver-protocol/node');
const { TextDocument } = require('vscode-languageserver-textdocument');

const root = pathToFileURL(process.cwd()).href;
const uri = pathToFileURL(file).href;
// The buffer of the file, and its earlier texts for undo.
let doc = TextDocument.create(uri, 'python', 1, existsSync(file) ? readFileSync(file, 'utf8') : '');
const before = [];
const progress = [];
let server, connection, asked, token, line = 0;

const capabilities = {
  workspace: {
    applyEdit: true,
    workspaceEdit: { documentChanges: true, resourceOperations: ['create'] },
  },
  window: { workDoneProgress: true, showMessage: {}, showDocument: { support: false } },
  textDocument: {
    synchronization: { didSave: true },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['', 'quickfix', 'refactor'] } } },
    publishDiagnostics: {},
  },
};

function change(text) {
  before.push(doc.getText());
  doc = TextDocument.create(uri, 'python', doc.version + 1, text);
  connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version: doc.version },
    contentChanges: [{ text }],
  });
}

function apply({ edit }) {
  for (const one of edit.documentChanges ?? []) {
    const path = fileURLToPath(one.uri ?? one.textDocument.uri);
    if (one.kind === 'create') {
      mkdirSync(dirname(path), { recursive: true });
      if (!existsSync(path)) writeFileSync(path, '');
    } else if (one.textDocument.uri !== uri) {
      const closed = TextDocument.create(one.textDocument.uri, 'text', 0, readFileSync(path, 'utf8'));
      writeFileSync(path, TextDocument.applyEdits(closed, one.edits));
    } else if (one.textDocument.version !== doc.version) {
      return { applied: false, failureReason: `version ${one.textDocument.version} is not ${doc.version}` };
    } else {
      // As editors do: first the answer, then the change.
      setImmediate((text) => change(text), TextDocument.applyEdits(doc, one.edits));
    }
  }
  return { applied: true };
}

async function attach() {
  server = spawn('adjutant', ['lsp'], { stdio: ['pipe', 'pipe', 'inherit'] });
  connection = lsp.createProtocolConnection(server.stdout, server.stdin);
  connection.onRequest(lsp.ShowMessageRequest.type, (question) => new Promise((resolve) => {
    asked = { ...question, resolve };
  }));
  connection.onRequest(lsp.ApplyWorkspaceEditRequest.type, apply);
  connection.onRequest(lsp.WorkDoneProgressCreateRequest.type, (create) => {
    token = create.token;
    connection.onProgress(lsp.WorkDoneProgress.type, token, (value) => {
      progress.push([value.title, value.message].filter(Boolean).join(' '));
    });
  });
  connection.onNotification(lsp.ShowMessageNotification.type, ({ message }) => progress.push(message));
  connection.listen();
  await connection.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid,
    rootUri: root,
    workspaceFolders: [{ uri: root, name: 'project' }],
    capabilities,
    initializationOptions: { asks: { popup_lines: 12 } },
  });
  await connection.sendNotification(lsp.InitializedNotification.type, {});
  await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: 'python', version: doc.version, text: doc.getText() },
  });
}

const execute = (command, ...args) =>
  connection.sendRequest(lsp.ExecuteCommandRequest.type, { command, arguments: args });
const here = () => ({ start: { line, character: 0 }, end: { line, character: 0 } });
const typed = (text) => change(`${text}\n${doc.getText()}`);

const does = {
  attach,
  again: attach,
  command: (text) => execute('adjutant.start', { text, uri, range: here() }),
  async action(title) {
    const offered = await connection.sendRequest(lsp.CodeActionRequest.type, {
      textDocument: { uri },
      range: here(),
      context: { diagnostics: [], triggerKind: lsp.CodeActionTriggerKind.Invoked },
    });
    const found = offered.find((one) => one.title.replace(/^\w+: /, '').startsWith(title));
    if (!found) throw new Error(`no ${title} among ${offered.map((one) => one.title)}`);
    await execute(found.command.command, ...found.command.arguments);
  },
  progress: () => progress.join('\n'),
  asked: () => asked && [asked.message, ...asked.actions.map((one) => one.title)].join('\n'),
  choose(title) {
    const item = asked?.actions.find((one) => one.title.startsWith(title));
    if (!item) throw new Error(`no ${title} among ${asked?.actions.map((one) => one.title)}`);
    asked.resolve(item);
    asked = undefined;
  },
  chooseAndType(title, text) {
    does.choose(title);
    typed(text);
  },
  buffer: () => doc.getText(),
  line: (number) => { line = number - 1; },
  typed,
  save() {
    writeFileSync(file, doc.getText());
    connection.sendNotification(lsp.DidSaveTextDocumentNotification.type, { textDocument: { uri } });
  },
  undo() {
    const text = before.pop();
    change(text);
    before.pop();
  },
  cancel: () => connection.sendNotification(lsp.WorkDoneProgressCancelNotification.type, { token }),
  // Drops the question of the lost server.
  forget() {
    asked = undefined;
    connection.dispose();
  },
  async end() {
    await connection.sendRequest(lsp.ShutdownRequest.type);
    await connection.sendNotification(lsp.ExitNotification.type);
    await new Promise((ended) => server.once('exit', ended));
  },
};

for await (const said of createInterface({ input: process.stdin })) {
  const { op, args } = JSON.parse(said);
  let answer;
  try {
    answer = { value: (await does[op](...args)) ?? null };
  } catch (error) {
    answer = { error: String(error.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
