// One line of a diff or of a command. Never takes HTML.
import type { DiffLine } from '../src/display';
import { element } from './element';

const CLASSES: Partial<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'head', '': 'head' };

// `fill` puts the text into the element.
export function lineOf({ mark, text }: DiffLine, kind: string, fill: (made: HTMLElement, text: string) => void) {
  const isDiff = kind === 'diff';
  const made = element('div', `line ${isDiff ? CLASSES[mark] ?? '' : ''}`);
  if (isDiff && (mark === '+' || mark === '-' || mark === ' ')) made.append(element('span', 'mark', mark));
  fill(made, text);
  return made;
}
