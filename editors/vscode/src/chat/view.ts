// The chat view: one conversation and a box for the next prompt. When the user opens it, the view asks the server for the conversation and
// draws its page. It keeps the id of its session and the drafts of the user. Never opens by itself.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { line } from '../display';
import { type Complain, nameOf, wordsOf } from '../failure';
import type { Questions } from '../questions';
import type { Readiness } from '../setup';
import type { ConfigOption, Detail, ItemReadResult, ItemsResult, NewSessionResult, Origin, PromptCompleteResult, PromptHistoryResult, ResumeResult, ReviewHunk, SessionChangedParams, SessionForkResult, SessionListResult, SessionUpdateParams, SetConfigOptionResult } from '../wire';
import { row } from '../session';
import { createChanged } from './changed';
import type { NewChip } from './chips';
import { copyCode, insertCode } from './code';
import { NOT_RUNNING, createComposer } from './composer';
import { createConversation } from './conversation';
import type { KeptDrafts } from './drafts';
import { createHeld } from './held';
import type { FromPage, Output, ToPage } from './messages';
import { buttonsOf, pickOption, pickValue } from './options';
import { createPace } from './pace';
import { html } from './page';
import { cardOf } from './question';

const PAGE = 200; // items that are loaded at a time
const PAUSE_MS = 40; // between two messages to the page: at most 25 in a second
const MOST_LISTED = 100;
const MOST_CARDS = 20;
const MOST_PAST = 100; // prompts of before
const MOST_LABEL = 200; // characters of a completion that are shown
const OPEN_FOLDER = 'workbench.action.files.openFolder';
const CURES = ['adjutant.restart', 'adjutant.program', 'adjutant.doctor', 'adjutant.provider.add', 'adjutant.demo', 'adjutant.task.choose', OPEN_FOLDER];
const LOST: (string | undefined)[] = ['SessionNotFound', 'SessionDamaged'];
const KEPT = 'adjutant.chat'; // by the window, over a reload
const CARRIED = 'adjutant.chat.carried'; // from a window without a folder to the next one with a folder

interface Kept { session?: string; drafts?: KeptDrafts }
interface Decide {
  (action: 'keep' | 'undo', given: { hunks: ReviewHunk[] }): Promise<void>;
  (action: 'undoRun', given: { sessionId: string; runId: string }): Promise<void>;
}
interface Surfaces {
  client: () => LanguageClient | undefined; here: () => Partial<Origin>; complain: Complain; started: () => void; questions: () => Questions; decide: Decide;
  files: (uris: string[]) => NewChip[]; readiness: () => Readiness; add: () => Promise<string | undefined>;
  isOnlyShown: (document: vscode.TextDocument) => boolean;
}

// `client()` is the language client of now; `here()` the place that a new task is about; `questions` what is asked;
// `decide` keeps or undoes a change; `files` makes chips of what was dropped; `readiness` knows whether a model is set up, and `add` sets one up; `isOnlyShown` says of a text that the
// user never went into it.
export function createChat(context: vscode.ExtensionContext, { client, here, complain, started, questions, decide, files, readiness, add, isOnlyShown }: Surfaces) {
  const folder = () => vscode.workspace.workspaceFolders?.find((one) => one.uri.scheme === 'file');
  const kept = context.workspaceState.get<Kept>(KEPT) ?? {};
  // What was typed before a folder was opened goes along.
  const carried = folder() && context.globalState.get<string>(CARRIED);
  if (carried) {
    if (!kept.drafts?.some(([of]) => of === '')) kept.drafts = [...kept.drafts ?? [], ['', carried]];
    void context.globalState.update(CARRIED, undefined);
  }
  let detail: Detail = 'normal';
  let view: vscode.WebviewView | undefined, conversation = createConversation(), session = kept.session, before: number | undefined, loads = 0;
  let drawnCards: string | undefined, wanted: string | undefined; // the questions that the page has, and the one to lead to
  let made: { of: string; configOptions: ConfigOption[] } | undefined; // the conversation that began here with a choice: the server has it once it has a prompt
  const isReady = () => client()?.isRunning() === true;
  const now = () => {
    const is = client();
    if (!is?.isRunning()) throw new Error(NOT_RUNNING);
    return is;
  };
  const request = async <R>(method: string, params: object): Promise<R> => now().sendRequest<R>(method, params);
  const execute = <R>(command: string, argument: object) => request<R>('workspace/executeCommand', { command, arguments: [argument] });

  const post = (message: ToPage) => void view?.webview.postMessage(message);
  const where = () => {
    const here = folder();
    return here && now().code2ProtocolConverter.asUri(here.uri);
  };
  const keep = () => {
    void context.workspaceState.update(KEPT, { session, drafts: drafts.all() });
    if (!folder()) void context.globalState.update(CARRIED, drafts.text(undefined) || undefined);
  };
  // The first prompt of a conversation says where the user is.
  const isNew = (of: string | undefined) => !of || (of === session && conversation.isEmpty());
  const composer = createComposer(context, {
    kept: kept.drafts,
    keep,
    of: () => session,
    post,
    isReady,
    execute,
    place: (of) => (isNew(of) ? here() : {}),
    started,
    sent: async (of, sessionId) => {
      made = undefined;
      if (session !== sessionId && session === of) await showOrSay(sessionId);
    },
    complain,
  });
  const { drafts } = composer;
  const { now: draw, later, drawn, dispose: rest } = createPace<[reset: boolean, draft?: string]>((reset = false, draft = undefined) => {
    if (!view?.visible) return false;
    const { state, sub, usage, plan, title, options } = conversation.head();
    view.title = title ? line(title, 60) : undefined;
    const share = usage?.contextSize ? `${Math.round((100 * usage.contextUsed) / usage.contextSize)} % of the context` : '';
    const used = [share, usage?.session.cost?.line].filter(Boolean).join(' · ');
    const cards = questions().of(session).slice(0, MOST_CARDS).map(({ ask, opened }) => cardOf(ask, folder()?.uri.fsPath, opened));
    const json = JSON.stringify(cards);
    const changed = reset || json !== drawnCards;
    drawnCards = json;
    const reveal = cards.some(({ id }) => id === wanted) ? wanted : undefined;
    if (reveal) wanted = undefined;
    post({ type: 'draw', reset, draft, session, items: conversation.take(), plan, state, sub, used, older: before !== undefined, questions: changed ? cards : undefined, reveal, options: buttonsOf(options), held: held.view(session), bare: readiness().isWithoutModel(), openFolder: folder() ? undefined : OPEN_FOLDER, detail });
    return true;
  }, PAUSE_MS);

  const listed = async () => {
    const cwd = where();
    return (await request<SessionListResult>('agent/session/list', cwd ? { cwd } : {})).sessions;
  };
  const held = createHeld({ list: listed, changed: later });

  // Loads a page of the session that is shown, unless another one is shown by then.
  const load = async () => {
    const number = ++loads, of = session;
    const page = await request<ItemsResult>('agent/session/items', { sessionId: of, before, limit: PAGE });
    if (number !== loads || of !== session) return;
    page.updates.forEach(conversation.fold);
    before = page.before;
    later();
  };
  // What is in the box goes along, unless the user chose to go to another conversation, which has a draft of its own.
  const show = async (sessionId: string | undefined, { takesDraft = false } = {}) => {
    loads++;
    held.forget();
    const left = session;
    const goesAlong = !takesDraft && drafts.move(left, sessionId);
    [session, before, conversation] = [sessionId, undefined, createConversation()];
    keep();
    // The box itself is the newest of what is typed in it.
    const isOther = !goesAlong && (left ?? '') !== (sessionId ?? '');
    const own = isOther && drafts.has(sessionId) ? drafts.text(sessionId) : undefined;
    draw(true, takesDraft ? drafts.text(sessionId) : own);
    await composer.show();
    // A page that comes into sight asks again.
    if (!sessionId || !isReady() || !view?.visible) return;
    const shown = conversation;
    if (made?.of === sessionId && shown.isEmpty()) {
      shown.begin(made);
      return later();
    }
    const resumed = await request<ResumeResult>('agent/session/resume', { sessionId });
    questions().resumed(sessionId, resumed);
    shown.begin(resumed);
    if (shown === conversation) await load();
  };
  // A session that is gone leaves an empty chat. After any other failure it is asked for again, when the chat comes into sight or a
  // server starts; of one that another window has, the chat says so.
  const showOrSay = (sessionId: string | undefined, how?: { takesDraft?: boolean }) => show(sessionId, how).catch((error: unknown) => {
    if (sessionId !== undefined && session === sessionId && nameOf(error) === 'SessionLocked') return held.hold(sessionId);
    if (session === sessionId && LOST.includes(nameOf(error))) show(undefined, { takesDraft: true }).catch(complain);
    if (isReady()) complain(error);
  });

  const pick = async () => {
    const sessions = await listed();
    const rows = sessions.slice(0, MOST_LISTED).map((one) => {
      const { title, about } = row(one, Date.now());
      return { label: title, description: about, sessionId: one.sessionId };
    });
    if (rows.length === 0) return void vscode.window.showInformationMessage('Adjutant: There is no conversation in this folder yet.');
    const picked = await vscode.window.showQuickPick(rows, { title: 'Adjutant: Conversations' });
    if (!picked) return;
    await vscode.commands.executeCommand('adjutant.chat.focus');
    await showOrSay(picked.sessionId, { takesDraft: true });
  };
  // Copies a conversation, up to before a prompt if one is named. The copy is opened, with the words of that prompt in its box.
  const fork = async (of: string, atMessageId?: string) => {
    const { sessionId, prompt, notices } = await request<SessionForkResult>('agent/session/fork', { sessionId: of, atMessageId });
    if (prompt) drafts.type(sessionId, prompt);
    for (const notice of notices) vscode.window.showInformationMessage(`Adjutant: ${line(notice, 300)}`);
    await vscode.commands.executeCommand('adjutant.chat.focus');
    await showOrSay(sessionId, { takesDraft: true });
  };
  // A card is dead while its answer is on the way; what went wrong stands in it.
  const answer = async ({ askId, optionId, text }: { askId: string; optionId?: string; text?: string }) => {
    let problem: string | undefined;
    try {
      await questions().answer({ askId, optionId, text });
    } catch (error) {
      problem = line(wordsOf(error), 300);
    }
    post({ type: 'answered', askId, problem });
  };
  // Chooses an option of the conversation in sight; without one a new conversation begins with it.
  const choose = async (id?: string) => {
    if (!isReady()) throw new Error(NOT_RUNNING);
    const { sessionId: of, configOptions: options } = session ? { sessionId: session, configOptions: conversation.head().options } : await request<NewSessionResult>('agent/session/new', {});
    const option = id ? options.find((one) => one.id === id) : await pickOption(options);
    const picked = option && await pickValue(option, request, add);
    if (!option || picked === undefined) return;
    const { configOptions, text } = await request<SetConfigOptionResult>('agent/session/set_config_option', { sessionId: of, configId: option.id, ...picked });
    if (text) vscode.window.showInformationMessage(`Adjutant: ${line(text, 300)}`);
    if (made?.of === of || session === undefined) made = { of, configOptions };
    if (session === undefined) await showOrSay(of);
    if (of === session) conversation.begin({ configOptions });
    later();
  };
  // What the user gave as prompts in this folder, newest first.
  const past = async () => {
    let prompts: PromptHistoryResult['prompts'] | undefined;
    try {
      if (folder() && isReady()) ({ prompts } = await request<PromptHistoryResult>('agent/prompt/history', { cwd: where(), limit: MOST_PAST }));
    } finally {
      post({ type: 'history', prompts: prompts?.map(({ text }) => text) });
    }
  };
  // What the server would write in the box; nothing where it cannot say.
  const complete = async ({ id, text }: { id: number; text: string }) => {
    let found: PromptCompleteResult = { start: 0, items: [], incomplete: false };
    try {
      if (isReady()) found = await request<PromptCompleteResult>('agent/prompt/complete', { text, offset: text.length });
    } finally {
      const items = found.items.map((item) => ({ ...item, label: line(item.label, MOST_LABEL), detail: item.detail && line(item.detail, MOST_LABEL) }));
      post({ type: 'completions', id, ...found, items });
    }
  };
  // Sends the page what a step gave, which is unfolded there.
  const output = async (call: string) => {
    const of = session;
    let read: Omit<Output, 'type' | 'call'>;
    try {
      read = await request<ItemReadResult>('agent/item/read', { sessionId: of, toolCallId: call });
    } catch (error) {
      read = { problem: line(wordsOf(error), 300) };
    }
    if (of === session) post({ type: 'output', call, ...read });
  };
  const changed = createChanged({ request, decide, of: () => session, send: post });
  const dropped = async ({ session: of, uris }: { session?: string; uris: string[] }) => {
    for (const chip of files(uris)) await composer.attach(of, chip);
  };
  const heard = (message: FromPage): unknown => {
    switch (message.type) {
      // A page that is new.
      case 'ready': return showOrSay(session, { takesDraft: true });
      case 'drawn': return drawn();
      case 'draft': return drafts.type(message.session, message.text);
      case 'send': return composer.send(message.session, message.text, message.id);
      case 'image': return composer.image(message.session, message).catch(complain);
      case 'focused': return composer.focused();
      case 'files': return dropped(message).catch(complain);
      case 'detach': return composer.detach(message.session, message.chip).catch(complain);
      case 'openChip': return composer.open(message.session, message.chip).catch(complain);
      case 'stop': return execute('adjutant.cancel', { sessionId: session }).catch(complain);
      case 'older': return before === undefined ? undefined : load().catch(complain);
      case 'answer': return answer(message);
      case 'show': return questions().show(message.askId).catch(complain);
      case 'conversations': return pick().catch(complain);
      case 'takeOver': return showOrSay(session);
      case 'history': return past().catch(complain);
      // A user who types gets no error message; the list just does not open.
      case 'complete': return complete(message).catch(() => undefined);
      case 'copy': return copyCode(message.text).catch(complain);
      case 'insert': return insertCode(message.text, isOnlyShown).catch(complain);
      case 'cure': return CURES.includes(message.command) ? vscode.commands.executeCommand(message.command) : undefined;
      case 'choose': return choose(message.option).catch(complain);
      case 'keep':
      case 'undo': return changed.decided(message.type, message.set).catch(complain);
      case 'unfold': return changed.unfold(message.set);
      case 'output': return output(message.call);
      case 'review': return vscode.commands.executeCommand('adjutant.changes.focus');
      case 'undoRun': return session && decide('undoRun', { sessionId: session, runId: message.run }).catch(complain);
      case 'fork': return session && fork(session, message.prompt).catch(complain);
      case 'open': return changed.open(message.set).catch(complain);
    }
  };

  const provider = vscode.window.registerWebviewViewProvider('adjutant.chat', {
    resolveWebviewView(resolved) {
      view = resolved;
      view.webview.options = { enableScripts: true, localResourceRoots: [] };
      view.webview.onDidReceiveMessage(heard);
      view.onDidDispose(() => { if (view === resolved) view = undefined; });
      view.webview.html = html(context.extensionPath);
    },
  });
  return {
    // Whether the user sees it.
    isVisible: () => view?.visible === true,
    // Whether the user sees this conversation.
    isInSight: (sessionId: string) => view?.visible === true && session === sessionId,
    // Opens the chat at a question.
    reveal: async ({ askId, sessionId }: { askId?: string; sessionId: string }) => {
      wanted = askId;
      await vscode.commands.executeCommand('adjutant.chat.focus');
      if (session !== sessionId) await showOrSay(sessionId, { takesDraft: true });
      later();
    },
    // How much of a task the user wants to see.
    detail: () => detail,
    draws(wanted: Detail) {
      if (wanted === detail) return;
      detail = wanted;
      draw();
    },
    // What is set up has changed.
    readied: () => draw(),
    asked: (sessionId: string) => { if (sessionId === session) later(); },
    open: () => vscode.commands.executeCommand('adjutant.chat.focus'),
    begin: async () => {
      await vscode.commands.executeCommand('adjutant.chat.focus');
      await show(undefined, { takesDraft: true });
    },
    // Opens the chat with a text that was not taken, behind what its box has.
    keep: async (text: string) => {
      await vscode.commands.executeCommand('adjutant.chat.focus');
      const before = drafts.text(session).trim();
      drafts.type(session, before ? `${before}\n\n${text}` : text);
      draw(false, drafts.text(session));
      await composer.show();
    },
    // Opens the chat and puts chips into its box.
    attach: async (chips: NewChip[]) => {
      await vscode.commands.executeCommand('adjutant.chat.focus');
      for (const chip of chips) await composer.attach(session, chip);
    },
    pick,
    choose,
    fork,
    // Copies the conversation in sight.
    forkHere: async () => {
      if (!session) throw new Error('there is no conversation in the chat yet');
      await fork(session);
    },
    told(params: SessionUpdateParams) {
      const { update, sessionId } = params;
      // A task that was given elsewhere in this window is followed, unless one is at work here or something is typed for this one.
      const begins = update.sessionUpdate === '_run' && update.phase === 'started';
      const isBusy = composer.isSending() || drafts.has(session) || ['running', 'requires_action'].includes(conversation.head().state);
      if (begins && sessionId !== session && !isBusy) showOrSay(sessionId);
      if (sessionId !== session) return;
      conversation.fold(params);
      if (!view?.visible) conversation.forget();
      later();
    },
    // One `agent/session/changed`: a conversation was renamed, perhaps, or let go by another window.
    named(change: SessionChangedParams) {
      const { sessionId, session: entry } = change;
      held.told(change);
      if (sessionId !== session || !entry || entry.title === conversation.head().title) return;
      conversation.begin({ title: entry.title });
      later();
    },
    // The server is gone. What it said stays in sight; the next one is asked.
    lost() {
      if (made && session === made.of) {
        // The next server does not know it; what was written for it is for a new one.
        drafts.move(session, undefined);
        session = undefined;
        composer.show().catch(complain);
      }
      made = undefined;
      conversation.begin({ state: { state: 'none' } });
      draw();
    },
    // A new server does not have the session open yet.
    ready: () => void (session && showOrSay(session)),
    dispose() {
      rest();
      composer.dispose();
      provider.dispose();
    },
  };
}
