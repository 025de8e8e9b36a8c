// Proposed changes as threads of comments: the whole change, Reject and Apply, and a reply as the reason.
// Draws what the server said last. An approval is dead for a moment after its change appeared or became another.

import * as vscode from 'vscode';
import { type Thread, threads } from './change';
import type { ReviewHunk } from './wire';

interface DrawnThread { of: string; thread: vscode.CommentThread; key: string; hunk: ReviewHunk; body?: string; since: number }
export type Proposed = ReturnType<typeof createProposed>;

const READ_MS = 400; // before what is drawn counts as seen

export function createProposed() {
  const controller = vscode.comments.createCommentController('adjutant', 'Adjutant');
  controller.options = { prompt: 'Reject with a reason', placeHolder: 'Why not?' };
  const drawn = new Map<string, DrawnThread>(); // by document and change: its thread
  const draw = (of: string, document: vscode.TextDocument, view: Thread) => {
    const { key, first, last, label, body, expanded, hunk } = view;
    const range = document.validateRange(new vscode.Range(first, 0, last, Number.MAX_SAFE_INTEGER));
    let one = drawn.get(`${of} ${key}`);
    if (!one) {
      const thread = controller.createCommentThread(document.uri, range, []);
      Object.assign(thread, { contextValue: 'proposed', canReply: true });
      thread.collapsibleState = vscode.CommentThreadCollapsibleState[expanded ? 'Expanded' : 'Collapsed'];
      one = { of, thread, key, hunk, since: Date.now() };
      drawn.set(`${of} ${key}`, one);
    }
    Object.assign(one, { key, hunk });
    Object.assign(one.thread, { range, label });
    if (one.body === body) return;
    const text = new vscode.MarkdownString(body);
    text.isTrusted = false;
    text.supportHtml = false;
    one.thread.comments = [{ body: text, mode: vscode.CommentMode.Preview, author: { name: 'Adjutant' } }];
    Object.assign(one, { body, since: Date.now() });
  };
  const remove = (name: string) => {
    drawn.get(name)?.thread.dispose();
    drawn.delete(name);
  };
  return {
    // The changes of one document that wait for an answer; without a change it need not be open.
    draw(of: string, document: vscode.TextDocument | undefined, hunks: ReviewHunk[]) {
      const views = threads(hunks);
      const wanted = views.map(({ key }) => `${of} ${key}`);
      [...drawn].filter(([name, one]) => one.of === of && !wanted.includes(name)).forEach(([name]) => remove(name));
      if (document) views.forEach((view) => draw(of, document, view));
    },
    // The change of a thread; nothing if it is gone, or for an approval that came before it could be read.
    of(thread: vscode.CommentThread | undefined, approves: boolean) {
      const one = [...drawn.values()].find((other) => other.thread === thread);
      return one && (!approves || Date.now() - one.since >= READ_MS) ? one.hunk : undefined;
    },
    dispose: () => controller.dispose(),
  };
}
