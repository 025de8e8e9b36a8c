// The list of all changes that wait for a decision, file by file, with their number.
// Shows what the server listed last. Never opens by itself.

import * as vscode from 'vscode';
import { type ChangedFile, commented, comments, files, keyOf, placeOf, size, title } from './change';
import { line, status } from './display';
import type { Complain } from './failure';
import type { ReviewHunk } from './wire';

export interface Row { hunks: ReviewHunk[]; id: string }
type Node = ChangedFile | Row;

const PAUSE_MS = 150; // between two lists

export function createChanges(list: () => Promise<ReviewHunk[]>, complain: Complain) {
  const changed = new vscode.EventEmitter<void>();
  let all: ChangedFile[] = [];
  let timer: NodeJS.Timeout | undefined;
  const item = (node: Node): vscode.TreeItem => {
    if ('path' in node) {
      const of = new vscode.TreeItem(vscode.Uri.parse(node.uri, true), vscode.TreeItemCollapsibleState.Expanded);
      return Object.assign(of, { id: node.uri, description: node.about, contextValue: 'file', iconPath: vscode.ThemeIcon.File });
    }
    const [hunk] = node.hunks;
    const of = new vscode.TreeItem(title(hunk), vscode.TreeItemCollapsibleState.None);
    const yours = hunk.state === 'amended' ? ' · changed by you' : '';
    const said = hunk.comment ? ` · “${status(hunk.comment, 40)}”` : '';
    return Object.assign(of, {
      id: node.id,
      description: `${size(hunk)}${yours}${said}`,
      tooltip: line(`${hunk.path}: ${hunk.madeBy?.task}`, 300),
      contextValue: 'change',
      command: { command: 'adjutant.change.open', title: 'Open', arguments: [{ hunks: [hunk] }] },
    });
  };
  const view = vscode.window.createTreeView<Node>('adjutant.changes', {
    treeDataProvider: {
      onDidChangeTreeData: changed.event,
      getChildren: (node) => (node
        ? node.hunks.map((hunk) => ({ hunks: [hunk], id: keyOf(hunk) }))
        : all),
      getTreeItem: item,
    },
  });
  let waiting = 0;
  // How many comments wait, above the list; the button that sends them is in its title.
  const showComments = (hunks: ReviewHunk[]) => {
    const number = [...commented(hunks).values()].reduce((total, one) => total + one, 0);
    if (number === waiting) return;
    waiting = number;
    view.message = number ? `${comments(number)} ${number === 1 ? 'waits' : 'wait'} to be sent.` : undefined;
    vscode.commands.executeCommand('setContext', 'adjutant.commentsWait', number > 0);
  };
  // The number at the icon of Adjutant: what waits for the user, also while no view of it is in sight.
  let asks = 0;
  const badge = () => {
    const number = all.reduce((sum, file) => sum + file.hunks.length, 0);
    const parts = [asks && (asks === 1 ? '1 question' : `${asks} questions`), number && (number === 1 ? '1 change to review' : `${number} changes to review`)].filter(Boolean);
    view.badge = parts.length ? { value: asks + number, tooltip: parts.join(', ') } : undefined;
  };
  let shown = '[]';
  const show = (hunks: ReviewHunk[]) => {
    showComments(hunks);
    // A row that is drawn again loses the press that is on its way.
    const found = files(hunks);
    const now = JSON.stringify(found);
    if (now === shown) return;
    if (Boolean(all.length) !== Boolean(found.length)) vscode.commands.executeCommand('setContext', 'adjutant.changesWait', found.length > 0);
    [shown, all] = [now, found];
    badge();
    changed.fire();
  };
  const look = async () => {
    timer = undefined;
    show(await list());
  };
  return {
    // Something changed: the list is asked for again, soon.
    refresh: () => { timer ??= setTimeout(() => look().catch(complain), PAUSE_MS); },
    // How many questions wait.
    asked(number: number) {
      if (number === asks) return;
      asks = number;
      badge();
    },
    clear() {
      clearTimeout(timer);
      timer = undefined;
      asks = 0;
      badge();
      show([]);
    },
    dispose() {
      clearTimeout(timer);
      view.dispose();
      changed.dispose();
    },
  };
}

// Opens the file of a change at its first line, because the user chose it in the list.
export async function openChange({ hunks: [listed] }: Row, drawn: (document: vscode.TextDocument) => ReviewHunk[]) {
  if (listed.operation?.kind === 'delete') return void vscode.window.showInformationMessage(`Adjutant: ${line(`${listed.path} was deleted; Undo brings it back`, 300)}`);
  const editor = await vscode.window.showTextDocument(vscode.Uri.parse(placeOf(listed).uri, true), { preview: true });
  // In an open text it is where it is drawn; the list is older than what was typed meanwhile.
  const hunk = drawn(editor.document).find((one) => keyOf(one) === keyOf(listed)) ?? listed;
  const first = Math.min(hunk.line, editor.document.lineCount - 1);
  editor.selection = new vscode.Selection(first, 0, first, 0);
  editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
