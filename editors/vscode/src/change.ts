// What a change looks like in words and lines, from a hunk as the server sent it.
// Never needs VS Code, so that it is tested without one.

import { line, shown, status } from './display';
import type { DecidedHunk, HunkName, HunkState, Range, ReviewAction, ReviewDecideResult, ReviewHunk, ReviewTarget } from './wire';

export type Act = 'keep' | 'undo' | 'show' | 'comment' | 'send';
export interface Label { title: string; tooltip?: string; act?: Act }
export interface Thread { key: string; hunk: ReviewHunk; first: number; last: number; label: string; body: string; expanded: boolean }
export interface Decision { sessionId: string; targets: Required<ReviewTarget>[] }
export interface DecidedResult extends ReviewDecideResult { sessionId: string }
export interface ChangedFile { uri: string; path: string; hunks: ReviewHunk[]; about: string }
export interface DecisionOutcome { done: ReviewHunk[]; refused: { hunk: ReviewHunk; why: string }[] }
interface TextChange { range: Range; text: string }
type Lines = Pick<ReviewHunk, 'line' | 'endLine'>;

const MOST_LINES = 60; // of one side of a change in a hover
const MOST_COLUMNS = 200;
const MOST_COMMENT = 120; // characters of a comment next to its change

// The lines of a text with their line ends, as the server counts them.
const whole = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/gu) ?? [];
const linesOf = (text: string) => whole(text).map((one) => one.replace(/\r?\n$/u, ''));
const count = (text: string) => linesOf(text).length;
export const lines = (number: number) => `${number} ${number === 1 ? 'line' : 'lines'}`;

// The change by its ids, with what its lines were when it was drawn: a decision is only about these.
export const nameOf = ({ sessionId, changeSetId, hunkId, text, uri }: ReviewHunk) => ({ sessionId, changeSetId, hunkId, text, uri });
export const keyOf = ({ sessionId, changeSetId, hunkId }: HunkName) => JSON.stringify([sessionId, changeSetId, hunkId]);

export const decidable = ({ state }: { state: HunkState }) => state === 'applied' || state === 'amended';
// How many lines a change adds and removes, without a part that is zero.
export const plusMinus = (added: number, removed: number) => [added && `+${added}`, removed && `−${removed}`].filter(Boolean).join(' ') || '+0';
export const counts = (hunk: ReviewHunk) => plusMinus(count(hunk.text ?? hunk.inserted), count(hunk.removed));

// The labels above a change. `act` is what a press does; without it, the label is only text.
export function labels(hunk: ReviewHunk): Label[] {
  if (hunk.state === 'undoing') return [{ title: 'Undoing…' }];
  if (hunk.state === 'applying') return [{ title: 'Applying…' }];
  if (!decidable(hunk)) return [];
  const yours = hunk.state === 'amended' ? hunk.userLines ?? 0 : 0;
  return [
    { title: 'Keep', tooltip: yours > 0 ? `Keep this change as it is now, with your ${lines(yours)}` : 'Keep this change', act: 'keep' },
    yours > 0
      ? { title: `Undo (with your ${lines(yours)})`, tooltip: 'Put back the text before this change. What you wrote into it goes too', act: 'undo' }
      : { title: 'Undo', tooltip: 'Put back the text before this change', act: 'undo' },
    { title: `Show ${counts(hunk)}`, tooltip: 'Show the text before this change next to the text of now', act: 'show' },
    ...commentLabels(hunk),
  ];
}

// What is pressed to write a comment on a change, and to send it.
function commentLabels({ comment }: ReviewHunk): Label[] {
  if (!comment) return [{ title: 'Comment', tooltip: 'Write a comment for the agent. It waits until you send your comments', act: 'comment' }];
  return [
    { title: 'Comment', tooltip: 'Change your comment, or empty it to take it back', act: 'comment' },
    { title: 'Send', tooltip: 'Send all comments that wait, as one round', act: 'send' },
  ];
}

// How many comments wait in each session.
export function commented(hunks: ReviewHunk[]) {
  const sessions = new Map<string, number>();
  hunks.filter((hunk) => hunk.comment).forEach(({ sessionId }) => sessions.set(sessionId, (sessions.get(sessionId) ?? 0) + 1));
  return sessions;
}

// The comment itself, next to the first line of its change.
export const remark = ({ comment }: ReviewHunk) => (comment ? `“${line(comment, MOST_COMMENT)}”` : undefined);

export const comments = (number: number) => `${number} ${number === 1 ? 'comment' : 'comments'}`;

// Lines with a mark in front, hidden characters written out.
const allMarked = (text: string, mark: string) => linesOf(text).map((one) => mark + shown(one));

// As before, but at most what a hover has room for.
function marked(text: string, mark: string) {
  const all = allMarked(text, mark);
  const drawn = all.slice(0, MOST_LINES).map((one) => {
    const letters = [...one];
    return letters.length > MOST_COLUMNS ? `${letters.slice(0, MOST_COLUMNS).join('')}…` : one;
  });
  if (all.length > MOST_LINES) drawn.push(`… ${lines(all.length - MOST_LINES)} more`);
  return drawn;
}

// A code block that its text cannot close.
export function fenced(text: string, language = '') {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

// What a hover over a change says: what was there before, and who made it. All of it stands in code
// blocks, because it comes from a model and from files.
export function hover(hunk: ReviewHunk) {
  const before = marked(hunk.removed, '-');
  const after = hunk.text === undefined ? [] : marked(hunk.inserted, '+');
  const made = hunk.madeBy;
  const prompts = made?.prompts ?? [];
  const asked = prompts.length === 1 && prompts[0] === made?.task ? [] : prompts.map((text): [string, string] => ['Prompt', text]);
  if (made?.promptsLeftOut && asked.length) asked.splice(1, 0, ['', `(${made.promptsLeftOut} more prompts)`]);
  const facts: [string, string | undefined][] = [
    ['Task', made?.task], ...asked, ['Model', made?.model], ['Allowed by', made?.allowedBy], ['Note', made?.mark],
    ['Yours', hunk.userLines ? lines(hunk.userLines) : undefined], ['Comment', hunk.comment],
  ];
  const rows = facts.filter(([, value]) => value).map(([label, value]) => `${label.padEnd(12)}${line(value, 300)}`);
  const blocks: string[] = [];
  if (before.length + after.length) blocks.push(fenced([...before, ...after].join('\n'), 'diff'));
  if (rows.length) blocks.push(fenced(rows.join('\n'), 'text'));
  return blocks.join('\n\n---\n\n');
}

// The threads of comments that show proposed changes: whole, the first one open.
export function threads(hunks: ReviewHunk[]): Thread[] {
  return hunks.filter((hunk) => hunk.state === 'proposed').map((hunk, number) => ({
    key: keyOf(hunk),
    hunk,
    first: hunk.line,
    last: Math.max(hunk.line, (hunk.endLine ?? hunk.line) - 1),
    label: `Change ${counts(hunk)}`,
    // Without a line that is not drawn, the scrollbar covers the last one; one that is empty is left out.
    body: fenced([...allMarked(hunk.removed, '-'), ...allMarked(hunk.inserted, '+'), '\u00a0'].join('\n'), 'diff'),
    expanded: number === 0,
  }));
}

// Where a hunk is after the user typed. VS Code moves what is drawn in the same way, until the server says more.
export function moved(hunks: ReviewHunk[], changes: readonly TextChange[]): ReviewHunk[] {
  return hunks.map((hunk) => {
    let { line: first, endLine: end = NaN } = hunk;
    for (const { range, text } of changes) {
      const more = text.split('\n').length - 1 - (range.end.line - range.start.line);
      const above = range.end.line < first || (range.end.line === first && range.end.character === 0);
      if (above) first += more;
      if (above || range.start.line < end) end += more;
    }
    return { ...hunk, line: Math.max(0, first), endLine: Math.max(0, first, end) };
  });
}

// The hunk whose lines hold a line. One that only removed lines is at the line after them.
export function at(hunks: ReviewHunk[], lineNumber: number) {
  return hunks.find((hunk) => lineNumber >= hunk.line && lineNumber < (hunk.endLine ?? NaN))
    ?? hunks.find((hunk) => hunk.line === hunk.endLine && (lineNumber === hunk.line || lineNumber === hunk.line - 1));
}

// The first line of the change after a line, or before it; around the end of the file.
export function next(hunks: Lines[], lineNumber: number, back = false) {
  const starts = hunks.map((hunk) => hunk.line).sort((a, b) => a - b);
  return back
    ? starts.findLast((start) => start < lineNumber) ?? starts.at(-1)
    : starts.find((start) => start > lineNumber) ?? starts[0];
}

// A text with other lines in the place of one change; all others stay.
function replaced(text: string, { line: first, endLine }: Lines, by: string) {
  const all = whole(text);
  const ends = text.includes('\r\n') ? '\r\n' : '\n';
  return [...all.slice(0, first), by.replace(/\r?\n/gu, ends), ...all.slice(endLine)].join('');
}

// The text before one change.
export const before = (text: string, hunk: ReviewHunk) => replaced(text, hunk, hunk.removed);

// The text as the agent made it, without what the user wrote into one change.
export const agents = (text: string, hunk: ReviewHunk) => replaced(text, hunk, hunk.formatted ?? hunk.inserted);

// The decisions in the order of the hunks. The server decides one session at a time, so neighbours of one session are one decision.
export function targets(hunks: Pick<ReviewHunk, 'sessionId' | 'changeSetId' | 'hunkId' | 'text'>[]) {
  const decisions: Decision[] = [];
  for (const hunk of hunks) {
    let decision = decisions.at(-1);
    if (decision?.sessionId !== hunk.sessionId) decisions.push(decision = { sessionId: hunk.sessionId, targets: [] });
    let target = decision.targets.find((one) => one.changeSetId === hunk.changeSetId);
    if (!target) decision.targets.push(target = { changeSetId: hunk.changeSetId, hunkIds: [], seen: {} });
    target.hunkIds.push(hunk.hunkId);
    if (hunk.text !== undefined) target.seen[hunk.hunkId] = hunk.text;
  }
  return decisions;
}

// A hunk with those that stand on it, as far as they are known. These have to be undone with it.
export function withThoseOn(hunk: ReviewHunk, known: ReviewHunk[]) {
  const all = [hunk];
  for (const one of all) {
    for (const name of one.beneath ?? []) {
      const found = known.find((other) => keyOf(other) === keyOf(name));
      if (found && !all.includes(found)) all.push(found);
    }
  }
  return all;
}

// The same hunks with the newest first: a later change can stand on an earlier one, and goes before it.
export function newestFirst(hunks: ReviewHunk[]) {
  return [...hunks].sort((one, other) => (other.madeBy?.at ?? 0) - (one.madeBy?.at ?? 0));
}

// The file that a change is listed under: after a move, the new name.
export const placeOf = ({ operation, uri, path }: Pick<ReviewHunk, 'operation' | 'uri' | 'path'>) => (operation?.kind === 'move' ? operation : { uri, path });

// How many lines a change takes and gives; nothing where there are no lines, as in a move.
export const size = (hunk: ReviewHunk) => (hunk.operation?.kind === 'move' ? '' : counts(hunk));

// The files of a list of hunks, in its order, each with its hunks from top to bottom.
export function files(hunks: ReviewHunk[]): ChangedFile[] {
  const all = new Map<string, Omit<ChangedFile, 'about'>>();
  for (const hunk of hunks.filter((one) => one.madeBy && decidable(one))) {
    const { uri, path } = placeOf(hunk);
    const file = all.get(uri) ?? { uri, path, hunks: [] };
    file.hunks.push(hunk);
    all.set(uri, file);
  }
  return [...all.values()].map((file) => {
    const sum = (of: (hunk: ReviewHunk) => string) => file.hunks.reduce((total, hunk) => total + count(of(hunk)), 0);
    file.hunks.sort((a, b) => a.line - b.line);
    const changes = file.hunks.length === 1 ? '1 change' : `${file.hunks.length} changes`;
    const sizes = file.hunks.some(size) ? `${plusMinus(sum((one) => one.text ?? one.inserted), sum((one) => one.removed))} · ` : '';
    return { ...file, about: sizes + changes };
  });
}

// One line for a hunk in a list: what it does with its file, or what it inserts, or else what it removes.
export function title(hunk: ReviewHunk) {
  if (hunk.operation) return status(hunk.operation.kind === 'move' ? `moved from ${hunk.path}` : 'deleted', 80);
  const inserted = linesOf(hunk.text ?? hunk.inserted).find((one) => one.trim());
  const removed = linesOf(hunk.removed).find((one) => one.trim());
  return status(inserted ?? (removed ? `− ${removed}` : 'empty lines'), 80);
}

// What is not in a file because it was closed without saving it.
export function lost(hunks: ReviewHunk[]) {
  const which = hunks.length === 1 ? '1 change' : `${hunks.length} changes`;
  return line(`${which} in ${hunks[0].path} not applied: closed without saving`, 300);
}

// The states in which a change is as it was decided.
const GOALS: Partial<Record<ReviewAction, HunkState[]>> = { keep: ['kept'], undo: ['undone'], restore: ['applied', 'amended'], apply: ['applying', 'applied'], reject: ['rejected'] };

// What became of hunks: those that are as decided, and the others, each with the reason. A hunk without an answer is not done.
export function outcome(hunks: ReviewHunk[], results: DecidedResult[], action: ReviewAction): DecisionOutcome {
  const answers = new Map(results.flatMap(({ sessionId, hunks: all }) => all.map((hunk): [string, DecidedHunk] => [keyOf({ ...hunk, sessionId }), hunk])));
  const all = hunks.map((hunk) => ({ hunk, answer: answers.get(keyOf(hunk)) }));
  const isDone = ({ answer }: { answer: DecidedHunk | undefined }) => answer !== undefined && !answer.why && GOALS[action]?.includes(answer.state) === true;
  return {
    done: all.filter(isDone).map(({ hunk }) => hunk),
    refused: all.filter((one) => !isDone(one)).map(({ hunk, answer }) => ({ hunk, why: answer?.why ?? 'it is in another state now; look at it again' })),
  };
}

const DONE: Partial<Record<ReviewAction, string>> = { keep: 'kept', undo: 'undone', restore: 'restored', apply: 'applied', reject: 'rejected' };

// What was not done, in one sentence; nothing if all was.
export function refusal({ done, refused }: DecisionOutcome, action: ReviewAction) {
  if (!refused.length) return undefined;
  const what = DONE[action];
  const names = refused.map(({ hunk }) => `“${title(hunk)}”`).join(' and ');
  const alone = done.length ? names : 'this change';
  const which = refused.length === 1 ? alone : refused.length === 2 ? names : `${refused.length} changes`;
  const others = done.length ? ` (${done.length === 1 ? 'the other one was' : `${done.length} others were`})` : '';
  return line(`${which} ${refused.length === 1 ? 'was' : 'were'} not ${what}${others}: ${refused[0].why}`, 300);
}
