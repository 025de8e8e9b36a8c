// What the buttons at a change in the chat do: keep or undo it, open its file, send its lines to the page. Always asks
// the server for the change of now, and never keeps one.

import * as vscode from 'vscode';
import type { ReviewHunk, ReviewListResult } from '../wire';
import { wordsOf } from '../failure';
import { decidable } from '../change';
import { line } from '../display';
import { IN_TEXT } from './conversation';
import { type ChangeLines, linesOf } from './lines';
import type { Request, ToPage } from './messages';

interface Surfaces { request: Request; decide: (action: 'keep' | 'undo', given: { hunks: ReviewHunk[] }) => Promise<void>; of: () => string | undefined; send: (message: ToPage) => void }

// `of()` is the session in sight; `decide` keeps or undoes; `send` takes a message to the page.
export function createChanged({ request, decide, of, send }: Surfaces) {
  const partsOf = async (changeSetId: string) => {
    const { hunks } = await request<ReviewListResult>('agent/review/list', { sessionId: of(), all: true });
    return hunks.filter((hunk) => hunk.changeSetId === changeSetId);
  };
  return {
    decided: async (action: 'keep' | 'undo', changeSetId: string) => decide(action, { hunks: (await partsOf(changeSetId)).filter(decidable) }),
    // Opens the file at the first part that is in the text.
    async open(changeSetId: string) {
      const parts = (await partsOf(changeSetId)).filter(({ state }) => IN_TEXT.includes(state)).sort((one, other) => one.line - other.line);
      if (parts.length === 0) throw new Error('this change is not in the text any more');
      const { uri, operation } = parts[0];
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(operation?.kind === 'move' ? operation.uri : uri, true));
      const at = Math.min(parts[0].line, document.lineCount - 1);
      await vscode.window.showTextDocument(document, { preview: true, selection: new vscode.Range(at, 0, at, 0) });
    },
    async unfold(changeSetId: string) {
      const session = of();
      let lines: ChangeLines;
      try {
        lines = linesOf(await partsOf(changeSetId));
      } catch (error) {
        lines = { problem: line(wordsOf(error), 300) };
      }
      if (session === of()) send({ type: 'unfolded', set: changeSetId, ...lines });
    },
  };
}
