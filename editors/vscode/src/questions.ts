// The questions that are open in this window: what the server said is open, and the way back of an answer.
// Never chooses an answer by itself. A notification says no or leads to the card in the chat; an approval is given there only.

import * as vscode from 'vscode';
import type { CancellationToken, LanguageClient } from 'vscode-languageclient/node';
import { line, status } from './display';
import type { Complain } from './failure';
import type { AskKind, AskResolvedParams, AskRespondResult, AskView, PermissionResponse, SessionUpdateParams } from './wire';

export type Questions = ReturnType<typeof createQuestions>;
// `opened`: the user has opened the whole question in a tab. `told`: a notification has named it. `ends`: each of these functions
// answers one request of the server.
export interface OpenQuestion { ask: AskView; opened: boolean; told: boolean; ends: (() => void)[] }
interface Given { askId: string; optionId?: string; text?: string }
interface Surfaces { client: () => LanguageClient; isInSight: (sessionId: string) => boolean; reveal: (ask: AskView) => Promise<void>; complain: Complain }

// What could come next after a task that went well is no question.
const NO_QUESTION: AskKind[] = ['completion_result', 'resume_completed_task'];
const GONE = 'this question is gone, so nothing was done';

const say = (text: string) => void vscode.window.showInformationMessage(`Adjutant: ${text}`);
const rejection = (ask: AskView) => ask.options.find(({ kind }) => kind === 'reject_once');

// `isInSight` says whether the user sees the chat of a session, and `reveal` opens it at a question.
export function createQuestions({ client, isInSight, reveal, complain }: Surfaces) {
  const open = new Map<string, OpenQuestion>(); // by id, in the order in which they came
  const changed = new vscode.EventEmitter<string>();
  let notified: string | undefined; // the question of the notification that was shown last

  const remove = (askId: string) => {
    const one = open.get(askId);
    if (!one) return;
    open.delete(askId);
    one.ends.forEach((end) => end());
    changed.fire(one.ask.sessionId);
    if (notified === askId) {
      notified = undefined;
      next();
    }
  };
  // What is held up waits longest; what could come next after a failure is for the chat alone.
  const waiting = () => [...open.values()].filter(({ ask }) => ask.group !== 'idle');

  // VS Code closes no notification for an extension: one at a time, and what is pressed too late says so.
  const notify = async (one: OpenQuestion) => {
    const { ask } = one;
    [notified, one.told] = [ask.askId, true];
    const no = rejection(ask);
    const pressed = await vscode.window.showInformationMessage(`Adjutant asks: ${line(ask.title, 200)}`, ...(no ? ['Review', 'Reject'] : ['Answer']));
    if (pressed && open.get(ask.askId) !== one) say(GONE);
    else if (pressed === 'Reject') await answer({ askId: ask.askId, optionId: no?.optionId });
    else if (pressed) await reveal(one.ask);
    if (notified === ask.askId) {
      notified = undefined;
      next();
    }
  };
  const next = () => {
    const one = waiting().find(({ told, ask }) => !told && !isInSight(ask.sessionId));
    if (one && notified === undefined) notify(one).catch(complain);
  };
  const put = (ask: AskView) => {
    if (NO_QUESTION.includes(ask.kind)) return;
    const old = open.get(ask.askId);
    const same = old && JSON.stringify(old.ask) === JSON.stringify(ask);
    if (same) return;
    // What is left of a question is another whole.
    open.set(ask.askId, old ? Object.assign(old, { ask, opened: false }) : { ask, opened: false, told: false, ends: [] });
    changed.fire(ask.sessionId);
    next();
  };
  async function answer({ askId, optionId, text }: Given): Promise<void> {
    if (!open.has(askId)) return say(GONE);
    const params = optionId ? { askId, optionId, reason: text } : { askId, answer: text };
    const answered = await client().sendRequest<AskRespondResult>('agent/ask/respond', params);
    remove(askId);
    if (answered.status === 'already_resolved') say('this was answered before, so nothing was done');
  }
  const pick = async () => {
    const all = waiting();
    if (all.length === 0) say('nothing is asked');
    if (all.length < 2) return all[0];
    const rows = all.map((one) => ({ label: status(one.ask.title, 80), description: status(one.ask.description ?? '', 160), one }));
    return (await vscode.window.showQuickPick(rows, { title: 'Adjutant: Which Question?' }))?.one;
  };

  return {
    onDidChange: changed.event,
    // The questions of a session, with what could come next after a failure.
    of: (sessionId: string | undefined) => [...open.values()].filter(({ ask }) => ask.sessionId === sessionId),
    answer,
    // Handles `agent/session/request_permission`. The answer goes by `agent/ask/respond`, from whichever surface; this request only
    // says that the question is asked here, and ends with it.
    asked(ask: AskView, token: CancellationToken): Promise<PermissionResponse> {
      put(ask);
      return new Promise<PermissionResponse>((done) => {
        const end = () => done({ outcome: { outcome: 'cancelled' } });
        const one = open.get(ask.askId);
        if (!one || token.isCancellationRequested) return end();
        one.ends.push(end);
        return token.onCancellationRequested(end);
      });
    },
    told({ update }: SessionUpdateParams) {
      if (update.sessionUpdate !== '_ask') return;
      if (update.phase === 'closed') remove(update.askId);
      else put(update.ask);
    },
    // What a session says of itself when it is opened is all that it asks.
    resumed(sessionId: string, { asks }: { asks: AskView[] }) {
      const now = new Set(asks.map(({ askId }) => askId));
      [...open.values()].filter(({ ask }) => ask.sessionId === sessionId && !now.has(ask.askId)).forEach(({ ask }) => remove(ask.askId));
      asks.forEach(put);
    },
    resolved: ({ askId }: AskResolvedParams) => remove(askId),
    // Opens the whole of what is asked, beside.
    show: (askId: string) => client().sendRequest('workspace/executeCommand', { command: 'adjutant.show', arguments: [{ askId }] }),
    // The server's file with the whole of a question came into sight.
    shown(uri: vscode.Uri) {
      const name = (uri.path.split('/').at(-1) ?? '').replace(/\.[a-z]+$/u, '');
      const one = uri.path.includes('/asks/') ? open.get(name) : undefined;
      if (!one || one.opened) return;
      one.opened = true;
      changed.fire(one.ask.sessionId);
    },
    // Leads to a question: to the only one, or the one that the user picks.
    async review() {
      const one = await pick();
      if (one) await reveal(one.ask);
    },
    pick,
    // The server is gone; the next one says what is open.
    lost() {
      const all = [...open.values()];
      open.clear();
      notified = undefined;
      all.forEach(({ ask, ends }) => {
        ends.forEach((end) => end());
        changed.fire(ask.sessionId);
      });
    },
    dispose: () => changed.dispose(),
  };
}
