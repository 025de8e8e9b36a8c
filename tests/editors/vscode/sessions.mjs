// Checks what the extension makes of the list of conversations, without VS Code.
// Prints each problem, and nothing without problems.
import { createRequire } from 'node:module';

const { groups, warning, wrongTitle } = createRequire(import.meta.url)(process.argv[2]);
const is = (what, found, wanted) => {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) console.log(`${what}: ${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
};
const MINUTE = 60_000;
const now = new Date(2030, 4, 5, 12, 0).getTime();
const entry = (sessionId, minutes, more) => ({
  sessionId, title: `task ${sessionId}`, cwd: 'file:///w/a%20b', state: 'idle', updatedAt: now - minutes * MINUTE, openAsks: 0, turns: 2, ...more,
});
const seen = (entries) => groups(entries, now).map(({ title, rows }) => [title, rows.map((row) => `${row.title} | ${row.about}`)]);

is('no entries', seen([]), []);
is('the groups', seen([
  entry('old', 3 * 24 * 60), entry('yesterday', 13 * 60), entry('today', 11 * 60), entry('now', 0), entry('works', 2, { state: 'running' }),
  entry('asks', 5, { state: 'requires_action', openAsks: 1 }), entry('cut', 4000, { state: 'resumable' }),
]), [
  ['Needs you', ['task asks | waits for your answer · 5 min ago', 'task cut | was cut short · 2 days ago']],
  ['At work', ['task works | at work · 2 min ago']],
  ['Today', ['task now | just now', 'task today | 11 h ago']],
  ['Earlier', ['task yesterday | 13 h ago', 'task old | 3 days ago']],
]);
is('a day', seen([entry('a', 24 * 60)]), [['Earlier', ['task a | 1 day ago']]]);
is('a clock that went back', seen([entry('a', -5)]), [['Today', ['task a | just now']]]);
is('midnight', seen([entry('a', 12 * 60)]), [['Today', ['task a | 12 h ago']]]);
const asks = entry('a', 1, { state: 'requires_action', openAsks: 3, waitsFor: 'Run npm test', since: now - 2 * MINUTE });
is('a question', seen([asks]), [['Needs you', ['task a | Run npm test and 2 more · 2 min ago']]]);
is('since when it works', seen([entry('a', 1, { state: 'running', since: now - 61 * MINUTE })]), [['At work', ['task a | at work · 1 h ago']]]);
is('what is over', seen([entry('a', 1, { since: now - 9 * MINUTE })]), [['Today', ['task a | 1 min ago']]]);
is('to review', seen([entry('a', 1, { unreviewedHunks: 1 }), entry('b', 2, { unreviewedHunks: 4 })]), [['Today', ['task a | 1 change to review · 1 min ago', 'task b | 4 changes to review · 2 min ago']]]);
is('in another window', seen([entry('a', 1, { state: 'running', openIn: 7 })]), [['At work', ['task a | at work · open in another window · 1 min ago']]]);
is('damaged', seen([entry('a', 1, { damaged: 'line 3 is cut' })]), [['Today', ['task a | its log is damaged · 1 min ago']]]);
is('a state that is not known', seen([entry('a', 1, { state: 'dreaming' })]), [['Today', ['task a | 1 min ago']]]);
is('twice the same', seen([entry('a', 1), entry('a', 1)]), [['Today', ['task a | 1 min ago']]]);
is('without a title', seen([entry('a', 1, { title: ' ' })]), [['Today', ['Without a title | 1 min ago']]]);

const nasty = '$(trash) \u202e[x](command:quit)\nmore';
const drawn = '$\\u{28}trash) \\u{202e}[x]\\u{28}command:quit) more';
is('nothing is drawn raw', seen([entry('a', 1, { title: nasty, state: 'requires_action', openAsks: 1, waitsFor: nasty })]), [['Needs you', [`${drawn} | ${drawn} · 1 min ago`]]]);
const [{ rows: [row] }] = groups([entry('a', 1, { title: '$(x) \u202e\nb', damaged: 'x\u202e\ny' })], now);
is('the tooltip', row.tooltip, '$(x) \\u{202e} b\nIts log is damaged\nx\\u{202e} y\nIn /w/a b');
is('a folder that is no address', groups([entry('a', 1, { cwd: '%' })], now)[0].rows[0].tooltip, 'task a\nIn %');
is('icons', ['idle', 'none', 'running', 'requires_action', 'resumable', 'dreaming'].map((state) => groups([entry('a', 1, { state })], now)[0].rows[0].icon), ['comment', 'comment', 'sync', 'question', 'debug-pause', 'comment']);
is('what can be deleted', ['idle', 'none', 'running', 'requires_action', 'resumable'].map((state) => groups([entry('a', 1, { state })], now)[0].rows[0].kind), ['over', 'over', 'open', 'open', 'open']);

const stays = 'What it changed in your files stays, and can no longer be undone by Adjutant.';
is('warning', warning(entry('a', 1, { turns: 1 })), { message: 'Delete “task a”?', detail: `The conversation (1 turn) is gone for good.\n${stays}` });
is('what nobody reviewed', warning(entry('a', 1, { unreviewedHunks: 2 })).detail, `The conversation (2 turns) is gone for good.\n2 changes that nobody reviewed stay in the files, without Keep and Undo.\n${stays}`);
is('a warning has no links', warning(entry('a', 1, { title: nasty })).message, 'Delete “$(trash) \\u{202e}[x]\\u{28}command:quit) more”?');
is('no title', warning(entry('a', 1, { title: '' })).message, 'Delete the conversation without a title?');

is('titles', ['', ' ', 'x', ` ${'🚀'.repeat(200)} `, 'x'.repeat(201)].map(wrongTitle), ['Give at least one character.', 'Give at least one character.', undefined, undefined, 'Give at most 200 characters.']);
