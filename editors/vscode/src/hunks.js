// Applied changes in the text: background, marks, lenses above them, hovers, and where they are.
// Draws only what the server said last, and only in the text it said it about. Never decides.
'use strict';

const vscode = require('vscode');
const { at, decidable, hover, labels, moved } = require('./change');

// For how long an update about an earlier text waits for the next one, which comes only if a change was touched.
const LATE_MS = 300;
const FILES = { scheme: 'file' };

const colour = (name) => new vscode.ThemeColor(name);
const INSERTED = {
  isWholeLine: true,
  backgroundColor: colour('diffEditor.insertedLineBackground'),
  overviewRulerColor: colour('editorOverviewRuler.addedForeground'),
  overviewRulerLane: vscode.OverviewRulerLane.Left,
  rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
};
// Where lines were only removed there is no line to colour, so a border stands between two lines.
const removedAt = (width) => ({
  isWholeLine: true,
  borderStyle: 'solid',
  borderWidth: width,
  borderColor: colour('editorGutter.deletedBackground'),
  overviewRulerColor: colour('editorOverviewRuler.deletedForeground'),
  overviewRulerLane: vscode.OverviewRulerLane.Left,
  rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
});

// `list` asks the server for the hunks of a document, for an update that is too late.
function createHunks(proposed, list, complain) {
  const changed = new vscode.EventEmitter();
  const kinds = [INSERTED, removedAt('1px 0 0 0'), removedAt('0 0 1px 0')].map(vscode.window.createTextEditorDecorationType);
  const drawn = new Map(); // by document: the last update whose version was that of the text
  const kept = new Map(); // by document: the update that waits for its version
  const late = new Map(); // by document: the timer of such an update
  const known = new Map(); // by document: what the server said last, without the places
  const keyOf = (document) => document.uri.toString();
  const open = (key) => vscode.workspace.textDocuments.find((one) => keyOf(one) === key);
  const of = (document) => drawn.get(keyOf(document)) ?? [];

  // The lines that a hunk has in a text; the last line where there are none.
  const range = (document, hunk) => {
    const first = document.lineAt(Math.min(hunk.line, document.lineCount - 1));
    const last = document.lineAt(Math.min(Math.max(hunk.endLine - 1, hunk.line), document.lineCount - 1));
    return new vscode.Range(first.range.start, last.range.end);
  };
  const paint = (editor) => {
    const { document } = editor;
    if (document.uri.scheme !== FILES.scheme) return;
    const hunks = of(document);
    const empty = hunks.filter((hunk) => hunk.line === hunk.endLine);
    const ranges = (some) => some.map((hunk) => range(document, hunk));
    editor.setDecorations(kinds[0], ranges(hunks.filter((hunk) => hunk.line < hunk.endLine)));
    editor.setDecorations(kinds[1], ranges(empty.filter((hunk) => hunk.line < document.lineCount)));
    editor.setDecorations(kinds[2], ranges(empty.filter((hunk) => hunk.line >= document.lineCount)));
  };
  let here = false;
  const tellHere = () => {
    const document = vscode.window.activeTextEditor?.document;
    const now = Boolean(document) && of(document).some(decidable);
    if (now !== here) vscode.commands.executeCommand('setContext', 'adjutant.hunksHere', now);
    here = now;
  };
  const redraw = (key) => {
    vscode.window.visibleTextEditors.filter((editor) => keyOf(editor.document) === key).forEach(paint);
    tellHere();
    changed.fire(key);
  };
  const forget = (key) => {
    clearTimeout(late.get(key));
    late.delete(key);
    kept.delete(key);
  };
  const draw = (key, all) => {
    forget(key);
    proposed.draw(vscode.Uri.parse(key, true), all);
    const hunks = all.filter((hunk) => hunk.state !== 'proposed');
    if (hunks.length) drawn.set(key, hunks);
    else if (!drawn.delete(key)) return;
    redraw(key);
  };
  // An update that no text meets: the server sends no other one if all changes are where they were, so it is asked.
  const overdue = async (key) => {
    const update = kept.get(key);
    const document = open(key);
    late.delete(key);
    if (!update || !document) return forget(key);
    const { version } = document;
    const hunks = await list(update.hunks[0]?.uri ?? update.uri);
    if (kept.get(key) !== update) return;
    if (document.version === version) draw(key, hunks.filter((hunk) => hunk.madeBy || hunk.state === 'proposed' && hunk.endLine !== undefined));
    else wait(key);
  };
  const wait = (key) => {
    if (!late.has(key)) late.set(key, setTimeout(() => overdue(key).catch(complain), LATE_MS));
  };
  const meet = (document) => {
    const key = keyOf(document);
    const update = kept.get(key);
    if (!update) return;
    if (update.version === document.version) draw(key, update.hunks);
    else if (update.version < document.version) wait(key);
  };

  const hear = (key, update) => {
    if (update.version === undefined) return draw(key, []);
    forget(key);
    kept.set(key, update);
    const document = open(key);
    if (document) meet(document);
  };

  const parts = [
    changed, ...kinds,
    vscode.window.onDidChangeVisibleTextEditors((editors) => editors.forEach(paint)),
    vscode.window.onDidChangeActiveTextEditor(tellHere),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      const key = keyOf(document);
      if (contentChanges.length && drawn.has(key)) drawn.set(key, moved(drawn.get(key), contentChanges));
      meet(document);
    }),
    vscode.workspace.onDidOpenTextDocument(meet),
    vscode.workspace.onDidCloseTextDocument((document) => {
      forget(keyOf(document));
      draw(keyOf(document), []);
    }),
    vscode.languages.registerHoverProvider(FILES, {
      provideHover(document, position) {
        const hunk = at(of(document), position.line);
        if (!hunk) return undefined;
        const text = new vscode.MarkdownString(hover(hunk));
        text.isTrusted = false;
        text.supportHtml = false;
        text.supportThemeIcons = false;
        return new vscode.Hover(text, range(document, hunk));
      },
    }),
    vscode.languages.registerCodeLensProvider(FILES, {
      onDidChangeCodeLenses: changed.event,
      provideCodeLenses: (document) => of(document).flatMap((hunk) => {
        const place = range(document, hunk);
        return labels(hunk).map(({ title, tooltip, act }) => new vscode.CodeLens(place, {
          title, tooltip, command: act ? `adjutant.change.${act}` : '', arguments: act ? [{ hunks: [hunk] }] : [],
        }));
      }),
    }),
  ];
  return {
    onDidChange: changed.event,
    of,
    at: (document, line) => at(of(document), line),
    // What the server says of one document. It counts for the text with its version and for no other.
    // Returns whether more changed than where the changes are.
    says({ uri, version, hunks }) {
      const key = vscode.Uri.parse(uri, true).toString();
      const now = JSON.stringify(hunks.map(({ line, endLine, ...rest }) => rest));
      const isNew = (known.get(key) ?? '[]') !== now;
      known.set(key, now);
      hear(key, { uri, version, hunks });
      return isNew;
    },
    // The server is gone, and what it said with it.
    clear() {
      [...kept.keys()].forEach(forget);
      [...known.keys()].forEach((key) => draw(key, []));
      known.clear();
    },
    dispose: () => parts.forEach((part) => part.dispose()),
  };
}

module.exports = { createHunks };
