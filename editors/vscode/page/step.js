// A step of the agent in the chat: one line, and unfolded its arguments and what it gave. Never keeps what it gave longer than
// it is unfolded: each drawing asks for it.
import { element } from './element.js';

const left = (bytes) => (bytes >= 2_048 ? `${Math.round(bytes / 1_024)} KiB` : `${bytes} bytes`);

// A text of which the end is in sight.
function ended(text) {
  const made = element('pre', 'output', text);
  requestAnimationFrame(() => { made.scrollTop = made.scrollHeight; });
  return made;
}

// `send` takes a message to the extension.
export function createSteps(send) {
  const outputs = new Map(); // by call, the element of what it gave, and the line above it

  const lineOf = (item) => (item.note ? `${item.text} · ${item.note}` : item.text);

  function fill(place, { output, leftOut, problem }) {
    if (problem) return place.replaceChildren(element('div', 'bad', problem));
    if (!output) return place.replaceChildren(element('div', 'note', output === '' ? 'It gave nothing.' : 'There is no result yet.'));
    const before = leftOut ? [element('div', 'note', `… ${left(leftOut)} before this are left out`)] : [];
    return place.replaceChildren(...before, ended(output));
  }

  return {
    body(item) {
      const made = element('details');
      made.append(element('summary', '', lineOf(item)));
      if (item.more) made.append(element('pre', '', item.more));
      const place = element('div', 'result');
      made.append(place);
      outputs.set(item.id, { place, line: lineOf(item) });
      if (item.live) place.append(ended(item.live));
      // What it prints comes by itself, and is no result yet.
      made.addEventListener('toggle', () => { if (made.open && !place.querySelector('.output')) send({ type: 'output', call: item.id }); });
      return [made];
    },
    // Draws only what a command has printed, where nothing else changed: its line stays under the pointer. Returns whether it did.
    prints(item) {
      const drawn = outputs.get(item.id);
      if (!item.live || drawn?.line !== lineOf(item)) return false;
      drawn.place.replaceChildren(ended(item.live));
      return true;
    },
    given({ call, ...of }) {
      const drawn = outputs.get(call);
      if (drawn) fill(drawn.place, of);
    },
    clear: () => outputs.clear(),
  };
}
