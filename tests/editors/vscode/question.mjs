// Tests what a card shows of a question, under node alone. Prints what is wrong.
//
//   node question.mjs QUESTION_JS
import { createRequire } from 'node:module';

const { cardOf } = createRequire(import.meta.url)(process.argv[2]);
const wrong = (what, is, wanted) => {
  const [got, want] = [is, wanted].map((one) => JSON.stringify(one));
  if (got !== want) console.log(`${what}: ${got} is not ${want}`);
};
const options = [
  { optionId: 'allow', name: 'Allow once', kind: 'allow_once', label: 'Yes, once' },
  { optionId: 'allow_always', name: 'Allow this line in this session', kind: 'allow_always', label: 'Yes, always…' },
  { optionId: 'reject', name: 'Reject', kind: 'reject_once', label: 'Reject' },
];
const ask = (subject, more) => ({ sessionId: 's', askId: 'a', kind: 'command', group: 'interactive', title: 'Run x', options, freeText: true, subject, ...more });
const labels = ({ options: all }) => all.map(({ label }) => label);
const heads = ({ parts }) => parts.map(({ head }) => head.map(({ text, ours }) => (ours ? text : `‹${text}›`)).join(' '));
const texts = ({ parts }) => parts.flatMap(({ lines }) => lines.map(({ mark, text }) => mark + text));

const command = cardOf(ask({ type: 'command', command: 'echo \u202ex \n\tls', cwd: '/w/a', timeoutSeconds: 60 }, { description: 'It is new\u200b.' }), '/w', false);
wrong('a command', texts(command), ['echo \\u{202e}x\\u{20}', '\tls']);
wrong('its place', heads(command), ['In ‹./a› · at most 60 s']);
wrong('why', command.why, 'It is new\\u{200b}.');
wrong('an approval is never the first', labels(command), ['Reject', 'Yes, once', 'Yes, always…']);
wrong('what always means', command.explained, ['“Yes, always…”: Allow this line in this session']);
wrong('words reject', command.words.optionId, 'reject');
wrong('the workspace folder', heads(cardOf(ask({ type: 'command', command: 'ls', cwd: '/w' }), '/w', false)), ['In the workspace folder']);
wrong('a folder that is called so', heads(cardOf(ask({ type: 'command', command: 'ls', cwd: '/w/the workspace folder\n' }), '/w', false)), ['In ‹./the workspace folder\\u{a}›']);
const file = { diff: '--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-a\n', path: 'x', uri: 'file:///x', newFile: false };
const named = (subject) => cardOf(ask(subject, { title: 'x'.repeat(3000) }), '/w', false).title.length;
wrong('a title is short where the whole follows, and whole elsewhere', [named({ type: 'edit', ...file }), named(undefined)], [80, 3000]);
wrong('a command is its own title', cardOf(ask({ type: 'command', command: 'ls', cwd: '/w' }), '/w', false).title, 'Run this command?');
const unsaved = { type: 'command', command: 'ls', cwd: '/w', unsaved: [{ path: 'a', uri: 'file:///w/a' }] };
const about = ({ why, warning }) => [why, warning];
wrong('what is not saved stands apart', about(cardOf(ask(unsaved, { description: 'every command asks. Not saved yet: a. The command sees it.' }), '/w', false)), ['Every command asks', 'Not saved yet: a. The command sees it.']);
wrong('without it the reason is one', about(cardOf(ask({ ...unsaved, unsaved: undefined }, { description: 'x. Not saved yet: a' }), '/w', false)), ['X. Not saved yet: a', '']);
const names = (files) => {
  const card = cardOf(ask({ type: 'edits', files }), '/w', false);
  return heads(card).map((head, at) => `${head} ${card.parts[at].lines.length}`);
};
const rename = 'similarity index 100%\nrename from x\nrename to z\n';
wrong('files', names([file, { ...file, newFile: true }, { ...file, diff: 'old mode 100644\nnew mode 100755\n' }, { ...file, diff: rename, operation: { kind: 'move', path: 'z\u202e', uri: 'file:///z' } }, { ...file, operation: { kind: 'delete' } }]), ['‹x› 2', '‹x› is new 2', '‹x› 2', '‹x› is moved to ‹z\\u{202e}› 0', '‹x› is deleted 2']);
wrong('a folder with the same begin', heads(cardOf(ask({ type: 'command', command: 'ls', cwd: '/work' }), '/w', false)), ['In ‹/work›']);

const crlf = { diff: '--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n', path: 'x', uri: 'file:///x', newFile: false };
const mixed = { ...crlf, diff: '--- a/y\n+++ b/y\n@@ -1 +1 @@\n-b\r\n+--c\n' };
wrong('line ends', texts(cardOf(ask({ type: 'edits', files: [crlf, mixed] }), '/w', false)), ['@line 1', ' a', '-b', '+c', '@line 1', '-b\\u{d}', '+--c']);

// Beyond each limit nothing can be allowed until it was opened, and *Show* is there.
const many = (count, width) => Array.from({ length: count }, () => 'x'.repeat(width)).join('\n');
for (const [what, line] of [['lines', many(401, 1)], ['a line', many(1, 1001)], ['characters', many(390, 110)]]) {
  const long = ask({ type: 'command', command: line, cwd: '/w' });
  const card = cardOf(long, '/w', false);
  wrong(`too long by ${what}`, [labels(card), card.shows, card.explained], [['Reject'], true, []]);
  if (texts(card).join('').length > 41_000) console.log(`too long by ${what}: ${texts(card).join('').length} characters are drawn`);
  wrong(`opened, too long by ${what}`, labels(cardOf(long, '/w', true)), ['Reject', 'Yes, once', 'Yes, always…']);
}
wrong('what just fits', labels(cardOf(ask({ type: 'command', command: many(400, 99), cwd: '/w' }), '/w', false)).length, 3);
const followup = cardOf({ ...ask(undefined), kind: 'followup', options: [{ optionId: 'option-1', name: 'The first of\u2066 two', kind: 'choose', label: 'The first of…' }] }, '/w', false);
wrong('a suggestion', [labels(followup), followup.words.optionId], [['The first of\\u{2066} two'], undefined]);
wrong('a name that the title has', heads(cardOf(ask({ type: 'edit', ...file }, { title: 'Edit x' }), '/w', false)), ['']);
