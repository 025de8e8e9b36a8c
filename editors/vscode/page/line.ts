// One line of a diff or of a command. Never takes HTML.
import type { DiffLine } from '../src/display';
import { element } from './element';

const MOST_HANG = 16; // characters
const CLASSES: Partial<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'head', '': 'head' };

// `fill` puts the text into the element.
export function lineOf({ mark, text }: DiffLine, kind: string, fill: (made: HTMLElement, text: string) => void) {
  const isDiff = kind === 'diff';
  const made = element('div', `line ${isDiff ? CLASSES[mark] ?? '' : ''}`);
  // What does not fit goes on below its own begin: the indent of code says what it is.
  const blanks = /^[ \t]*/u.exec(text)?.[0] ?? '';
  if (isDiff) made.style.setProperty('--hang', `${Math.min(MOST_HANG, 2 + blanks.replaceAll('\t', '    ').length)}ch`);
  if (isDiff && (mark === '+' || mark === '-' || mark === ' ')) made.append(element('span', 'mark', mark));
  fill(made, text);
  return made;
}
