// The lines of a change as the chat draws them when it is unfolded, from its parts as the server lists them.
// Never needs VS Code, and never cuts without saying so.

import { diff, type DiffLine, inWords } from '../display';
import type { ReviewHunk } from '../wire';

export type ChangeLines = { lines: DiffLine[]; left: number } | { problem: string };

const MOST_LINES = 400;
const MOST_WIDTH = 1_000; // characters of a line

const cut = (text: string) => (text.length > MOST_WIDTH ? `${text.slice(0, MOST_WIDTH)}…` : text);
// What the user wrote into a part, as lines of their own: the diff is the agent's.
const yours = ({ state, userLines }: ReviewHunk): DiffLine[] => (state === 'amended' && userLines ? [{ mark: '', text: `then ${userLines === 1 ? '1 line' : `${userLines} lines`} by you` }] : []);

// The head of the file says what the line above the diff says already.
const partOf = (hunk: ReviewHunk) => [...inWords(diff(hunk.diff)).filter(({ mark }) => mark !== ''), ...yours(hunk)];

// The lines in the order of the file, at most as many as a person reads in a side bar; `left` says how many more there are.
export function linesOf(hunks: ReviewHunk[]): ChangeLines {
  if (hunks.length === 0) return { problem: 'The server does not have the lines of this change any more.' };
  const all = [...hunks].sort((one, other) => one.line - other.line).flatMap(partOf);
  // A move, or a file without a line.
  if (all.length === 0) return { problem: hunks[0].operation?.kind === 'move' ? 'The file was moved; no line of it changed.' : 'The file has no lines.' };
  const lines = all.slice(0, MOST_LINES).map(({ mark, text }) => ({ mark, text: cut(text) }));
  return { lines, left: all.length - lines.length };
}
