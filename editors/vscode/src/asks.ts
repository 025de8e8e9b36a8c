// Questions and what a button cannot say: words of one's own, a reason, another try.
// Never chooses an option by itself; what became of an answer is the server's word.

import * as vscode from 'vscode';
import type { CancellationToken, LanguageClient, MessageActionItem, ShowMessageRequestParams } from 'vscode-languageclient/node';
import { line, status } from './display';
import type { AskListResult, AskRespondParams, AskRespondResult, AskView, RunEnd } from './wire';

// The kinds of questions that are answered in words. One that can be rejected takes a reason instead.
const IN_WORDS = ['followup', 'mistake_limit_reached', 'auto_approval_max_req_reached', 'resume_task'];
const drafts = new Map<string, string>(); // what was typed into a box that was left, by what it was for
let server = 0; // counts servers: a question of one that is gone cannot be answered

const tell = (text: string) => vscode.window.showInformationMessage(`Adjutant: ${text}`);
const rejection = (ask: AskView) => ask.options.find((option) => option.kind === 'reject_once');

// One line of text. A box that loses the focus closes, so that none is left to send later what was
// typed for something else; its words are there again the next time it is opened for the same. Nothing typed is no answer,
// unless there is a `value` to begin with: then it is an empty text.
export function words(title: string, prompt: string, { placeholder, draft = title, value }: { placeholder?: string; draft?: string; value?: string } = {}) {
  const box = vscode.window.createInputBox();
  Object.assign(box, { title: `Adjutant: ${title}`, prompt, placeholder, value: drafts.get(draft) ?? value ?? '' });
  return new Promise<string | undefined>((given) => {
    box.onDidAccept(() => {
      given(box.value.trim() || (value === undefined ? undefined : ''));
      box.value = '';
      box.hide();
    });
    box.onDidHide(() => {
      if (box.value) drafts.set(draft, box.value);
      else drafts.delete(draft);
      given(undefined);
      box.dispose();
    });
    box.show();
  });
}

// Shows a question of the server. VS Code closes no notification for an extension: a button that
// is pressed too late does nothing and says so.
export async function toast({ type, message, actions = [] }: ShowMessageRequestParams, token: CancellationToken): Promise<MessageActionItem | null> {
  const asked = server;
  const { showErrorMessage, showWarningMessage, showInformationMessage } = vscode.window;
  const show = type === 1 ? showErrorMessage : type === 2 ? showWarningMessage : showInformationMessage;
  const pressed = await show(message, ...actions);
  if (!pressed || (asked === server && !token.isCancellationRequested)) return pressed ?? null;
  tell('this question is gone, so nothing was done');
  return null;
}

// The answers for the server that `client()` is connected to.
export function createAnswers(client: () => LanguageClient) {
  const list = async (sessionId?: string) => (await client().sendRequest<AskListResult>('agent/ask/list', { sessionId })).asks;
  const respond = async (params: AskRespondParams) => {
    const answered = await client().sendRequest<AskRespondResult>('agent/ask/respond', params);
    if (answered.status === 'already_resolved') tell('this was answered before, so nothing was done');
  };
  // The question that is meant: the only one, else the one the user picks.
  const pick = async (wanted: (ask: AskView) => unknown) => {
    const asks = (await list()).filter(wanted);
    if (asks.length === 0) tell('nothing is asked');
    if (asks.length < 2) return asks[0];
    const items = asks.map((ask) => ({ label: status(ask.title, 80), description: status(ask.description ?? '', 160), ask }));
    return (await vscode.window.showQuickPick(items, { title: 'Adjutant: Which Question?' }))?.ask;
  };
  return {
    async reject() {
      const ask = await pick(rejection);
      const reason = ask && await words('Reject With a Reason', line(ask.title, 200), { draft: `reason ${ask.askId}` });
      if (reason) await respond({ askId: ask.askId, optionId: rejection(ask)?.optionId, reason });
    },
    async answer() {
      const ask = await pick((one) => one.freeText && IN_WORDS.includes(one.kind));
      const answer = ask && await words('Answer in My Words', line(ask.title, 200), { draft: `answer ${ask.askId}` });
      if (answer) await respond({ askId: ask.askId, answer });
    },
    // A run that ended without success needs the user; the others are quiet.
    async failed(sessionId: string, { outcome, summary }: RunEnd) {
      if (outcome !== 'failed' && outcome !== 'limit') return;
      const ways = (await list(sessionId)).flatMap((ask) => ask.options.map(({ optionId }) => ({ askId: ask.askId, optionId })));
      const way = ways.find(({ optionId }) => optionId === 'retry' || optionId === 'continue');
      const buttons = way ? [way.optionId === 'retry' ? 'Try Again' : 'Continue'] : [];
      const text = `Adjutant: ${line(summary ?? 'the task could not be finished', 300)}`;
      if (await vscode.window.showErrorMessage(text, ...buttons) && way) await respond(way);
    },
  };
}

// The questions of this server cannot be answered any more.
export const serverIsGone = () => { server++; };
