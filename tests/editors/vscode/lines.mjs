// Tests which lines the chat draws of a change, under node alone. Prints what is wrong.
//
//   node lines.mjs LINES_JS
import { createRequire } from 'node:module';

const { linesOf } = createRequire(import.meta.url)(process.argv[2]);
const part = (line, diff, more) => ({ line, diff, state: 'applied', userLines: 0, ...more });
const head = '--- a/a.py\n+++ b/a.py\n';
const text = ({ lines, left, problem }) => problem ?? [...lines.map((one) => `${one.mark}|${one.text}`), left].join('\n');
const wrong = (what, is, wanted) => { if (is !== wanted) console.log(`${what}:\n${is}\nnot\n${wanted}`); };

const two = [part(9, `${head}@@ -9,1 +9,1 @@\n-c\n+d\n`), part(2, `${head}@@ -2,2 +2,2 @@\n x\n-a\n+b\u202e\n`, { state: 'amended', userLines: 2 })];
wrong('two parts', text(linesOf(two)), '@|line 2\n |x\n-|a\n+|b\\u{202e}\n|then 2 lines by you\n@|line 9\n-|c\n+|d\n0');
wrong('none', text(linesOf([])), 'The server does not have the lines of this change any more.');
wrong('a move', text(linesOf([part(0, '', { operation: { kind: 'move' } })])), 'The file was moved; no line of it changed.');
wrong('an empty file', text(linesOf([part(0, '')])), 'The file has no lines.');
const long = linesOf([part(0, `${head}@@ -0,0 +1,900 @@\n${'+x\n'.repeat(900)}`)]);
wrong('a long one', `${long.lines.length} ${long.left}`, '400 501');
const wide = linesOf([part(0, `${head}@@ -0,0 +1,1 @@\n+${'y'.repeat(3_000)}\n`)]);
wrong('a wide one', `${wide.lines[1].text.length} ${wide.lines[1].text.at(-1)}`, '1001 …');
