// What the user does with changes: keep, undo, restore, show, go to the next one.
// A decision is about what was drawn. Never decides by itself; what became of it is the server's word.

import * as path from 'node:path';
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { agents, before, type DecidedResult, decidable, keyOf, lines, lost, newestFirst, next, outcome, refusal, targets, withThoseOn } from './change';
import { wordsOf } from './failure';
import type { Hunks } from './hunks';
import type { Proposed } from './proposed';
import type { ReviewAction, ReviewDecideResult, ReviewHunk, ReviewListResult } from './wire';

const SCHEME = 'adjutant-base';
const tell = (text: string) => void vscode.window.showInformationMessage(`Adjutant: ${text}`);

// Sides of a diff that are no file: the text of now without one change, and with that change as the agent made it.
const SIDES = { before, agents };
type Side = keyof typeof SIDES;
// What a lens and a row of the list say.
type Given = { hunks?: ReviewHunk[] } | undefined;
const NAMES: Record<Side, string> = { before: 'before', agents: "the agent's" };

function createSides(hunks: Hunks) {
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const texts = new Map<string, string>(); // by document of ours, what it showed last: a change that is kept stays to be seen
  // The name says which side it is; its end stays, because it says the language.
  const uriOf = (hunk: ReviewHunk, side: Side) => {
    const file = vscode.Uri.parse(hunk.uri, true);
    const { dir, base } = path.posix.parse(file.path);
    const query = JSON.stringify({ file: file.toString(), change: keyOf(hunk), side });
    return file.with({ scheme: SCHEME, path: path.posix.join(dir, `${NAMES[side]} · ${base}`), query });
  };
  const content = (uri: vscode.Uri) => {
    const { file, change, side } = JSON.parse(uri.query) as { file: string; change: string; side: Side };
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === file);
    const hunk = document && hunks.of(document).find((one) => keyOf(one) === change);
    if (hunk) texts.set(uri.toString(), SIDES[side](document.getText(), hunk));
    return texts.get(uri.toString()) ?? document?.getText() ?? '';
  };
  const again = (file: string) => {
    const shown = vscode.workspace.textDocuments.filter((one) => one.uri.scheme === SCHEME && JSON.parse(one.uri.query).file === file);
    shown.forEach((one) => changed.fire(one.uri));
  };
  const parts = [
    changed,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, { onDidChange: changed.event, provideTextDocumentContent: content }),
    // VS Code drops what is told of a document that is still on its way to its editor.
    vscode.workspace.onDidOpenTextDocument(({ uri }) => { if (uri.scheme === SCHEME) changed.fire(uri); }),
    vscode.workspace.onDidCloseTextDocument((document) => texts.delete(document.uri.toString())),
    hunks.onDidChange((key) => again(key)),
    vscode.workspace.onDidChangeTextDocument(({ document }) => again(document.uri.toString())),
  ];
  // The change of a file that was closed is not drawn yet, and the list has its lines.
  const prepared = (hunk: ReviewHunk, document: vscode.TextDocument, side: Side) => {
    const uri = uriOf(hunk, side);
    texts.set(uri.toString(), SIDES[side](document.getText(), hunk));
    return uri;
  };
  return { prepared, dispose: () => parts.forEach((part) => part.dispose()) };
}

export function createReview({ hunks, proposed }: { hunks: Hunks; proposed: Proposed }, client: () => LanguageClient, refresh: () => void) {
  const shelf = createSides(hunks);
  let undone: ReviewHunk[] = []; // what was undone last, to restore it

  const here = () => vscode.window.activeTextEditor;
  const ofFile = () => {
    const editor = here();
    return editor ? hunks.of(editor.document).filter(decidable) : [];
  };
  // A lens and the list say which change is meant; the palette and a key mean the one at the cursor.
  const meant = (given: Given): ReviewHunk[] => {
    if (given?.hunks) return given.hunks;
    const editor = here();
    const hunk = editor && hunks.at(editor.document, editor.selection.active.line);
    if (hunk && decidable(hunk)) return [hunk];
    tell('there is no change at the cursor');
    return [];
  };
  const decide = async (action: ReviewAction, some: ReviewHunk[], reason?: string) => {
    const results: DecidedResult[] = [];
    for (const decision of targets(some)) {
      // A decision that fails holds up no other one.
      const failed = (error: unknown): ReviewDecideResult => ({ hunks: decision.targets.flatMap(({ changeSetId, hunkIds }) => hunkIds.map((hunkId) => ({ changeSetId, hunkId, state: 'conflicted', why: wordsOf(error) }))) });
      results.push({ ...await client().sendRequest<ReviewDecideResult>('agent/review/decide', { ...decision, action, reason }).catch(failed), sessionId: decision.sessionId });
    }
    const what = outcome(some, results, action);
    const why = refusal(what, action);
    if (why) tell(why);
    refresh();
    return what.done;
  };
  const undo = async (some: ReviewHunk[]) => {
    const done = await decide('undo', newestFirst(some));
    // Its text was in its place then, and is not now.
    if (done.length) undone = done.map((hunk) => ({ ...hunk, text: undefined }));
  };
  const goTo = async (back: boolean) => {
    const editor = here();
    const all = ofFile();
    if (!editor || !all.length) return tell('there is no change in this file');
    const line = Math.min(next(all, editor.selection.active.line, back) ?? 0, editor.document.lineCount - 1);
    editor.selection = new vscode.Selection(line, 0, line, 0);
    editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  };
  return {
    meant,
    async keep(given?: Given) {
      const some = meant(given);
      if (some.length) await decide('keep', some);
    },
    async undo(given?: Given): Promise<void> {
      const some = meant(given);
      if (!some.length) return;
      const known = vscode.workspace.textDocuments.flatMap(hunks.of);
      const all = [...new Set(some.flatMap((hunk) => withThoseOn(hunk, known)))];
      const more = all.length - some.length;
      if (more) {
        const both = more === 1 ? 'Undo Both' : `Undo All ${all.length}`;
        const text = `Adjutant: ${more === 1 ? 'a later change stands' : 'later changes stand'} on this one.`;
        const chosen = await vscode.window.showWarningMessage(text, both, 'Show');
        if (chosen === 'Show') return this.show({ hunks: all.slice(-1) });
        if (chosen !== both) return;
      }
      await undo(all);
    },
    async keepFile(given?: Given) {
      const some = given?.hunks ?? ofFile();
      if (!some.length) return tell('there is no change in this file');
      await decide('keep', some);
    },
    // Every change of every file, as the server lists it now.
    async keepAll() {
      const { hunks: listed } = await client().sendRequest<ReviewListResult>('agent/review/list', {});
      const some = listed.filter((hunk) => hunk.madeBy && decidable(hunk));
      if (!some.length) return tell('no change waits for a review');
      const done = await decide('keep', some);
      if (done.length) tell(`${done.length === 1 ? '1 change' : `${done.length} changes`} kept`);
    },
    async undoFile(given?: Given) {
      const some = given?.hunks ?? ofFile();
      if (!some.length) return tell('there is no change in this file');
      const mine = some.reduce((total, hunk) => total + (hunk.text === undefined ? 0 : hunk.userLines ?? 0), 0);
      if (!mine) return undo(some);
      const [all, others] = [`Undo (with your ${lines(mine)})`, 'Undo the Others'];
      const chosen = await vscode.window.showWarningMessage('Adjutant: you wrote into some of these changes.', all, others);
      if (chosen === all) await undo(some);
      if (chosen === others) await undo(some.filter((hunk) => hunk.text === undefined));
    },
    async restore() {
      if (!undone.length) return tell('no change was undone here');
      await decide('restore', undone.toReversed());
      undone = [];
    },
    // Says which changes of a file went when it was closed without saving it, and offers to make them again.
    async lost(some: ReviewHunk[]) {
      undone = newestFirst(some);
      const again = await vscode.window.showWarningMessage(`Adjutant: ${lost(some)}`, 'Apply Again');
      if (again) await decide('restore', newestFirst(some).toReversed());
    },
    async show(given?: Given): Promise<void> {
      const [hunk] = meant(given);
      if (!hunk) return;
      const file = vscode.Uri.parse(hunk.uri, true);
      const name = path.posix.basename(file.path);
      const document = await vscode.workspace.openTextDocument(file);
      const now = hunks.of(document).find((one) => keyOf(one) === keyOf(hunk)) ?? hunk;
      const left = shelf.prepared(now, document, 'before');
      if (now.text !== undefined) {
        // The user wrote into it, so there are three texts.
        const middle = shelf.prepared(now, document, 'agents');
        const pairs = [[middle, left, middle], [file, middle, file]];
        await vscode.commands.executeCommand('vscode.changes', `${name}: before → the agent's → now`, pairs);
        return;
      }
      const selection = new vscode.Range(now.line, 0, now.line, 0);
      await vscode.commands.executeCommand('vscode.diff', left, file, `${name}: before ↔ now`, { selection });
    },
    // Both come from a thread: its buttons give it, its reply field gives the text too.
    async apply(thread?: vscode.CommentThread) {
      const hunk = proposed.of(thread, true);
      if (hunk) await decide('apply', [hunk]);
    },
    async reject(given?: vscode.CommentThread | vscode.CommentReply) {
      const reply = given && 'thread' in given ? given : undefined;
      const hunk = proposed.of(reply?.thread ?? given as vscode.CommentThread | undefined, false);
      if (hunk) await decide('reject', [hunk], reply?.text.trim() || undefined);
    },
    next: () => goTo(false),
    previous: () => goTo(true),
    dispose: () => shelf.dispose(),
  };
}
