// Tests what is attached to a prompt, under node alone: its names, its blocks, where it goes when the text changes, and the drafts.
// Prints what is wrong.
//
//   node chips.mjs DRAFTS_JS
import { createRequire } from 'node:module';
import path from 'node:path';

const drafts = path.resolve(process.argv[2]);
const load = createRequire(import.meta.url);
const { createDrafts } = load(drafts);
const { blockOf, shifted, viewOf } = load(path.join(path.dirname(drafts), 'chips.js'));

const wrong = (what, is, wanted) => {
  const [one, other] = [JSON.stringify(is), JSON.stringify(wanted)];
  if (one !== other) console.log(`${what}:\n${one}\nnot\n${other}`);
};
const range = (a, b, c, d) => ({ start: { line: a, character: b }, end: { line: c, character: d } });
const link = (of) => ({ id: 'l', kind: 'link', uri: 'file:///w/src/cart.js', path: 'src/cart.js', range: of });

// Names.
const named = (chip) => { const { label, title, opens } = viewOf(chip); return [label, title, opens]; };
wrong('lines', named(link(range(9, 2, 23, 4))), ['cart.js:10–24', 'src/cart.js, lines 10 to 24', true]);
wrong('a last line that is not touched', named(link(range(9, 0, 10, 0))), ['cart.js:10', 'src/cart.js, line 10', true]);
wrong('a whole file', named(link(undefined)), ['cart.js', 'src/cart.js', true]);
wrong('a hidden character', named({ ...link(undefined), path: 'a\u202eb' })[0], 'a\\u{202e}b');
const text = { id: 't', kind: 'text', path: 'Untitled-1', range: range(0, 0, 0, 3), text: 'abc' };
wrong('no file', named(text), ['Untitled-1:1', 'Untitled-1, line 1', false]);
const image = { id: 'i', kind: 'image', name: 'shot.png', mimeType: 'image/png', bytes: 12_345, file: 'f' };
wrong('an image', named(image), ['shot.png', 'shot.png: image/png, 12 kB', false]);

// Blocks.
wrong('a link', blockOf(link(range(0, 0, 1, 0))), { type: 'resource_link', uri: 'file:///w/src/cart.js', range: range(0, 0, 1, 0) });
wrong('a text', blockOf(text), { type: 'resource', uri: 'Untitled-1', text: 'abc' });
wrong('a picture', blockOf(image, 'AAAA'), { type: 'image', mimeType: 'image/png', data: 'AAAA' });

// A selection after edits. The text says the same lines, wherever they are.
const apply = (lines, { range: { start, end }, text: put }) => {
  const all = lines.join('\n');
  const at = ({ line, character }) => lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0) + character;
  return (all.slice(0, at(start)) + put + all.slice(at(end))).split('\n');
};
const cut = (lines, { start, end }) => lines.slice(start.line, end.line + 1).map((one, index, some) =>
  one.slice(index === 0 ? start.character : 0, index === some.length - 1 ? end.character : undefined)).join('\n');
const lines = ['one', 'two', 'three', 'four', 'five'];
const chosen = range(1, 1, 3, 2);
for (const [what, change, wanted] of [
  ['a line before', { range: range(0, 0, 0, 0), text: 'new\n' }, 'wo\nthree\nfo'],
  ['a word before, in its line', { range: range(1, 0, 1, 0), text: 'xx' }, 'wo\nthree\nfo'],
  ['right at its begin', { range: range(1, 1, 1, 1), text: 'x\ny' }, 'wo\nthree\nfo'],
  ['right at its end', { range: range(3, 2, 3, 2), text: 'x\ny' }, 'wo\nthree\nfo'],
  ['lines before go', { range: range(0, 1, 1, 0), text: '' }, 'wo\nthree\nfo'],
  ['within', { range: range(2, 0, 2, 5), text: 'drei\nvier' }, 'wo\ndrei\nvier\nfo'],
  ['over its begin', { range: range(0, 0, 2, 0), text: 'X' }, 'Xthree\nfo'],
  ['over its end', { range: range(3, 0, 4, 2), text: 'X' }, 'wo\nthree\nX'],
  ['after it', { range: range(4, 0, 4, 4), text: '' }, 'wo\nthree\nfo'],
]) wrong(what, cut(apply(lines, change), shifted(chosen, change)), wanted);

// Drafts.
let kept;
const made = createDrafts([['s1', 'old words']], () => { kept = JSON.parse(JSON.stringify(made.all())); });
wrong('of an older window', [made.text('s1'), made.chips('s1'), made.has(undefined)], ['old words', [], false]);
made.type(undefined, 'look');
made.add(undefined, link(range(4, 0, 5, 0)));
made.add(undefined, { ...link(range(4, 0, 5, 0)), id: 'again' });
made.add(undefined, image);
wrong('the same twice', made.chips(undefined).map(({ id }) => id), ['l', 'i']);
made.shift('file:///w/other.js', [{ range: range(0, 0, 0, 0), text: '\n' }]);
wrong('another document', made.chips(undefined)[0].range, range(4, 0, 5, 0));
made.shift('file:///w/src/cart.js', [{ range: range(0, 0, 0, 0), text: '\n' }, { range: range(0, 0, 0, 0), text: '\n' }]);
wrong('moved by two', made.chips(undefined)[0].range, range(6, 0, 7, 0));
wrong('after a reload', createDrafts(kept, () => {}).all(), made.all());
wrong('taken along', [made.move(undefined, 's1'), made.move(undefined, 's2'), made.has(undefined), made.text('s2')], [false, true, false, 'look']);
made.sent('s2', 'look', ['l']);
wrong('what came meanwhile stays', [made.text('s2'), made.chips('s2').map(({ id }) => id), made.files()], ['', ['i'], ['f']]);
made.remove('s2', 'i');
wrong('nothing is left', [made.has('s2'), made.files(), made.all().map(([of]) => of)], [false, [], ['s1']]);
wrong('what no version knows', createDrafts([['s', { text: 'x', chips: [{ id: '1', kind: 'video' }] }]], () => {}).chips('s'), []);
