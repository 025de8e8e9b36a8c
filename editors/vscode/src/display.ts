// What a text of others looks like where VS Code draws it: `display` of the server
// (`server/core/src/display.rs`), for what the extension shows by itself. Both are
// tested by the same table, `tests/corpus/display.jsonl`. Never needs VS Code.

// Control, bidirectional and invisible characters: text that holds one does not look like what it is.
const HIDDEN = /[\p{Cc}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
const MARK = /[\p{Mn}\p{Me}]/u;
const MAX_MARKS = 6;

const escaped = (c: string) => `\\u{${c.codePointAt(0)?.toString(16)}}`;

// Hidden characters, and marks without a letter or too many on one, are written `\u{..}`.
export function shown(text: string) {
  let out = '';
  let marks = MAX_MARKS;
  for (const c of text) {
    if (MARK.test(c) && !HIDDEN.test(c)) {
      marks += 1;
      out += marks <= MAX_MARKS ? c : escaped(c);
      continue;
    }
    marks = /[\s!-/:-@[-`{-~]/u.test(c) || HIDDEN.test(c) ? MAX_MARKS : 0;
    out += HIDDEN.test(c) && c !== '\n' && c !== '\t' ? escaped(c) : c;
  }
  return out;
}

// VS Code draws `[label](href)` in notifications as its label alone, and opens commands.
function withoutLinks(text: string) {
  const opened = /^(https?|command|file)$/iu;
  return text.replace(/\]\((?=\s*<*\s*([A-Za-z][A-Za-z0-9+.-]*):(.?))/gsu, (all: string, scheme: string, next: string) =>
    opened.test(scheme) || /[^:)…\s]/u.test(next) ? `]${escaped('(')}` : all);
}

// Icons, and what Vim's status line evaluates: its items are `%-0{minwid}.{maxwid}{item}`.
const withoutIcons = (text: string) => text.replace(/(?<=\$)\(|(?<=%-?[0-9]*\.?[0-9]*)[{@!]/gu, escaped);

function cut(text: string, limit: number) {
  const all = [...text];
  return all.length <= limit ? text : `${all.slice(0, limit - 1).join('')}…`;
}

// One line, for titles and menus.
export const line = (text: unknown, limit: number) => cut(withoutLinks(shown(String(text)).trim().replace(/\s+/gu, ' ')), limit);
// One line of the status bar, where `$(name)` is an icon.
export const status = (text: unknown, limit: number) => cut(withoutIcons(withoutLinks(shown(String(text)).trim().replace(/\s+/gu, ' '))), limit);

// White space at the end of a line, and white space that is not ASCII, as escapes: where each byte counts.
const withBlanks = (text: string) => text.replace(/[ \t]+$|[^\S\t\n\v\f\r ]/gu, (some) => [...some].map(escaped).join(''));

// A command, byte for byte.
export const command = (text: string) => text.split('\n').map((one) => shown(withBlanks(one))).join('\n');

// The lines of a diff, each with its mark: ' ', '+', '-', '@' for the head of a part, '\\' for a note and '' for the head of the file. Where
// all lines end in CRLF, the CR is left out; where the ends differ, they are part of the change.
export interface DiffLine { mark: string; text: string }

export function diff(text: string): DiffLine[] {
  const marks: string[] = [];
  let within = false;
  const raw = text.replace(/\n$/u, '').split('\n').map((one) => {
    within ||= one.startsWith('@@');
    marks.push(within && one ? one[0] : '');
    return one;
  });
  const isLine = (mark: string) => mark === ' ' || mark === '+' || mark === '-';
  const allCrlf = raw.every((one, at) => !isLine(marks[at]) || one.endsWith('\r'));
  return raw.map((one, at) => {
    const body = isLine(marks[at]) ? one.slice(1) : one;
    const own = allCrlf && isLine(marks[at]) ? body.replace(/\r$/u, '') : body;
    return { mark: marks[at], text: shown(marks[at] === '+' || marks[at] === '-' ? withBlanks(own) : own) };
  });
}

const PART = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,(\d+))? @@(.*)$/u;
const NO_END = '\\ No newline at end of file';

// The same lines with their places in words instead of those of a patch.
export const inWords = (lines: DiffLine[]): DiffLine[] => lines.map(({ mark, text }) => {
  const [all, before, after, count, rest] = (mark === '@' && PART.exec(text)) || [];
  if (all) return { mark, text: `line ${count === '0' ? before : after}${rest}` };
  return { mark, text: mark === '\\' && text === NO_END ? 'no line break at the end' : text };
});
