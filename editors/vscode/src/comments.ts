// Comments on changes: written one by one, sent to the agent together.
// Never sends one by itself, and keeps none: they wait on the server.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { words } from './asks';
import { commented, comments, keyOf, title } from './change';
import type { Hunks } from './hunks';
import type { ReviewHunk, ReviewListResult } from './wire';

const tell = (text: string) => void vscode.window.showInformationMessage(`Adjutant: ${text}`);

export interface Surfaces { client: () => LanguageClient; hunks: Hunks; meant: (given?: { hunks?: ReviewHunk[] }) => ReviewHunk[]; answer: { begun: () => void } }

export function createComments({ client, hunks, meant, answer }: Surfaces) {
  // A label is older than the comment that was written a moment ago.
  const now = (hunk: ReviewHunk) => vscode.workspace.textDocuments.flatMap(hunks.of).find((one) => keyOf(one) === keyOf(hunk)) ?? hunk;
  const send = <R>(method: string, params: object) => client().sendRequest<R>(method, params);
  return {
    // Writes a comment on a change, or changes the one that waits.
    async comment(given?: { hunks?: ReviewHunk[] }) {
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
      const { hunks: listed } = await send<ReviewListResult>('agent/review/list', {});
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
