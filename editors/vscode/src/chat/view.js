// The chat view: one conversation and a box for the next prompt. The page is drawn anew from the server each time it
// comes into sight. Never opens by itself, and keeps no more than which session is shown and what was typed and not sent.
'use strict';

const { randomBytes } = require('node:crypto');
const vscode = require('vscode');
const { line } = require('../display');
const { createConversation } = require('./conversation');

const PAGE = 200; // items that are loaded at a time
const PAUSE_MS = 40; // between two messages to the page: at most 25 in a second
const MOST_LISTED = 100;
const MOST_DRAFTS = 50;
const LOST = ['SessionNotFound', 'SessionLocked', 'SessionDamaged'];
const KEPT = 'adjutant.chat'; // by the window, over a reload
const STATES = { running: 'at work', requires_action: 'waits for you', resumable: 'was cut short' };

function html(webview, root) {
  const nonce = randomBytes(16).toString('hex');
  const of = (name) => webview.asWebviewUri(vscode.Uri.joinPath(root, 'dist', name));
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'">
<link rel="stylesheet" href="${of('chat.css')}">
<title>Chat</title>
</head>
<body>
<main id="items" role="log" aria-label="Conversation" tabindex="0"></main>
<section id="plan" aria-label="Plan" hidden></section>
<form id="composer">
<p id="problem" role="alert" hidden></p>
<textarea id="text" rows="3" aria-label="Prompt" placeholder="What is to be done?"></textarea>
<div id="foot"><span id="state" role="status"></span><button type="button" id="stop" hidden>Stop</button><button type="submit" id="send">Send</button></div>
</form>
<script nonce="${nonce}" src="${of('chat.js')}"></script>
</body>
</html>`;
}

// `client()` is the language client of now; `here()` the place that a new task is about.
function createChat(context, { client, here, complain, started }) {
  const root = context.extensionUri;
  const kept = context.workspaceState.get(KEPT) ?? {};
  let view, conversation = createConversation(), session = kept.session, before, timer, loads = 0, sending = false, drafts = new Map(kept.drafts);
  const request = (method, params) => client().sendRequest(method, params);
  const execute = (command, argument) => request('workspace/executeCommand', { command, arguments: [argument] });
  const isReady = () => client()?.isRunning();

  const keep = () => void context.workspaceState.update(KEPT, { session, drafts: [...drafts].slice(-MOST_DRAFTS) });
  const typed = (of, text) => {
    drafts.delete(of ?? '');
    if (text) drafts.set(of ?? '', text);
    keep();
  };
  const draw = (reset = false, draft = undefined) => {
    clearTimeout(timer);
    timer = undefined;
    if (!view?.visible) return;
    const { state, usage, plan, title } = conversation.head();
    view.title = title ? line(title, 60) : undefined;
    const share = usage?.contextSize ? `${Math.round((100 * usage.contextUsed) / usage.contextSize)} % of the context` : '';
    view.webview.postMessage({ type: 'draw', reset, draft, session, items: conversation.take(), plan, state, share, older: before !== undefined });
  };
  const later = () => { timer ??= setTimeout(draw, PAUSE_MS); };

  // Loads a page of the session that is shown, unless another one is shown by then.
  const load = async () => {
    const number = ++loads, of = session;
    const page = await request('agent/session/items', { sessionId: of, before, limit: PAGE });
    if (number !== loads || of !== session) return;
    page.updates.forEach(conversation.fold);
    before = page.before;
    later();
  };
  // What is in the box goes along, unless the user chose to go to another conversation, which has a draft of its own.
  const show = async (sessionId, { takesDraft = false } = {}) => {
    loads++;
    const [left, other] = [session ?? '', sessionId ?? ''];
    const goesAlong = !takesDraft && left !== other && drafts.has(left) && !drafts.has(other);
    if (goesAlong) {
      drafts.set(other, drafts.get(left));
      drafts.delete(left);
    }
    [session, before, conversation] = [sessionId, undefined, createConversation()];
    keep();
    // The box itself is the newest of what is typed in it.
    const own = goesAlong || left === other ? undefined : drafts.get(other);
    draw(true, takesDraft ? drafts.get(other) ?? '' : own);
    // A page that comes into sight asks again.
    if (!sessionId || !isReady() || !view?.visible) return;
    const shown = conversation;
    shown.begin(await request('agent/session/resume', { sessionId }));
    if (shown === conversation) await load();
  };
  // A session that is gone, or that another window has, leaves an empty chat. After any other failure it is asked for again, when the
  // chat comes into sight or a server starts.
  const showOrSay = (sessionId, how) => show(sessionId, how).catch((error) => {
    if (session === sessionId && LOST.includes(error.data?.name)) show(undefined, { takesDraft: true }).catch(complain);
    if (isReady()) complain(error);
  });

  // A prompt is for the conversation in which it was typed, whatever is shown by now.
  const send = async (of, text, id) => {
    try {
      if (!isReady()) throw new Error('the server is not running; the status bar says more');
      started();
      sending = true;
      const { sessionId } = await execute('adjutant.start', of ? { text, sessionId: of } : { text, ...here() });
      if (drafts.get(of ?? '') === text) typed(of, '');
      view?.webview.postMessage({ type: 'sent', id });
      if (session !== sessionId && session === of) await showOrSay(sessionId);
    } catch (error) {
      view?.webview.postMessage({ type: 'refused', id, message: line(error.message, 300) });
    } finally {
      sending = false;
    }
  };
  const pick = async () => {
    const folder = vscode.workspace.workspaceFolders?.find((one) => one.uri.scheme === 'file');
    const cwd = folder && client().code2ProtocolConverter.asUri(folder.uri);
    const { sessions } = await request('agent/session/list', cwd ? { cwd } : {});
    const rows = sessions.slice(0, MOST_LISTED).map((one) => ({
      label: line(one.title, 80) || 'Without a title',
      description: [STATES[one.state], new Date(one.updatedAt).toLocaleString()].filter(Boolean).join(' · '),
      sessionId: one.sessionId,
    }));
    if (rows.length === 0) return void vscode.window.showInformationMessage('Adjutant: There is no conversation in this folder yet.');
    const picked = await vscode.window.showQuickPick(rows, { title: 'Adjutant: Conversations' });
    if (!picked) return;
    await vscode.commands.executeCommand('adjutant.chat.focus');
    await showOrSay(picked.sessionId, { takesDraft: true });
  };
  const heard = (message) => {
    switch (message.type) {
      // A page that is new.
      case 'ready': return showOrSay(session, { takesDraft: true });
      case 'draft': return typed(message.session, message.text);
      case 'send': return send(message.session, message.text, message.id);
      case 'stop': return execute('adjutant.cancel', { sessionId: session }).catch(complain);
      case 'older': return before === undefined ? undefined : load().catch(complain);
      case 'answer': return vscode.commands.executeCommand('adjutant.task.ask');
      case 'conversations': return pick().catch(complain);
      case 'open': return vscode.window.showTextDocument(vscode.Uri.parse(message.uri, true), { preview: true }).then(undefined, complain);
    }
  };

  const provider = vscode.window.registerWebviewViewProvider('adjutant.chat', {
    resolveWebviewView(resolved) {
      view = resolved;
      view.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(root, 'dist')] };
      view.webview.onDidReceiveMessage(heard);
      view.onDidDispose(() => { if (view === resolved) view = undefined; });
      view.webview.html = html(view.webview, root);
    },
  });
  return {
    // Whether the user sees it.
    isVisible: () => view?.visible === true,
    open: () => vscode.commands.executeCommand('adjutant.chat.focus'),
    begin: async () => {
      await vscode.commands.executeCommand('adjutant.chat.focus');
      await show(undefined, { takesDraft: true });
    },
    pick,
    told(params) {
      const { update, sessionId } = params;
      // A task that was given elsewhere in this window is followed, unless one is at work here or something is typed for this one.
      const begins = update.sessionUpdate === '_run' && update.phase === 'started';
      const isBusy = sending || drafts.has(session ?? '') || ['running', 'requires_action'].includes(conversation.head().state);
      if (begins && sessionId !== session && !isBusy) showOrSay(sessionId);
      if (sessionId !== session) return;
      conversation.fold(params);
      if (!view?.visible) conversation.forget();
      later();
    },
    // The server is gone. What it said stays in sight; the next one is asked.
    lost() {
      conversation.begin({ state: { state: 'none' } });
      later();
    },
    // A new server does not have the session open yet.
    ready: () => void (session && showOrSay(session)),
    dispose() {
      clearTimeout(timer);
      provider.dispose();
    },
  };
}

module.exports = { createChat };
