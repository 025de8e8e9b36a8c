// Completion in the box: files, folders and mentions after `@`, slash commands after `/` at the beginning. The server knows them and
// ranks them. Never takes a key while there is no list, and has one request on its way at most, however fast one types.
import type { Completions, FromPage } from '../src/chat/messages';
import { element } from './element';

interface Parts { list: HTMLElement; box: HTMLTextAreaElement; send: (message: FromPage) => void }

const MOST_BEFORE = 500; // characters before the cursor that a completion can be about
const [AGAIN_MS, MOST_TRIES] = [250, 20]; // while the server still reads the names
const BEGINS = /^\/\S*$|(?:^|[^\p{L}\p{N}_])@[^@\n]*$/u; // what may have a completion; the server says whether it has

// `send` takes a message to the extension.
export function createCompletion({ list, box, send }: Parts) {
  let items: Completions['items'] = [], chosen = 0;
  let start = 0, end = 0; // what an item replaces
  let isOld = false; // the list is of before the last letter
  let asked: { id: number; from: number; at: number; before: string } | undefined; // what is on its way
  let isAgain = false, ids = 0, tries = 0;

  const isOpen = () => !list.hidden;
  const close = () => {
    list.hidden = true;
    list.replaceChildren();
    [items, isAgain] = [[], false];
    for (const name of ['role', 'aria-expanded', 'aria-controls', 'aria-activedescendant']) box.removeAttribute(name);
  };
  const choose = (at: number) => {
    chosen = (at + items.length) % items.length;
    [...list.children].forEach((one, index) => one.setAttribute('aria-selected', String(index === chosen)));
    const option = list.children[chosen];
    box.setAttribute('aria-activedescendant', option.id);
    option.scrollIntoView({ block: 'nearest' });
  };
  // The line to the cursor. Only a text that is at the beginning may be a command.
  const wanted = () => {
    const at = box.selectionStart;
    if (at !== box.selectionEnd) return undefined;
    const from = Math.max(box.value.lastIndexOf('\n', at - 1) + 1, at - MOST_BEFORE);
    const before = box.value.slice(from, at);
    return BEGINS.test(before) && (from === 0 || !before.startsWith('/')) ? { from, at, before } : undefined;
  };
  const ask = () => {
    const is = wanted();
    if (!is) return close();
    isOld = true;
    end = is.at;
    if (asked) {
      isAgain = true;
      return undefined;
    }
    asked = { id: ++ids, ...is };
    isAgain = false;
    return send({ type: 'complete', id: asked.id, text: asked.before });
  };
  const take = (at: number) => {
    const { insert } = items[at];
    const [from, to] = [start, end];
    close();
    box.focus();
    box.setSelectionRange(from, to);
    // So that one undo takes it back. It is an input as any other: a folder asks for what is in it.
    document.execCommand('insertText', false, insert);
  };
  const optionOf = ({ label, detail }: Completions['items'][number], at: number) => {
    const made = element('li');
    made.id = `completion-${at}`;
    made.setAttribute('role', 'option');
    made.append(element('span', 'name', label));
    if (detail) made.append(element('span', 'note', detail));
    // The focus stays in the box.
    made.addEventListener('mousedown', (event) => event.preventDefault());
    made.addEventListener('click', () => { if (!isOld) take(at); });
    return made;
  };

  box.addEventListener('blur', close);
  document.addEventListener('selectionchange', () => {
    if (isOpen() && (box.selectionStart !== end || box.selectionEnd !== end)) close();
  });

  return {
    close,
    typed() {
      tries = 0;
      ask();
    },
    given({ id, start: at, items: found, incomplete }: Completions) {
      if (asked?.id !== id) return;
      const { from, at: cursor, before } = asked;
      asked = undefined;
      if (isAgain) {
        ask();
        return;
      }
      // Who went on, to another place or another field, does not want it any more.
      const is = wanted();
      if (is?.at !== cursor || is.before !== before || document.activeElement !== box) return close();
      const typed = before.slice(at);
      if (found.length === 0 && incomplete && tries++ < MOST_TRIES) setTimeout(() => { if (!asked && wanted()?.before === before) ask(); }, AGAIN_MS);
      // What is typed to its end needs no list, and Enter sends it.
      if (found.length === 0 || found[0].insert.trimEnd() === typed) return close();
      [items, start, end, isOld] = [found, from + at, cursor, false];
      list.replaceChildren(...items.map(optionOf));
      list.hidden = false;
      // Only while there is a list: it is a field of many lines otherwise.
      box.setAttribute('role', 'combobox');
      box.setAttribute('aria-expanded', 'true');
      box.setAttribute('aria-controls', list.id);
      choose(0);
    },
    // Handles a key of the box; whether it was one for this.
    key(event: KeyboardEvent) {
      if (!isOpen() || event.isComposing || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return false;
      const isFor = ['ArrowDown', 'ArrowUp', 'Tab', 'Enter', 'Escape'].includes(event.key);
      if (!isFor) return false;
      // Escape is for the list, not for the window.
      event.stopPropagation();
      if (event.key === 'Escape') close();
      // A list that is old is not what one chooses from, and a key for it does not send the prompt.
      else if (isOld) return true;
      else if (event.key === 'ArrowDown') choose(chosen + 1);
      else if (event.key === 'ArrowUp') choose(chosen - 1);
      else take(chosen);
      return true;
    },
  };
}
