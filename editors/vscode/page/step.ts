// A step of the agent in the chat: one line, and unfolded its arguments and what it gave. What stands there stays until there is
// something newer. Never asks for a result before there is one.
import type { Item } from '../src/chat/conversation';
import type { FromPage, Output } from '../src/chat/messages';
import { element, keepScroll } from './element';

interface Step { place: HTMLElement; line: string; answer?: string; over?: boolean; isResult?: boolean; isPressed?: boolean }

const left = (bytes: number) => (bytes >= 2_048 ? `${Math.round(bytes / 1_024)} KiB` : `${bytes} bytes`);
const lineOf = (item: Item) => [item.text, item.note].filter(Boolean).join(' · ');
const isAtEnd = (made: Element) => made.scrollHeight - made.scrollTop - made.clientHeight < 20;

// `send` takes a message to the extension.
export function createSteps(send: (message: FromPage) => void) {
  const steps = new Map<string, Step>(); // by call: where what it gave is drawn, the line above it, and whether that is the result

  const say = (step: Step, words: string, kind = 'note') => step.place.replaceChildren(element('div', kind, words));
  // Changes the text in its place: who reads it, marks it or went there by key stays there.
  function write(step: Step, text: string) {
    let made = step.place.querySelector<HTMLElement>('.output');
    const follows = !made || isAtEnd(made);
    if (!made) {
      made = element('pre', 'output');
      made.tabIndex = 0;
      made.setAttribute('aria-label', 'What it gave');
      step.place.replaceChildren(made);
    }
    const chosen = document.getSelection();
    if (!step.isResult && chosen && !chosen.isCollapsed && made.contains(chosen.anchorNode)) return;
    const drawn = made;
    drawn.textContent = text;
    if (follows) requestAnimationFrame(() => { drawn.scrollTop = drawn.scrollHeight; });
  }
  function opened(item: Item, step: Step) {
    if (step.isResult) return;
    if (!item.over) {
      if (!step.place.hasChildNodes()) say(step, 'It has given nothing yet.');
      return;
    }
    if (!step.place.querySelector('.output')) say(step, 'Loading…');
    send({ type: 'output', call: item.id });
  }

  return {
    body(item: Item) {
      const known = steps.get(item.id);
      const step: Step = { place: known?.place ?? element('div', 'result'), line: lineOf(item), answer: item.answer, over: item.over, isResult: item.over && known?.isResult };
      steps.set(item.id, step);
      const made = element('details');
      const summary = element('summary', '', step.line);
      // Of its own: no title of a step looks like an answer.
      if (item.answer) summary.append(' · ', element('span', 'answer', item.answer));
      made.append(summary);
      if (item.more) made.append(element('div', 'note', 'Arguments'), element('pre', '', item.more), element('div', 'note', 'Result'));
      keepScroll(step.place, '.output');
      made.append(step.place);
      if (item.live) write(step, item.live);
      made.addEventListener('toggle', () => { if (made.open) opened(item, step); });
      // Only a press of the user's moves the page.
      summary.addEventListener('click', () => { step.isPressed = true; requestAnimationFrame(() => made.open && step.place.scrollIntoView({ block: 'nearest' })); });
      return item.more ? [made, element('pre', 'arguments', item.more)] : [made];
    },
    // Draws only what a command has printed, where nothing else changed: its line stays under the pointer. Returns whether it did.
    prints(item: Item) {
      const step = steps.get(item.id);
      if (!item.live || item.over || !step || step.over || step.line !== lineOf(item) || step.answer !== item.answer) return false;
      write(step, item.live);
      return true;
    },
    given({ call, output, leftOut, problem }: Output): void {
      const step = steps.get(call);
      if (!step) return;
      const printed = step.place.querySelector('.output');
      step.place.querySelector('.bad')?.remove();
      if (problem) return printed ? step.place.append(element('div', 'bad', problem)) : say(step, problem, 'bad');
      // It is of before the end.
      if (output === undefined) return printed ? undefined : say(step, 'There is no result yet.');
      step.isResult = true;
      if (!output.trim()) return say(step, 'It gave nothing.');
      write(step, output);
      if (leftOut) step.place.prepend(element('div', 'note', `… ${left(leftOut)} before this are left out`));
      if (step.isPressed) step.place.scrollIntoView({ block: 'nearest' });
      step.isPressed = false;
    },
    clear: () => steps.clear(),
  };
}
