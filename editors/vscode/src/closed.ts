// Finds the changes that went with a document when it was closed without saving it. Which these are is the server's word.

import * as vscode from 'vscode';
import type { Complain } from './failure';
import type { ChangeSetView, ReviewHunk } from './wire';

interface Waiting { changeSets: Set<string>; timer?: NodeJS.Timeout }

const PAUSE_MS = 150; // one message for all changes of a file

export function createClosed(list: (of: { uri: string; all: true }) => Promise<ReviewHunk[]>, say: (lost: ReviewHunk[]) => Promise<void>, complain: Complain) {
  const closed = new Set<string>(); // files that are closed since they were open here
  const timers = new Map<string, Waiting>(); // by file
  const keyOf = (uri: string) => vscode.Uri.parse(uri, true).toString();
  const look = async (key: string, uri: string, changeSets: Set<string>) => {
    timers.delete(key);
    if (!closed.delete(key)) return;
    const hunks = await list({ uri, all: true });
    const lost = hunks.filter((hunk) => hunk.state === 'undone' && hunk.undoneBy === 'close' && changeSets.has(hunk.changeSetId));
    if (lost.length) await say(lost);
  };
  const parts = [
    vscode.workspace.onDidCloseTextDocument(({ uri }) => { if (uri.scheme === 'file') closed.add(uri.toString()); }),
    vscode.workspace.onDidOpenTextDocument(({ uri }) => closed.delete(uri.toString())),
  ];
  return {
    // What the server says of one change.
    told({ uri, changeSetId, hunks }: ChangeSetView) {
      const key = keyOf(uri);
      if (!closed.has(key) || !hunks.some((hunk) => hunk.state === 'undone')) return;
      const waiting: Waiting = timers.get(key) ?? { changeSets: new Set() };
      waiting.changeSets.add(changeSetId);
      waiting.timer ??= setTimeout(() => look(key, uri, waiting.changeSets).catch(complain), PAUSE_MS);
      timers.set(key, waiting);
    },
    dispose() {
      timers.forEach(({ timer }) => clearTimeout(timer));
      parts.forEach((part) => part.dispose());
    },
  };
}
