// Applied changes in the text: background, marks, lenses above them, hovers, and where they are.
// Draws only what the server said last, and only in the text it said it about. Never decides.

import * as vscode from 'vscode';
import { type Act, at, decidable, hover, labels, moved, remark } from './change';
import type { Proposed } from './proposed';
import type { ReviewHunk, ReviewUpdateParams } from './wire';

export type Hunks = ReturnType<typeof createHunks>;

const FILES = { scheme: 'file' };
// What a lens does that is not about its change alone.
const COMMANDS: Partial<Record<Act, string>> = { send: 'adjutant.comments.send' };

const colour = (name: string) => new vscode.ThemeColor(name);
const INSERTED: vscode.DecorationRenderOptions = {
  isWholeLine: true,
  backgroundColor: colour('diffEditor.insertedLineBackground'),
  overviewRulerColor: colour('editorOverviewRuler.addedForeground'),
  overviewRulerLane: vscode.OverviewRulerLane.Left,
  rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
};
// High contrast has no background for inserted lines.
const EDGE: vscode.DecorationRenderOptions = {
  isWholeLine: true,
  borderStyle: 'solid',
  borderWidth: '0 0 0 3px',
  borderColor: colour('contrastActiveBorder'),
  rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
};
const isHighContrast = () => [vscode.ColorThemeKind.HighContrast, vscode.ColorThemeKind.HighContrastLight].includes(vscode.window.activeColorTheme.kind);
// Where lines were only removed there is no line to colour, so a border stands between two lines.
const removedAt = (width: string): vscode.DecorationRenderOptions => ({
  isWholeLine: true,
  borderStyle: 'solid',
  borderWidth: width,
  borderColor: colour('editorGutter.deletedBackground'),
  overviewRulerColor: colour('editorOverviewRuler.deletedForeground'),
  overviewRulerLane: vscode.OverviewRulerLane.Left,
  rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
});

// The user's comment, which waits to be sent.
const REMARK: vscode.DecorationRenderOptions = { after: { color: colour('editor.foreground'), fontStyle: 'italic', margin: '0 0 0 2em' } };

export function createHunks(proposed: Proposed) {
  const changed = new vscode.EventEmitter<string>();
  const kinds = [INSERTED, removedAt('1px 0 0 0'), removedAt('0 0 1px 0'), REMARK, EDGE].map((look) => vscode.window.createTextEditorDecorationType(look));
  const drawn = new Map<string, ReviewHunk[]>(); // by document: the last update whose version was that of the text
  const kept = new Map<string, ReviewUpdateParams>(); // by document: the update that waits for its version
  const known = new Map<string, string>(); // by document: what the server said last, without the places
  const keyOf = (document: vscode.TextDocument) => document.uri.toString();
  const open = (key: string) => vscode.workspace.textDocuments.find((one) => keyOf(one) === key);
  const of = (document: vscode.TextDocument) => drawn.get(keyOf(document)) ?? [];

  // The lines that a hunk has in a text; the last line where there are none.
  const range = (document: vscode.TextDocument, hunk: ReviewHunk) => {
    const first = document.lineAt(Math.min(hunk.line, document.lineCount - 1));
    const last = document.lineAt(Math.min(Math.max((hunk.endLine ?? hunk.line) - 1, hunk.line), document.lineCount - 1));
    return new vscode.Range(first.range.start, last.range.end);
  };
  const paint = (editor: vscode.TextEditor) => {
    const { document } = editor;
    if (document.uri.scheme !== FILES.scheme) return;
    const hunks = of(document);
    const empty = hunks.filter((hunk) => hunk.line === hunk.endLine);
    const ranges = (some: ReviewHunk[]) => some.map((hunk) => range(document, hunk));
    const inserted = ranges(hunks.filter((hunk) => hunk.line < (hunk.endLine ?? NaN)));
    editor.setDecorations(kinds[0], inserted);
    editor.setDecorations(kinds[4], isHighContrast() ? inserted : []);
    editor.setDecorations(kinds[1], ranges(empty.filter((hunk) => hunk.line < document.lineCount)));
    editor.setDecorations(kinds[2], ranges(empty.filter((hunk) => hunk.line >= document.lineCount)));
    editor.setDecorations(kinds[3], hunks.filter(remark).map((hunk) => {
      const { end } = document.lineAt(range(document, hunk).start.line).range;
      return { range: new vscode.Range(end, end), renderOptions: { after: { contentText: remark(hunk) } } };
    }));
  };
  let here = false;
  const tellHere = () => {
    const document = vscode.window.activeTextEditor?.document;
    const now = document !== undefined && of(document).some(decidable);
    if (now !== here) vscode.commands.executeCommand('setContext', 'adjutant.hunksHere', now);
    here = now;
  };
  // Colours are drawn again for each update, lenses only if they become others: while one types, these would flicker.
  const redraw = (key: string, isSame: boolean) => {
    vscode.window.visibleTextEditors.filter((editor) => keyOf(editor.document) === key).forEach(paint);
    tellHere();
    if (!isSame) changed.fire(key);
  };
  const draw = (key: string, all: ReviewHunk[]) => {
    kept.delete(key);
    proposed.draw(key, open(key), all);
    const hunks = all.filter((hunk) => hunk.state !== 'proposed');
    const isSame = JSON.stringify(drawn.get(key) ?? []) === JSON.stringify(hunks);
    if (hunks.length) drawn.set(key, hunks);
    else drawn.delete(key);
    redraw(key, isSame);
  };
  const meet = (document: vscode.TextDocument) => {
    const key = keyOf(document);
    const update = kept.get(key);
    if (update && update.version === document.version) draw(key, update.hunks);
  };
  const hear = (key: string, update: ReviewUpdateParams) => {
    if (update.version === undefined) return draw(key, []);
    kept.set(key, update);
    const document = open(key);
    if (document) meet(document);
  };

  const parts = [
    changed, ...kinds,
    vscode.window.onDidChangeVisibleTextEditors((editors) => editors.forEach(paint)),
    vscode.window.onDidChangeActiveColorTheme(() => vscode.window.visibleTextEditors.forEach(paint)),
    vscode.window.onDidChangeActiveTextEditor(tellHere),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      const key = keyOf(document);
      const before = drawn.get(key);
      if (contentChanges.length && before) drawn.set(key, moved(before, contentChanges));
      meet(document);
    }),
    vscode.workspace.onDidOpenTextDocument(meet),
    vscode.workspace.onDidCloseTextDocument((document) => draw(keyOf(document), [])),
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
      onDidChangeCodeLenses: (listener, of, parts) => changed.event(() => listener.call(of), undefined, parts),
      provideCodeLenses: (document) => of(document).flatMap((hunk) => {
        const place = range(document, hunk);
        return labels(hunk).map(({ title, tooltip, act }) => new vscode.CodeLens(place, {
          title, tooltip, command: act ? COMMANDS[act] ?? `adjutant.change.${act}` : '', arguments: act ? [{ hunks: [hunk] }] : [],
        }));
      }),
    }),
  ];
  return {
    onDidChange: changed.event,
    of,
    at: (document: vscode.TextDocument, line: number) => at(of(document), line),
    // What the server says of one document. It counts for the text with its version and for no other.
    // Returns whether more changed than where the changes are.
    says({ uri, version, hunks }: ReviewUpdateParams) {
      const key = vscode.Uri.parse(uri, true).toString();
      const now = JSON.stringify(hunks.map(({ line, endLine, ...rest }) => rest));
      const isNew = (known.get(key) ?? '[]') !== now;
      known.set(key, now);
      hear(key, { uri, version, hunks });
      return isNew;
    },
    // The server is gone, and what it said with it.
    clear() {
      [...known.keys()].forEach((key) => draw(key, []));
      known.clear();
    },
    dispose: () => parts.forEach((part) => part.dispose()),
  };
}
