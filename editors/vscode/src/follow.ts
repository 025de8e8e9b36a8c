// Following the agent (P20): while the user wants it, the files that a task reads and changes are shown one after the other in a group of
// their own. Never takes the focus, and never draws over anything but what it has shown itself, and the answer.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { createNewest } from './newest';
import type { FileLocation, SessionUpdateParams, ToolStatus } from './wire';

const KEPT = 'adjutant.follow'; // by the window, over a reload
const MOST_BYTES = 10_000_000; // of a file that is shown
const MOST_GROUPS = 9; // that VS Code can have
const LOOKED_AT: ToolStatus[] = ['in_progress', 'completed'];

// `client` is the language client of now; `isMeant` says whether the user wants to see this conversation; `isAnswer` whether a tab is
// the answer, which is in sight again after the task.
export function createFollow(context: vscode.ExtensionContext, client: () => LanguageClient | undefined, isMeant: (sessionId: string) => boolean, isAnswer: (tab: vscode.Tab) => boolean) {
  const mark = vscode.window.createTextEditorDecorationType({ isWholeLine: true, backgroundColor: new vscode.ThemeColor('editor.rangeHighlightBackground') });
  let isOn = context.workspaceState.get<boolean>(KEPT) ?? false, number = 0;
  let drawn: vscode.TextEditor | undefined, last: string | undefined, isTaken = false; // the file that was shown last, and whether the user went into it

  const shows = ({ input }: vscode.Tab) => input instanceof vscode.TabInputText && input.uri.toString() === last;
  const isOurs = ({ activeTab }: vscode.TabGroup) => activeTab !== undefined && shows(activeTab);
  const unmark = () => {
    drawn?.setDecorations(mark, []);
    drawn = undefined;
  };
  // Where the next file is shown; nowhere while the user is in the last one.
  const column = () => {
    const { all, activeTabGroup: active } = vscode.window.tabGroups;
    if (active.tabs.length === 0) return active.viewColumn;
    if (isOurs(active)) return isTaken ? undefined : active.viewColumn;
    const others = all.filter((group) => group !== active);
    const other = others.find(isOurs) ?? others.find(({ activeTab }) => !activeTab || isAnswer(activeTab));
    return other?.viewColumn ?? (all.length < MOST_GROUPS ? all.length + 1 : undefined);
  };
  const show = async ({ uri, range }: FileLocation) => {
    const is = client();
    if (!isOn || !is) return;
    const asked = ++number;
    const file = is.protocol2CodeConverter.asUri(uri);
    if (file.scheme !== 'file') return;
    try {
      const { type, size } = await vscode.workspace.fs.stat(file);
      if (!(type & vscode.FileType.File) || size > MOST_BYTES) return;
      const document = await vscode.workspace.openTextDocument(file);
      const viewColumn = column();
      if (!isOn || asked !== number || !viewColumn) return;
      unmark();
      [last, isTaken] = [document.uri.toString(), false];
      drawn = await vscode.window.showTextDocument(document, { viewColumn, preserveFocus: true, preview: true });
      if (!range) return;
      const lines = is.protocol2CodeConverter.asRange(range);
      drawn.revealRange(lines, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      // What is marked is where the agent is, and not where it was.
      if (isOn && asked === number) drawn.setDecorations(mark, [lines]);
    } catch {
      // It is gone, or no text: there is nothing to look at.
    }
  };
  const places = createNewest<FileLocation>((place) => void show(place));
  const rest = () => {
    number++;
    places.forget();
    unmark();
  };
  const set = async (on: boolean) => {
    isOn = on;
    if (!on) rest();
    await vscode.commands.executeCommand('setContext', 'adjutant.follows', on);
    await context.workspaceState.update(KEPT, on);
  };
  void vscode.commands.executeCommand('setContext', 'adjutant.follows', isOn);
  const parts = [
    mark,
    vscode.window.onDidChangeTextEditorSelection(({ kind, textEditor }) => {
      // What the agent changes moves a cursor too, and has no kind.
      if (kind === undefined) return;
      places.typed();
      if (textEditor.document.uri.toString() === last) isTaken = true;
    }),
    // Who scrolls reads.
    vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => { if (textEditor === vscode.window.activeTextEditor) places.typed(); }),
    vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
      if (!isOn || !closed.some(shows)) return;
      void set(false);
      vscode.window.setStatusBarMessage('Adjutant: No longer follows the agent', 5_000);
    }),
  ];
  return {
    begin: () => set(true),
    end: () => set(false),
    // Whether a tab is what was shown last.
    shows,
    // Whether a text is only there because it was shown, and the user never went into it.
    isOnlyShown: (document: vscode.TextDocument) => isOn && !isTaken && document.uri.toString() === last,
    told({ sessionId, update }: SessionUpdateParams) {
      if (!isOn || !isMeant(sessionId)) return;
      if (update.sessionUpdate === '_run' && update.phase === 'ended') rest();
      if (update.sessionUpdate !== 'tool_call_update' || !LOOKED_AT.includes(update.status)) return;
      const place = update.locations?.at(-1);
      if (place) places.said(place);
    },
    dispose() {
      rest();
      parts.forEach((part) => part.dispose());
    },
  };
}
