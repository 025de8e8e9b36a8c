// The list of the conversations in the folders of this window. Shows what the server listed, with what it told since: what happens
// here and in other windows. Asks for the list when it comes into sight. Never opens by itself.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { groups, warning, wrongTitle } from './session';
import type { Complain } from './failure';
import type { SessionChangedParams, SessionEntry, SessionListResult } from './wire';

interface Surfaces { client: () => LanguageClient | undefined; reveal: (of: { sessionId: string }) => Promise<void>; deleted: (sessionId: string) => Promise<void>; fork: (sessionId: string) => Promise<void>; complain: Complain }
type Group = ReturnType<typeof groups>[number];
type Row = Group['rows'][number];
interface Last { id: string; title: string; rows?: undefined }
type Node = Group | Row | Last;

const PAUSE_MS = 500; // between two lists
const MOST_PAGES = 10; // of each folder, of a hundred conversations
const MOST_TOLD = 2000; // that were told and not listed
// The first button, because Enter presses it, also one that was typed before the dialog came.
const LEAVE = 'Leave as It Is';
const MORE: Last = { id: 'more', title: 'Load more…' };
const REST: Last = { id: 'rest', title: 'Older ones are not listed here' };

const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;

// `client()` is the language client of now; `reveal` opens a conversation in the chat, and `deleted` hears
// which one is gone; `fork` copies one, and opens the copy in the chat.
export function createSessions({ client, reveal, deleted, fork, complain }: Surfaces) {
  const changed = new vscode.EventEmitter<void>();
  let all: (Group | Last)[] = [], shown = '[]', timer: NodeJS.Timeout | undefined, busy = false, again = false, pages = 1;
  // By session: the entries of the last list, with those that were told since; and what was told while a list is on its way.
  let entries = new Map<string, SessionEntry>(), isMore = false, told = new Map<string, SessionChangedParams>();
  const isReady = () => client()?.isRunning() === true;
  const now = () => {
    const is = client();
    if (!is) throw new Error('the server is not running; the status bar says more');
    return is;
  };

  const item = (node: Node): vscode.TreeItem => {
    if ('rows' in node && node.rows) {
      const folded = node.id === 'group earlier' && node !== all[0] ? Collapsed : Expanded;
      return Object.assign(new vscode.TreeItem(node.title, folded), { id: node.id, contextValue: 'group' });
    }
    const of = new vscode.TreeItem(node.title, None);
    if (node === MORE) return Object.assign(of, { id: node.id, command: { command: 'adjutant.sessions.more', title: 'Load More' } });
    if (node === REST) return Object.assign(of, { id: node.id });
    if (!('entry' in node)) return of;
    return Object.assign(of, {
      id: node.id,
      description: node.about,
      tooltip: node.tooltip,
      iconPath: new vscode.ThemeIcon(node.icon),
      contextValue: node.kind,
      command: { command: 'adjutant.sessions.open', title: 'Open', arguments: [node] },
    });
  };
  const view = vscode.window.createTreeView<Node>('adjutant.sessions', {
    treeDataProvider: {
      onDidChangeTreeData: changed.event,
      getChildren: (node): Node[] | undefined => (node ? ('rows' in node ? node.rows : undefined) : all),
      getTreeItem: item,
    },
  });
  const show = (now: (Group | Last)[]) => {
    // A row that is drawn again loses the press that is on its way.
    const json = JSON.stringify(now);
    if (json === shown) return;
    [shown, all] = [json, now];
    changed.fire();
  };

  // The pages that were loaded so far, of each folder; of all folders if the window has none.
  const list = async () => {
    const folders = (vscode.workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === 'file');
    const scopes = folders.length ? folders.map((one) => ({ cwd: now().code2ProtocolConverter.asUri(one.uri) })) : [{}];
    const listed = new Map<string, SessionEntry>();
    let more = false;
    for (const scope of scopes) {
      let cursor: string | undefined;
      for (let page = 0; page < pages && (page === 0 || cursor); page++) {
        const { sessions, nextCursor }: SessionListResult = await now().sendRequest('agent/session/list', { ...scope, cursor });
        for (const entry of sessions) listed.set(entry.sessionId, entry);
        cursor = nextCursor;
      }
      more ||= Boolean(cursor);
    }
    return { listed, more };
  };
  const put = (map: Map<string, SessionEntry>, { sessionId, session }: SessionChangedParams) => (session ? map.set(sessionId, session) : map.delete(sessionId));
  const draw = () => {
    const rest = pages < MOST_PAGES ? MORE : REST;
    show([...groups([...entries.values()], Date.now()), ...(isMore ? [rest] : [])]);
  };
  const look = async () => {
    if (!view.visible || !isReady()) return;
    told = new Map();
    const { listed, more } = await list();
    // What was told meanwhile is newer than a page that was read before it.
    for (const change of told.values()) put(listed, change);
    [entries, isMore] = [listed, more];
    draw();
  };
  // One list at a time; what happens meanwhile asks once more.
  const refresh = async () => {
    if (busy) return void (again = true);
    [busy, again] = [true, false];
    try {
      await look();
    } finally {
      busy = false;
      if (again) later();
    }
    return undefined;
  };
  function later() {
    timer ??= setTimeout(() => {
      timer = undefined;
      refresh().catch((error) => { if (isReady()) complain(error); });
    }, PAUSE_MS);
  }
  view.onDidChangeVisibility(() => { if (view.visible) later(); });

  return {
    refresh,
    // One `agent/session/changed`. What comes while the list is out of sight is listed when it comes into sight.
    told(change: SessionChangedParams) {
      if (!view.visible) return;
      told.set(change.sessionId, change);
      put(entries, change);
      if (told.size > MOST_TOLD) return void later();
      draw();
    },
    ready: later,
    open: (node: Row) => reveal({ sessionId: node.id }),
    more: async () => {
      pages = Math.min(pages + 1, MOST_PAGES);
      await refresh();
    },
    rename: async (node: Row) => {
      const before = node.entry.title;
      const prompt = 'At most 200 characters; it stays, whatever you ask later.';
      const title = await vscode.window.showInputBox({ title: 'Adjutant: Rename Conversation', prompt, value: before, validateInput: wrongTitle });
      if (title === undefined || title.trim() === before) return;
      await now().sendRequest('agent/session/rename', { sessionId: node.id, title });
    },
    fork: (node: Row) => fork(node.id),
    delete: async (node: Row) => {
      const { message, detail } = warning(node.entry);
      const pressed = await vscode.window.showWarningMessage(message, { modal: true, detail }, LEAVE, 'Delete');
      if (pressed !== 'Delete') return;
      await now().sendRequest('agent/session/delete', { sessionId: node.id });
      await deleted(node.id);
      await refresh();
    },
    transcript: (node: Row) => now().sendRequest('workspace/executeCommand', { command: 'adjutant.showTranscript', arguments: [{ sessionId: node.id }] }),
    dispose() {
      clearTimeout(timer);
      view.dispose();
      changed.dispose();
    },
  };
}
