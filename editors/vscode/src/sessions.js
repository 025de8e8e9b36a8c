// The list of the conversations in the folders of this window. Shows what the server listed last, and asks again while it is in
// sight and something happened here; what another process does is seen at the next look. Never opens by itself.
'use strict';

const vscode = require('vscode');
const { groups, warning } = require('./session');

const PAUSE_MS = 500; // between two lists
const MOST_PAGES = 10; // of each folder, of a hundred conversations
// What can change an entry of the list.
const TELLS = ['_run', 'state_update', '_ask', '_change_set'];
// The first button, because Enter presses it, also one that was typed before the dialog came.
const LEAVE = 'Leave as It Is';
const MORE = { id: 'more', title: 'Load more…' };
const REST = { id: 'rest', title: 'Older ones are not listed here' };

const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;

// `client()` is the language client of now, `questions` what is asked; `reveal` opens a conversation in the chat, and `deleted` hears
// which one is gone.
function createSessions({ client, questions, reveal, deleted, complain }) {
  const changed = new vscode.EventEmitter();
  let all = [], shown = '[]', timer, busy = false, again = false, pages = 1;
  const isReady = () => client()?.isRunning();

  const item = (node) => {
    if (node.rows) {
      const folded = node.id === 'group earlier' && node !== all[0] ? Collapsed : Expanded;
      return Object.assign(new vscode.TreeItem(node.title, folded), { id: node.id, contextValue: 'group' });
    }
    const of = new vscode.TreeItem(node.title, None);
    if (node === MORE) return Object.assign(of, { id: node.id, command: { command: 'adjutant.sessions.more', title: 'Load More' } });
    if (node === REST) return Object.assign(of, { id: node.id });
    return Object.assign(of, {
      id: node.id,
      description: node.about,
      tooltip: node.tooltip,
      iconPath: new vscode.ThemeIcon(node.icon),
      contextValue: node.kind,
      command: { command: 'adjutant.sessions.open', title: 'Open', arguments: [node] },
    });
  };
  const view = vscode.window.createTreeView('adjutant.sessions', {
    treeDataProvider: {
      onDidChangeTreeData: changed.event,
      getChildren: (node) => (node ? node.rows : all),
      getTreeItem: item,
    },
  });
  const show = (now) => {
    // A row that is drawn again loses the press that is on its way.
    const json = JSON.stringify(now);
    if (json === shown) return;
    [shown, all] = [json, now];
    changed.fire();
  };

  // The pages that were loaded so far, of each folder; of all folders if the window has none.
  const list = async () => {
    const folders = (vscode.workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === 'file');
    const scopes = folders.length ? folders.map((one) => ({ cwd: client().code2ProtocolConverter.asUri(one.uri) })) : [{}];
    const entries = [];
    let isMore = false;
    for (const scope of scopes) {
      let cursor;
      for (let page = 0; page < pages && (page === 0 || cursor); page++) {
        const listed = await client().sendRequest('agent/session/list', { ...scope, cursor });
        entries.push(...listed.sessions);
        cursor = listed.nextCursor;
      }
      isMore ||= Boolean(cursor);
    }
    return { entries, isMore };
  };
  const look = async () => {
    if (!view.visible || !isReady()) return;
    const { entries, isMore } = await list();
    const asked = (sessionId) => questions.of(sessionId).find(({ ask }) => ask.group !== 'idle')?.ask.title;
    const rest = pages < MOST_PAGES ? MORE : REST;
    show([...groups(entries, asked, Date.now()), ...(isMore ? [rest] : [])]);
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
  questions.onDidChange(later);

  return {
    refresh,
    told: ({ update }) => { if (view.visible && TELLS.includes(update.sessionUpdate)) later(); },
    ready: later,
    open: (node) => reveal({ sessionId: node.id }),
    more: async () => {
      pages = Math.min(pages + 1, MOST_PAGES);
      await refresh();
    },
    delete: async (node) => {
      const { message, detail } = warning(node.entry);
      const pressed = await vscode.window.showWarningMessage(message, { modal: true, detail }, LEAVE, 'Delete');
      if (pressed !== 'Delete') return;
      await client().sendRequest('agent/session/delete', { sessionId: node.id });
      await deleted(node.id);
      await refresh();
    },
    transcript: (node) => client().sendRequest('workspace/executeCommand', { command: 'adjutant.showTranscript', arguments: [{ sessionId: node.id }] }),
    dispose() {
      clearTimeout(timer);
      view.dispose();
      changed.dispose();
    },
  };
}

module.exports = { createSessions };
