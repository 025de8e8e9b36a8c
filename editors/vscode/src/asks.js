// Questions and what a button cannot say: words of one's own, a reason, another try.
// Never chooses an option by itself; what became of an answer is the server's word.
'use strict';

const vscode = require('vscode');
const { line, status } = require('./display');

// The kinds of questions that are answered in words. One that can be rejected takes a reason instead.
const IN_WORDS = ['followup', 'mistake_limit_reached', 'auto_approval_max_req_reached', 'resume_task'];
const drafts = new Map(); // what was typed into a box that was left, by what it was for
let server = 0; // counts servers: a question of one that is gone cannot be answered

const tell = (text) => vscode.window.showInformationMessage(`Adjutant: ${text}`);
const rejection = (ask) => ask.options.find((option) => option.kind === 'reject_once');

// One line of text. A box that loses the focus closes, so that none is left to send later what was
// typed for something else; its words are there again the next time it is opened for the same. Nothing typed is no answer,
// unless there is a `value` to begin with: then it is an empty text.
function words(title, prompt, { placeholder, draft = title, value } = {}) {
  const box = vscode.window.createInputBox();
  Object.assign(box, { title: `Adjutant: ${title}`, prompt, placeholder, value: drafts.get(draft) ?? value ?? '' });
  return new Promise((given) => {
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
async function toast({ type, message, actions = [] }, token) {
  const asked = server;
  const { showErrorMessage, showWarningMessage, showInformationMessage } = vscode.window;
  const show = { 1: showErrorMessage, 2: showWarningMessage }[type] ?? showInformationMessage;
  const pressed = await show(message, ...actions);
  if (!pressed || (asked === server && !token.isCancellationRequested)) return pressed ?? null;
  tell('this question is gone, so nothing was done');
  return null;
}

// The answers for the server that `client()` is connected to.
function createAnswers(client) {
  const list = async (sessionId) => (await client().sendRequest('agent/ask/list', { sessionId })).asks;
  const respond = async (params) => {
    const answered = await client().sendRequest('agent/ask/respond', params);
    if (answered.status === 'already_resolved') tell('this was answered before, so nothing was done');
  };
  // The question that is meant: the only one, else the one the user picks.
  const pick = async (wanted) => {
    const asks = (await list()).filter(wanted);
    if (asks.length < 2) return asks[0] ?? void tell('nothing is asked');
    const items = asks.map((ask) => ({ label: status(ask.title, 80), description: status(ask.description ?? '', 160), ask }));
    return (await vscode.window.showQuickPick(items, { title: 'Adjutant: Which Question?' }))?.ask;
  };
  return {
    async reject() {
      const ask = await pick(rejection);
      const reason = ask && await words('Reject With a Reason', line(ask.title, 200), { draft: `reason ${ask.askId}` });
      if (reason) await respond({ askId: ask.askId, optionId: rejection(ask).optionId, reason });
    },
    async answer() {
      const ask = await pick((one) => one.freeText && IN_WORDS.includes(one.kind));
      const answer = ask && await words('Answer in My Words', line(ask.title, 200), { draft: `answer ${ask.askId}` });
      if (answer) await respond({ askId: ask.askId, answer });
    },
    // A run that ended without success needs the user; the others are quiet.
    async failed(sessionId, { outcome, summary }) {
      if (outcome !== 'failed' && outcome !== 'limit') return;
      const ways = (await list(sessionId)).flatMap((ask) => ask.options.map(({ optionId }) => ({ askId: ask.askId, optionId })));
      const way = ways.find(({ optionId }) => optionId === 'retry' || optionId === 'continue');
      const buttons = way ? [way.optionId === 'retry' ? 'Retry' : 'Continue'] : [];
      const text = `Adjutant: ${line(summary ?? 'the task could not be finished', 300)}`;
      if (await vscode.window.showErrorMessage(text, ...buttons)) await respond(way);
    },
  };
}

module.exports = { words, toast, createAnswers, serverIsGone: () => { server++; } };
