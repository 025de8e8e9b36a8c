// What a whole run looks like before it is undone or restored: its row in a list, the words of the warning, what was done.
// Never needs VS Code, so that it is tested without one.

import { line, shown, status } from './display';
import type { DecidedHunk, ReviewHunk, RewindPreview } from './wire';

export interface ListedRun { sessionId: string; runId: string; at: number; label: string; description: string }
type MadeHunk = ReviewHunk & Required<Pick<ReviewHunk, 'madeBy'>>;
type Choices = Pick<RewindPreview, 'choices' | 'restore'>;

const UNDOABLE = ['applied', 'amended', 'kept'];
const MOST_LINES = 14; // of a warning: a dialog has no scroll bar on every system
const MOST_CHARS = 200; // of one of its lines
const MAX_TITLE = 120; // of a choice

const count = (number: number, noun: string) => `${number} ${number === 1 ? noun : `${noun}s`}`;
const sum = <T>(some: T[], of: (one: T) => number) => some.reduce((total, one) => total + of(one), 0);

// The runs with changes that can be undone, or restored: the newest first.
export function runs(hunks: ReviewHunk[], restore: boolean): ListedRun[] {
  const all = new Map<string, { sessionId: string; runId: string; hunks: MadeHunk[] }>();
  const isMade = (one: ReviewHunk): one is MadeHunk => one.madeBy !== undefined;
  for (const hunk of hunks.filter(isMade).filter((one) => (restore ? one.state === 'undone' : UNDOABLE.includes(one.state)))) {
    const key = JSON.stringify([hunk.sessionId, hunk.runId]);
    const run = all.get(key) ?? { sessionId: hunk.sessionId, runId: hunk.runId, hunks: [] };
    run.hunks.push(hunk);
    all.set(key, run);
  }
  const listed = [...all.values()].map(({ sessionId, runId, hunks: made }) => {
    const { task, model } = made[0].madeBy;
    const sizes = `${count(made.length, 'change')} in ${count(new Set(made.map((hunk) => hunk.uri)).size, 'file')}`;
    const at = Math.max(...made.map((hunk) => hunk.madeBy.at));
    return { sessionId, runId, at, label: status(task, 80), description: status(`${sizes} · ${model}`, 120) };
  });
  return listed.sort((a, b) => b.at - a.at);
}

// Whether later runs of the same session are in the list too.
export const hasLater = (all: ListedRun[], run: ListedRun) => all.some((one) => one.sessionId === run.sessionId && one.at > run.at);

// The choices with short names: the buttons of a dialog stand in one row, which a narrow window cuts off.
export function buttons({ choices, restore }: Choices) {
  const verb = restore ? 'Restore' : 'Undo';
  return choices.map((choice) => ({ choice, label: choice.userLines ? `${verb} with My Lines` : verb }));
}

// The words of the warning: the sentence, and what it means file by file. Of more than it has room for, the sums.
export function warning({ lines: [first, ...rest], files, commandsRun, choices = [], restore = false }: Pick<RewindPreview, 'lines' | 'files' | 'commandsRun'> & Partial<Choices>) {
  const rows = rest.map((row) => line(row, MOST_CHARS)).map((row, at) => (rest[at].startsWith(' ') ? `• ${row}` : row));
  if (rows.length > MOST_LINES) {
    const left = sum(files, (file) => sum(file.left, (one) => one.hunks));
    const parts = [
      `kept before: ${sum(files, (file) => file.kept)}`, `with lines of yours: ${sum(files, (file) => file.userHunks)}`, `left: ${left}`,
      `commands not covered: ${commandsRun}`,
    ];
    const more = rows.splice(MOST_LINES - 2).length;
    rows.push(`… and ${count(more, 'more line')}. \`adjutant review undo --run\` at a terminal shows all.`, `All in all: ${parts.join(', ')}.`);
  }
  const means = buttons({ choices, restore }).map(({ choice, label }) => `${label}: ${line(choice.title, MAX_TITLE).replace(/^Yes, /u, '')}`);
  return { message: shown(first), detail: [...rows, ...(means.length ? ['', ...means] : [])].join('\n') };
}

// What became of a decision in one sentence, and whether anything was done.
export function outcome(restore: boolean, hunks: DecidedHunk[]) {
  const verb = restore ? 'restored' : 'undone';
  const refused = hunks.filter((hunk) => hunk.why);
  const text = refused.length
    ? `not ${verb}: ${refused.length} of ${count(hunks.length, 'change')}. The first reason: ${refused[0].why}.`
    : `${count(hunks.length, 'change')} ${verb}.`;
  return { text: line(text, 300), isWhole: !refused.length, isSome: refused.length < hunks.length };
}
