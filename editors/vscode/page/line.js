// One line of a diff or of a command. Never takes HTML.
import { element } from './element.js';

const CLASSES = { '+': 'added', '-': 'removed', '@': 'head', '': 'head' };

// `fill` puts the text into the element.
export function lineOf({ mark, text }, kind, fill) {
  const isDiff = kind === 'diff';
  const made = element('div', `line ${isDiff ? CLASSES[mark] ?? '' : ''}`);
  if (isDiff && (mark === '+' || mark === '-' || mark === ' ')) made.append(element('span', 'mark', mark));
  fill(made, text);
  return made;
}
