// Plays the table of texts on the extension's own function. Checks that VS Code's own link
// expression (src/vs/base/common/linkedText.ts) finds nothing in the results. Skips rows of surfaces
// that the extension does not have. Prints each problem, and nothing without problems.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [, , extension, table] = process.argv;
const display = { ...createRequire(import.meta.url)(extension) };
// A diff comes line by line, each with its mark.
const { diff } = display;
display.diff = (text) => {
  const lines = diff(text).map(({ mark, text: line }) => (mark === ' ' || mark === '+' || mark === '-' ? mark : '') + line);
  return lines.join('\n') + (text.endsWith('\n') ? '\n' : '');
};
const played = new Set();
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^\)\s]+)(?: (["'])(.+?)(\3))?\)/gi;

for (const text of readFileSync(table, 'utf8').split('\n').filter(Boolean)) {
  const { id, input, enc, expect } = JSON.parse(text);
  const [surface, limit] = enc.split(' ');
  if (!display[surface]) continue;
  played.add(surface);
  const drawn = display[surface](input, Number(limit));
  if (drawn !== expect) console.log(`${id}: ${JSON.stringify(drawn)} is not ${JSON.stringify(expect)}`);
  if (drawn.match(LINK)) console.log(`${id}: a link in ${JSON.stringify(drawn)}`);
  if (display[surface](drawn, Number(limit)) !== drawn) console.log(`${id}: not the same twice`);
}
for (const surface of ['line', 'status', 'command', 'diff']) if (!played.has(surface)) console.log(`no row of ${surface} was played`);
