// A question as the chat draws it: the whole of what it is about, and the answers, an approval never first.
// Never needs VS Code, and never offers an approval for what it does not draw whole, unless the whole was opened.

import { command, diff, type DiffLine, inWords, line, shown } from '../display';
import type { AskOption, AskSubject, AskView, EditedFile, OptionKind } from '../wire';

// What the page draws of a question.
export interface Part { kind: 'command' | 'diff' | 'path'; head: Words[]; lines: DiffLine[] }
// A part of a sentence: a name of others never looks like a word of ours.
export interface Words { text: string; ours: boolean }
export interface Answer { id: string; label: string; title: string; kind: OptionKind; approves: boolean }
export interface Card {
  id: string; title: string; why: string; warning: string; parts: Part[]; of: number; opened: boolean; shows: boolean; options: Answer[]; explained: string[];
  words?: { optionId?: string; placeholder: string };
}

// What a card draws at most. A longer one is opened beside, and judged there.
const MOST_LINES = 400;
const MOST_CHARS = 40_000;
const MOST_WIDTH = 1_000; // characters of a line
const HEAD = 40; // lines of a longer one
const MOST_TITLE = 80;
const UNSAVED = '. Not saved yet: '; // begins what the server says of the files that are not saved
const MOST_LABEL = 200; // characters of a suggestion

const linesOf = (text: string): DiffLine[] => command(text).split('\n').map((one) => ({ mark: '', text: one }));

const ours = (text: string): Words => ({ text, ours: true });
const name = (text: string): Words => ({ text: command(text).replaceAll('\n', '\\u{a}'), ours: false });

// A folder as the user knows it.
function placeOf(cwd: string, home: string | undefined) {
  if (cwd === home) return [ours('In the workspace folder')];
  return [ours('In'), name(home && cwd.startsWith(`${home}/`) ? `./${cwd.slice(home.length + 1)}` : cwd)];
}

// What `fileOf` says in words.
const FILE_HEAD = /^(?:--- |\+\+\+ |similarity index |rename from |rename to |deleted file mode |new file mode )/u;

function fileOf({ path, newFile, operation }: EditedFile) {
  switch (operation?.kind) {
    case 'delete': return [name(path), ours('is deleted')];
    case 'move': return [name(path), ours('is moved to'), name(operation.path)];
    default: return newFile ? [name(path), ours('is new')] : [name(path)];
  }
}

function partOf(file: EditedFile): Part {
  return { kind: 'diff', head: fileOf(file), lines: inWords(diff(file.diff)).filter(({ mark, text }) => mark !== '' || !FILE_HEAD.test(text)) };
}

// What is asked about, part by part; each has its own name and lines.
function partsOf(subject: AskSubject | undefined, home: string | undefined): Part[] {
  switch (subject?.type) {
    case 'command': {
      const limit = subject.timeoutSeconds ? [ours(`· at most ${subject.timeoutSeconds} s`)] : [];
      return [{ kind: 'command', head: [...placeOf(subject.cwd, home), ...limit], lines: linesOf(subject.command) }];
    }
    case 'edit': return [partOf(subject)];
    // File by file, because the line ends of one say nothing about another.
    case 'edits': return subject.files.map(partOf);
    case 'read': return [{ kind: 'path', head: [ours(sentence(subject.reason))], lines: linesOf(subject.path) }];
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
function titleOf(ask: AskView, parts: Part[]) {
  if (parts.some(({ kind }) => kind === 'command')) return 'Run this command?';
  return parts.length > 0 ? line(ask.title, MOST_TITLE) : shown(ask.title);
}

const sentence = (text: string) => shown(text.slice(0, 1).toUpperCase() + text.slice(1));

// Why it is asked, and what the user should know before: which files a command does not see as they are on the screen.
function reasonsOf({ title, description = '', subject }: AskView) {
  if (description === title) return { why: '', warning: '' };
  const at = subject?.type === 'command' && subject.unsaved?.length ? description.indexOf(UNSAVED) : -1;
  return at < 0 ? { why: sentence(description), warning: '' } : { why: sentence(description.slice(0, at)), warning: shown(description.slice(at + 2)) };
}

// `home` is the path of the workspace folder; `opened` says that the whole was opened beside.
export function cardOf(ask: AskView, home: string | undefined, opened: boolean): Card {
  const title = line(ask.title, MOST_TITLE);
  const named = partsOf(ask.subject, home);
  const isInTitle = ({ kind, head }: Part) => kind === 'diff' && head.length === 1 && title.endsWith(` ${head[0].text}`);
  const all = named.length === 1 && isInTitle(named[0]) ? [{ ...named[0], head: [] }] : named;
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
    ...reasonsOf(ask),
    parts: fits ? all : headOf(all),
    // Of one that does not fit: how many lines there are.
    of: fits ? 0 : lines.length,
    opened,
    shows: all.some(({ kind }) => kind === 'diff') || !fits,
    options: fits || opened ? [...no, ...yes] : no,
    explained: fits || opened ? explained.map(({ label, title }) => `“${label}”: ${title}`) : [],
    words: ask.freeText ? { optionId: rejects, placeholder: rejects ? 'Or say why not' : 'Or your own answer' } : undefined,
  };
}
