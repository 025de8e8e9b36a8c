// What a conversation looks like where several are listed: its group, its row, and the warning before it is deleted.
// Never needs VS Code, so that it is tested without one.

import { line, status } from './display';
import type { SessionEntry } from './wire';

const MAX_TITLE = 80;
const MAX_OWN_TITLE = 200;
const MAX_WAITS = 80;
const MAX_TOOLTIP = 300; // of each line
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// In the order of the list. A server that is newer may know more states, which count as idle.
const GROUPS = [['needs', 'Needs you'], ['work', 'At work'], ['today', 'Today'], ['earlier', 'Earlier']];
// States in which something is left to do.
export const OPEN = ['requires_action', 'resumable', 'running'];
const ICONS: Partial<Record<string, string>> = { running: 'sync', requires_action: 'question', resumable: 'debug-pause' };

const count = (number: number, noun: string) => `${number} ${number === 1 ? noun : `${noun}s`}`;

function ago(then: number, now: number) {
  const gone = Math.max(0, now - then);
  if (gone < MINUTE) return 'just now';
  if (gone < HOUR) return `${Math.floor(gone / MINUTE)} min ago`;
  if (gone < DAY) return `${Math.floor(gone / HOUR)} h ago`;
  return `${count(Math.floor(gone / DAY), 'day')} ago`;
}

function groupOf({ state, updatedAt }: SessionEntry, now: number) {
  if (state === 'requires_action' || state === 'resumable') return 'needs';
  if (state === 'running') return 'work';
  return updatedAt >= new Date(now).setHours(0, 0, 0, 0) ? 'today' : 'earlier';
}

// What the user should know of it at a glance.
function waitingFor({ state, damaged, openAsks, waitsFor, unreviewedHunks = 0 }: SessionEntry) {
  if (damaged) return 'its log is damaged';
  if (state === 'requires_action') {
    const first = waitsFor ? status(waitsFor, MAX_WAITS) : 'waits for your answer';
    return openAsks > 1 ? `${first} and ${openAsks - 1} more` : first;
  }
  if (state === 'resumable') return 'was cut short';
  if (state === 'running') return 'at work';
  return unreviewedHunks ? `${count(unreviewedHunks, 'change')} to review` : undefined;
}

// Its title, what it waits for and since when, wherever it is listed.
export function row(entry: SessionEntry, now: number) {
  const title = status(entry.title, MAX_TITLE) || 'Without a title';
  const waits = waitingFor(entry);
  const isOpen = OPEN.includes(entry.state);
  // Of what is open, since when it is so; else when something last happened.
  const when = ago((isOpen && entry.since) || entry.updatedAt, now);
  const about = [entry.title || title, waits && `${waits[0].toUpperCase()}${waits.slice(1)}`, entry.damaged, `In ${folderOf(entry.cwd)}`];
  return {
    id: entry.sessionId,
    entry,
    title,
    about: [waits, entry.openIn && 'open in another window', when].filter(Boolean).join(' · '),
    icon: entry.damaged ? 'warning' : ICONS[entry.state] ?? 'comment',
    tooltip: about.filter(Boolean).map((one) => line(one, MAX_TOOLTIP)).join('\n'),
    // Only what is over can be deleted.
    kind: isOpen ? 'open' : 'over',
  };
}

function folderOf(cwd: string) {
  try {
    return decodeURIComponent(new URL(cwd).pathname);
  } catch {
    return cwd;
  }
}

// The groups that are not empty, each with its rows, the newest first.
export function groups(entries: SessionEntry[], now: number) {
  const newest = [...new Map(entries.map((entry) => [entry.sessionId, entry])).values()].sort((a, b) => b.updatedAt - a.updatedAt);
  return GROUPS.map(([name, title]) => ({
    id: `group ${name}`,
    title,
    rows: newest.filter((entry) => groupOf(entry, now) === name).map((entry) => row(entry, now)),
  })).filter(({ rows }) => rows.length);
}

// The words of the question before a conversation is deleted: what goes, and what stays.
export function warning({ title, unreviewedHunks = 0, turns }: Pick<SessionEntry, 'title' | 'unreviewedHunks' | 'turns'>) {
  const named = line(title, MAX_TITLE);
  const lost = [`The conversation (${count(turns, 'turn')}) is gone for good.`];
  if (unreviewedHunks) lost.push(`${count(unreviewedHunks, 'change')} that nobody reviewed ${unreviewedHunks === 1 ? 'stays' : 'stay'} in the files, without Keep and Undo.`);
  lost.push('What it changed in your files stays, and can no longer be undone by Adjutant.');
  return { message: named ? `Delete “${named}”?` : 'Delete the conversation without a title?', detail: lost.join('\n') };
}

// What is wrong with a title that the user writes, as far as it is seen here; the server judges the rest.
export function wrongTitle(title: string) {
  const text = title.trim();
  if (!text) return 'Give at least one character.';
  if ([...text].length > MAX_OWN_TITLE) return `Give at most ${MAX_OWN_TITLE} characters.`;
  return undefined;
}
