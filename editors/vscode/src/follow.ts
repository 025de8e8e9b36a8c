// Following the agent (P20): while the user wants it, the files that a task reads and changes are shown one after the other in a group of
// their own. Never takes the focus, and never draws over what the user is in.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { createNewest } from './newest';
import type { FileLocation, SessionUpdateParams, ToolStatus } from './wire';

const KEPT = 'adjutant.follow'; // by the window, over a reload
const MOST_BYTES = 10_000_000; // of a file that is shown
const LOOKED_AT: ToolStatus[] = ['in_progress', 'completed'];

// `client` is the language client of now; `isMeant` says whether the user wants to see this conversation.
export function createFollow(context: vscode.ExtensionContext, client: () => LanguageClient | undefined, isMeant: (sessionId: string) => boolean) {
  const mark = vscode.window.createTextEditorDecorationType({ isWholeLine: true, backgroundColor: new vscode.ThemeColor('editor.rangeHighlightBackground') });
  let isOn = context.workspaceState.get<boolean>(KEPT) ?? false, drawn: vscode.TextEditor | undefined, last: string | undefined, number = 0;

  const unmark = () => {
    drawn?.setDecorations(mark, []);
    drawn = undefined;
  };
  // A group that the user is not in and that shows a text, and no review; else a new one.
  const column = () => {
    const { all, activeTabGroup } = vscode.window.tabGroups;
    if (activeTabGroup.tabs.length === 0) return activeTabGroup.viewColumn;
    const other = all.find((group) => group !== activeTabGroup && (!group.activeTab || group.activeTab.input instanceof vscode.TabInputText));
    return other?.viewColumn ?? all.length + 1;
  };
  const show = async ({ uri, range }: FileLocation) => {
    const is = client();
    if (!isOn || !is) return;
    const asked = ++number;
    const file = is.protocol2CodeConverter.asUri(uri);
    if (file.scheme !== 'file') return;
    try {
      if ((await vscode.workspace.fs.stat(file)).size > MOST_BYTES) return;
      const document = await vscode.workspace.openTextDocument(file);
      if (!isOn || asked !== number) return;
      unmark();
      last = document.uri.toString();
      drawn = await vscode.window.showTextDocument(document, { viewColumn: column(), preserveFocus: true, preview: true });
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
  const typing = vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
    // What the agent changes moves a cursor too, and has no kind.
    if (kind !== undefined) places.typed();
  });
  return {
    begin: () => set(true),
    end: () => set(false),
    // Whether a tab is what was shown last.
    shows: ({ input }: vscode.Tab) => input instanceof vscode.TabInputText && input.uri.toString() === last,
    told({ sessionId, update }: SessionUpdateParams) {
      if (!isOn || !isMeant(sessionId)) return;
      if (update.sessionUpdate === '_run' && update.phase === 'ended') rest();
      if (update.sessionUpdate !== 'tool_call_update' || !LOOKED_AT.includes(update.status)) return;
      const place = update.locations?.at(-1);
      if (place) places.said(place);
    },
    dispose() {
      rest();
      typing.dispose();
      mark.dispose();
    },
  };
}
