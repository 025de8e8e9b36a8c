// Checks what the extension makes of hunks, without VS Code.
// Prints each problem, and nothing without problems.
import { createRequire } from 'node:module';

const change = createRequire(import.meta.url)(process.argv[2]);
const is = (what, found, wanted) => {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) console.log(`${what}: ${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
};
const hunk = (more) => ({
  sessionId: 's', changeSetId: 'c', hunkId: '1', state: 'applied', uri: 'file:///a.txt', path: 'a.txt',
  line: 1, endLine: 2, removed: 'one\ntwo\n', inserted: 'both\n', userLines: 0, beneath: [],
  madeBy: { task: 'join', model: 'p/m', allowedBy: 'a rule' }, ...more,
});
const titles = (one) => change.labels(one).map(({ title }) => title);

is('labels', titles(hunk()), ['Keep', 'Undo', 'Show +1 −2', 'Comment']);
is('labels of an amended one', titles(hunk({ state: 'amended', text: 'both\nmine\nours\n', userLines: 2 })), ['Keep', 'Undo (with your 2 lines)', 'Show +3 −2', 'Comment']);
is('labels of a commented one', titles(hunk({ comment: 'no' })).slice(3), ['Comment', 'Send']);
is('a comment', [change.remark(hunk()), change.remark(hunk({ comment: `use\u202e words,\n${'x'.repeat(199)}` }))], [undefined, `“use\\u{202e} words, ${'x'.repeat(100)}…”`]);
is('comments of each session', [...change.commented([hunk({ comment: 'a' }), hunk(), hunk({ comment: 'b' }), hunk({ sessionId: 't', comment: 'c' })])], [['s', 2], ['t', 1]]);
is('nothing to press meanwhile', change.labels(hunk({ state: 'undoing' })), [{ title: 'Undoing…' }]);
is('nothing for what is over', titles(hunk({ state: 'kept' })), []);

is('lost', [change.lost([hunk()]), change.lost([hunk({ path: 'a\u202e.txt' }), hunk()])], ['1 change in a.txt not applied: closed without saving', '2 changes in a\\u{202e}.txt not applied: closed without saving']);
is('before', change.before('a\nboth\nz\n', hunk()), 'a\none\ntwo\nz\n');
is("the agent's", [change.agents('a\nmine\nz\n', hunk({ text: 'mine\n' })), change.agents('a\r\nmine\r\n', hunk({ formatted: 'b oth\n' }))], ['a\nboth\nz\n', 'a\r\nb oth\r\n']);
is('before, at the end', change.before('a\nboth', hunk({ removed: 'one\ntwo' })), 'a\none\ntwo');
is('before, only removed', change.before('a\nz\n', hunk({ endLine: 1 })), 'a\none\ntwo\nz\n');
is('before, removed at the end', change.before('a\n', hunk({ endLine: 1 })), 'a\none\ntwo\n');
is('before, line ends of Windows', change.before('a\r\nboth\r\nz', hunk()), 'a\r\none\r\ntwo\r\nz');
is('before, an empty file', change.before('', hunk({ line: 0, endLine: 0 })), 'one\ntwo\n');

const typed = (from, to, text) => [{ range: { start: { line: from[0], character: from[1] }, end: { line: to[0], character: to[1] } }, text }];
const places = (some, changes) => change.moved(some, changes).map(({ line, endLine }) => [line, endLine]);
const two = [hunk({ line: 2, endLine: 4 }), hunk({ line: 6, endLine: 6 })];
is('typed above', places(two, typed([0, 0], [0, 0], 'x\n')), [[3, 5], [7, 7]]);
is('typed right above', places(two, typed([2, 0], [2, 0], 'x\n')), [[3, 5], [7, 7]]);
is('typed inside', places(two, typed([2, 3], [2, 3], '\n\n')), [[2, 6], [8, 8]]);
is('typed between', places(two, typed([4, 3], [4, 3], '\n')), [[2, 4], [7, 7]]);
is('typed below', places(two, typed([6, 1], [6, 1], '\n')), [[2, 4], [6, 6]]);
is('removed above and into it', places(two, typed([0, 0], [3, 0], '')), [[2, 2], [3, 3]]);

is('at', [1, 2, 4, 5, 6, 7].map((line) => two.indexOf(change.at(two, line))), [-1, 0, -1, 1, 1, -1]);
is('next', [0, 2, 6].map((line) => change.next(two, line)), [2, 6, 2]);
is('previous', [0, 2, 6, 9].map((line) => change.next(two, line, true)), [6, 6, 2, 6]);

// A decision is about the text that was drawn, and about one session at a time.
const mine = hunk({ hunkId: '2', state: 'amended', text: 'mine\n', userLines: 1 });
is('targets', change.targets([hunk(), mine, hunk({ sessionId: 't' })]), [
  { sessionId: 's', targets: [{ changeSetId: 'c', hunkIds: ['1', '2'], seen: { 2: 'mine\n' } }] },
  { sessionId: 't', targets: [{ changeSetId: 'c', hunkIds: ['1'], seen: {} }] },
]);
const name = ({ sessionId, changeSetId, hunkId }) => ({ sessionId, changeSetId, hunkId });
const upper = hunk({ changeSetId: 'e' });
const middle = hunk({ changeSetId: 'd', beneath: [name(upper)] });
const lower = hunk({ beneath: [name(middle), name(upper)] });
is('those on it', change.withThoseOn(lower, [lower, middle, upper]).map((one) => one.changeSetId), ['c', 'd', 'e']);
// Neighbours of one session are one decision, and the order stays.
is('targets in order', change.targets([hunk(), hunk({ sessionId: 't' }), mine]).map(({ sessionId, targets }) => [sessionId, targets[0].hunkIds[0]]), [['s', '1'], ['t', '1'], ['s', '2']]);
const became = (action, some, ...answers) => change.outcome(some, answers.map((all) => ({ sessionId: 's', hunks: all })), action);
const answer = (hunkId, more) => ({ changeSetId: 'c', hunkId, ...more });
const first = hunk({ inserted: 'x\n' });
is('a refusal', change.refusal(became('undo', [first], [answer('1', { state: 'applied', why: 'it is gone' })]), 'undo'), 'this change was not undone: it is gone');
is('one of two', change.refusal(became('undo', [mine, first], [answer('2', { state: 'undone' }), answer('1', { state: 'conflicted', why: 'it is gone' })]), 'undo'), '“x” was not undone (the other one was): it is gone');
is('two of two', change.refusal(became('undo', [mine, first], [answer('2', { state: 'applied' })]), 'undo'), '“mine” and “x” were not undone: it is in another state now; look at it again');
is('no answer', change.refusal(became('keep', [first], []), 'keep'), 'this change was not kept: it is in another state now; look at it again');
is('no refusal', change.refusal(became('keep', [first], [answer('1', { state: 'kept' })]), 'keep'), undefined);
is('done', became('undo', [mine, first], [answer('1', { state: 'undone' })]).done.map(({ hunkId }) => hunkId), ['1']);

// Proposed changes are whole in their threads, and the first one is open.
const waits = [hunk(), hunk({ hunkId: '2', state: 'proposed', line: 4, endLine: 6 }), hunk({ hunkId: '3', state: 'proposed', line: 8, endLine: 8, removed: '' })];
is('threads', change.threads(waits).map(({ first, last, label, expanded, body }) => [first, last, label, expanded, body]), [
  [4, 5, 'Change +1 −2', true, '```diff\n-one\n-two\n+both\n\u00a0\n```'], [8, 8, 'Change +1', false, '```diff\n+both\n\u00a0\n```'],
]);
const whole = change.threads([hunk({ state: 'proposed', inserted: 'x\n'.repeat(5000) })])[0].body;
is('a whole thread', whole.match(/^\+x$/gmu).length, 5000);

const listed = change.files([hunk({ hunkId: '3', line: 9 }), hunk(), hunk({ uri: 'file:///b', path: 'b' }), hunk({ state: 'proposed', madeBy: undefined })]);
is('files', listed.map((file) => [file.path, file.about, file.hunks.map((one) => one.line)]), [
  ['a.txt', '+2 −4 · 2 changes', [1, 9]], ['b', '+1 −2 · 1 change', [1]],
]);
// What is done with a file as a whole is listed where the file is now, and in words.
const moved = hunk({ operation: { kind: 'move', uri: 'file:///c', path: 'c' }, removed: '', inserted: '' });
const gone = hunk({ operation: { kind: 'delete' }, inserted: '' });
is('operations', change.files([moved, gone]).flatMap((file) => file.hunks.map((one) => [file.uri, file.path, file.about, change.title(one), change.size(one)])), [
  ['file:///c', 'c', '1 change', 'moved from a.txt', ''], ['file:///a.txt', 'a.txt', '−2 · 1 change', 'deleted', '−2'],
]);
const made = (hunkId, time) => hunk({ hunkId, madeBy: { ...hunk().madeBy, at: time } });
is('the newest first', change.newestFirst([made('1', 1), made('3', 3), made('2', 2)]).map((one) => one.hunkId), ['3', '2', '1']);
is('a title has no icon', change.title(hunk({ inserted: '\n  $(trash) x\n' })), '$\\u{28}trash) x');
is('a title of a removal', change.title(hunk({ inserted: '' })), '− one');

is('a fence', change.fenced('a\n````\n', 'diff'), '`````diff\na\n````\n\n`````');
// Nothing of a model or a file ends its code block, or becomes a link, an image or a command.
const bad = '```\n[x](command:quit) ![y](http://z/)\n~~~\n````\u202e\r<img src=x>\n';
const drawn = change.hover(hunk({
  removed: bad, inserted: bad, text: 'x\n', state: 'amended', userLines: 1,
  madeBy: { task: `a\n\`\`\`\n[b](command:c)\u202e`, model: '`````', allowedBy: '\n```', mark: '<b>' },
}));
const asked = (prompts, promptsLeftOut) => change.hover(hunk({ madeBy: { ...hunk().madeBy, prompts, promptsLeftOut } }))
  .split('\n').filter((row) => /^Prompt |^ +\(/u.test(row));
is('a prompt that is the task', asked(['join']), []);
is('prompts', asked(['join\n\n```\nthem', '\u202eno', 'last'], 2), [
  'Prompt      join ``` them', '            (2 more prompts)', 'Prompt      \\u{202e}no', 'Prompt      last',
]);
let fence = '';
for (const row of drawn.split('\n')) {
  const ends = /^ {0,3}(`{3,}|~{3,})\s*(\w*)$/u.exec(row);
  if (!fence && row && row !== '---') {
    if (!ends?.[2]) console.log(`hover: outside of a block stands ${JSON.stringify(row)}`);
    fence = ends?.[1] ?? '';
  } else if (fence && ends && ends[1].startsWith(fence)) fence = '';
}
if (fence) console.log('hover: its last block is open');
if (/[\u202e\r]/u.test(drawn)) console.log('hover: a hidden character');
const long = change.hover(hunk({ removed: `${'x'.repeat(9999)}\n`.repeat(9999) }));
if (long.length > 20_000) console.log(`hover: ${long.length} characters`);
