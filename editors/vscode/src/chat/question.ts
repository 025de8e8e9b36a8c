// A question as the chat draws it: the whole of what it is about, and the answers, an approval never first.
// Never needs VS Code, and never offers an approval for what it does not draw whole, unless the whole was opened.

import { command, diff, type DiffLine, line, shown } from '../display';
import type { AskOption, AskSubject, AskView, OptionKind } from '../wire';

// What the page draws of a question.
export interface Part { kind: 'command' | 'diff' | 'path'; name?: string; lines: DiffLine[] }
export interface Answer { id: string; label: string; title: string; kind: OptionKind; approves: boolean }
export interface Card {
  id: string; title: string; why: string; parts: Part[]; of: number; opened: boolean; shows: boolean; options: Answer[]; explained: string[];
  words?: { optionId?: string; placeholder: string };
}

// What a card draws at most. A longer one is opened beside, and judged there.
const MOST_LINES = 400;
const MOST_CHARS = 40_000;
const MOST_WIDTH = 1_000; // characters of a line
const HEAD = 40; // lines of a longer one
const MOST_TITLE = 80;
const MOST_LABEL = 200; // characters of a suggestion

const linesOf = (text: string): DiffLine[] => command(text).split('\n').map((one) => ({ mark: '', text: one }));

// A folder as the user knows it. No name of a folder reads as the words for the root.
function placeOf(cwd: string, home: string | undefined) {
  if (cwd === home) return 'in the workspace folder';
  return `in ${home && cwd.startsWith(`${home}/`) ? `./${cwd.slice(home.length + 1)}` : cwd}`;
}

// What is asked about, part by part; each has its own name and lines.
function partsOf(subject: AskSubject | undefined, home: string | undefined): Part[] {
  switch (subject?.type) {
    case 'command': {
      const limit = subject.timeoutSeconds ? `, for at most ${subject.timeoutSeconds} s` : '';
      return [{ kind: 'command', name: `${command(placeOf(subject.cwd, home))}${limit}`, lines: linesOf(subject.command) }];
    }
    case 'edit': return [{ kind: 'diff', lines: diff(subject.diff) }];
    // File by file, because the line ends of one say nothing about another.
    case 'edits': return subject.files.map((file) => ({ kind: 'diff', lines: diff(file.diff) }));
    case 'read': return [{ kind: 'path', name: shown(subject.reason), lines: linesOf(subject.path) }];
    default: return [];
  }
}

// The first lines of parts that are too long.
function headOf(parts: Part[]) {
  let left = HEAD;
  const some = parts.map((part) => {
    const lines = part.lines.slice(0, left).map(({ mark, text }) => ({ mark, text: text.length > MOST_WIDTH ? `${text.slice(0, MOST_WIDTH)}…` : text }));
    left -= lines.length;
    return { ...part, lines };
  });
  return some.filter(({ lines }) => lines.length > 0);
}

// The title is the short form of what follows whole; without that it is the question itself.
const titleOf = (ask: AskView, parts: Part[]) => (parts.length > 0 ? line(ask.title, MOST_TITLE) : shown(ask.title));

// `home` is the path of the workspace folder; `opened` says that the whole was opened beside.
export function cardOf(ask: AskView, home: string | undefined, opened: boolean): Card {
  const all = partsOf(ask.subject, home);
  const lines = all.flatMap((part) => part.lines);
  const fits = lines.length <= MOST_LINES && lines.every(({ text }) => text.length <= MOST_WIDTH)
    && lines.reduce((sum, { text }) => sum + text.length, 0) <= MOST_CHARS;
  const isApproval = ({ kind }: AskOption) => kind === 'allow_once' || kind === 'allow_always';
  const optionOf = (option: AskOption): Answer => ({
    id: option.optionId,
    label: option.kind === 'choose' ? line(option.name, MOST_LABEL) : line(option.label ?? option.name, MOST_LABEL),
    title: shown(option.name),
    kind: option.kind,
    approves: isApproval(option),
  });
  const no = ask.options.filter((option) => !isApproval(option)).map(optionOf);
  const yes = ask.options.filter(isApproval).map(optionOf);
  const rejects = ask.options.find(({ kind }) => kind === 'reject_once')?.optionId;
  // A button has no room for what "always" would allow, or for what is saved first.
  const explained = yes.filter(({ kind, id }) => kind === 'allow_always' || id === 'save_and_run');
  return {
    id: ask.askId,
    // The end of the task says why it stands above.
    title: ask.group === 'idle' ? 'How to go on?' : titleOf(ask, all),
    why: ask.description && ask.description !== ask.title ? shown(ask.description) : '',
    parts: fits ? all : headOf(all),
    // Of one that does not fit: how many lines there are.
    of: fits ? 0 : lines.length,
    opened,
    shows: all.some(({ kind }) => kind === 'diff') || !fits,
    options: fits || opened ? [...no, ...yes] : no,
    explained: fits || opened ? explained.map(({ label, title }) => `“${label}” = ${title}`) : [],
    words: ask.freeText ? { optionId: rejects, placeholder: rejects ? 'Or reject it with a reason (Enter)' : 'Or answer in your words (Enter)' } : undefined,
  };
}
