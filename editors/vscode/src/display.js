// What a text of others looks like where VS Code draws it: `display` of the server
// (`server/core/src/display.rs`), for what the extension shows by itself. Both are
// tested by the same table, `tests/corpus/display.jsonl`. Never needs VS Code.
'use strict';

// Control, bidirectional and invisible characters: text that holds one does not look like what it is.
const HIDDEN = /[\p{Cc}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
const MARK = /[\p{Mn}\p{Me}]/u;
const MAX_MARKS = 6;

const escaped = (c) => `\\u{${c.codePointAt(0).toString(16)}}`;

// Hidden characters, and marks without a letter or too many on one, are written `\u{..}`.
function shown(text) {
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
function withoutLinks(text) {
  const opened = /^(https?|command|file)$/iu;
  return text.replace(/\]\((?=\s*<*\s*([A-Za-z][A-Za-z0-9+.-]*):(.?))/gsu, (all, scheme, next) =>
    opened.test(scheme) || /[^:)…\s]/u.test(next) ? `]${escaped('(')}` : all);
}

// Icons, and what Vim's status line evaluates: its items are `%-0{minwid}.{maxwid}{item}`.
const withoutIcons = (text) => text.replace(/(?<=\$)\(|(?<=%-?[0-9]*\.?[0-9]*)[{@!]/gu, escaped);

function cut(text, limit) {
  const all = [...text];
  return all.length <= limit ? text : `${all.slice(0, limit - 1).join('')}…`;
}

// One line, for titles and menus.
const line = (text, limit) => cut(withoutLinks(shown(String(text)).trim().replace(/\s+/gu, ' ')), limit);
// One line of the status bar, where `$(name)` is an icon.
const status = (text, limit) => cut(withoutIcons(withoutLinks(shown(String(text)).trim().replace(/\s+/gu, ' '))), limit);

// White space at the end of a line, and white space that is not ASCII, as escapes: where each byte counts.
const withBlanks = (text) => text.replace(/[ \t]+$|[^\S\t\n\v\f\r ]/gu, (some) => [...some].map(escaped).join(''));

// A command, byte for byte.
const command = (text) => text.split('\n').map((one) => shown(withBlanks(one))).join('\n');

// The lines of a diff, each with its mark: ' ', '+', '-', '@' for the head of a part, '\\' for a note and '' for the head of the file. Where
// all lines end in CRLF, the CR is left out; where the ends differ, they are part of the change.
function diff(text) {
  const marks = [];
  let within = false;
  const raw = text.replace(/\n$/u, '').split('\n').map((one) => {
    within ||= one.startsWith('@@');
    marks.push(within && one ? one[0] : '');
    return one;
  });
  const isLine = (mark) => mark === ' ' || mark === '+' || mark === '-';
  const allCrlf = raw.every((one, at) => !isLine(marks[at]) || one.endsWith('\r'));
  return raw.map((one, at) => {
    const body = isLine(marks[at]) ? one.slice(1) : one;
    const own = allCrlf && isLine(marks[at]) ? body.replace(/\r$/u, '') : body;
    return { mark: marks[at], text: shown(marks[at] === '+' || marks[at] === '-' ? withBlanks(own) : own) };
  });
}

module.exports = { command, diff, line, shown, status };
