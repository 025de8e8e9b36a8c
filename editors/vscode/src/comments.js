// Comments on changes: written one by one, sent to the agent together.
// Never sends one by itself, and keeps none: they wait on the server.
'use strict';

const vscode = require('vscode');
const { words } = require('./asks');
const { commented, comments, keyOf, title } = require('./change');

const tell = (text) => void vscode.window.showInformationMessage(`Adjutant: ${text}`);

function createComments({ client, hunks, meant, answer }) {
  // A label is older than the comment that was written a moment ago.
  const now = (hunk) => vscode.workspace.textDocuments.flatMap(hunks.of).find((one) => keyOf(one) === keyOf(hunk)) ?? hunk;
  const send = (method, params) => client().sendRequest(method, params);
  return {
    // Writes a comment on a change, or changes the one that waits.
    async comment(given) {
      const [said] = meant(given);
      if (!said) return;
      const hunk = now(said);
      const { sessionId, changeSetId, hunkId } = hunk;
      const options = { placeholder: 'Your words to the agent', draft: `comment ${keyOf(hunk)}`, value: hunk.comment ?? '' };
      const text = await words('Comment', `About: ${title(hunk)}. It waits until you send your comments.`, options);
      if (text === undefined || (!text && !hunk.comment)) return;
      await send('agent/review/comment', { sessionId, changeSetId, hunkId, text });
    },
    // Sends all comments that wait, with words about all of them. Each session gets its own.
    async send() {
      const { hunks: listed } = await send('agent/review/list', {});
      const sessions = commented(listed);
      if (!sessions.size) return tell('no comment waits; press Comment above a change first');
      const number = [...sessions.values()].reduce((total, one) => total + one, 0);
      const prompt = `${comments(number)} ${number === 1 ? 'waits' : 'wait'}. Add words about all of them, or just press Enter.`;
      const text = await words('Send Comments', prompt, { placeholder: 'Optional', value: '' });
      if (text === undefined) return;
      answer.begun();
      for (const sessionId of sessions.keys()) await send('agent/review/send', { sessionId, text: text || undefined });
    },
  };
}

module.exports = { createComments };
