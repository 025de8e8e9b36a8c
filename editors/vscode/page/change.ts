// A change of a file in the chat: what became of it, and its lines when it is unfolded. The lines stay until newer ones come; each
// drawing asks for those of now. Never keeps them longer than they are unfolded.
import type { Item } from '../src/chat/conversation';
import type { FromPage, Unfolded } from '../src/chat/messages';
import { button, element, keepScroll } from './element';
import { lineOf } from './line';

// What was drawn last: nothing while it is on its way.
type Drawn = { [name in 'lines' | 'left' | 'problem']?: (Extract<Unfolded, { lines: unknown }> & Extract<Unfolded, { problem: unknown }>)[name] };

// `send` takes a message to the extension.
export function createChanges(send: (message: FromPage) => void) {
  const unfolded = new Map<string, Drawn>(); // by change, what was drawn last
  const places = new Map<string, HTMLElement>(); // by change, the element of its lines

  function fill(place: HTMLElement, { lines, left, problem }: Drawn) {
    if (!lines && !problem) return place.replaceChildren(element('div', 'line head', 'Loading…'));
    if (!lines) return place.replaceChildren(element('div', 'line head', problem));
    const drawn = lines.map((one) => lineOf(one, 'diff', (made, text) => made.append(text || '\u00a0')));
    if (left) drawn.push(element('div', 'line head', `… ${left} more lines are left out here`));
    return place.replaceChildren(...drawn);
  }
  function lines(id: string, of: string) {
    const before = places.get(id);
    if (before) {
      keepScroll(before.parentElement, '.subject');
      return before;
    }
    const place = element('div', 'subject diff');
    place.tabIndex = 0;
    place.setAttribute('role', 'region');
    place.setAttribute('aria-label', `Lines of ${of}`);
    fill(place, unfolded.get(id) ?? {});
    places.set(id, place);
    return place;
  }
  function fold(item: Item, row: () => HTMLElement) {
    const made = button('', 'Show or hide the lines', () => {
      if (unfolded.delete(item.id)) {
        places.get(item.id)?.remove();
        places.delete(item.id);
      } else {
        unfolded.set(item.id, {});
        row().after(lines(item.id, item.text));
        send({ type: 'unfold', set: item.id });
      }
      draw();
    });
    const draw = () => {
      made.textContent = unfolded.has(item.id) ? '▾' : '▸';
      made.setAttribute('aria-expanded', String(unfolded.has(item.id)));
    };
    made.className = 'fold';
    made.setAttribute('aria-label', `Lines of ${item.text}`);
    draw();
    return made;
  }

  return {
    // Returns what is drawn of a change.
    body(item: Item) {
      const row = element('div', 'row');
      row.append(fold(item, () => row));
      row.append(item.opens ? button(item.text, 'Open the file at this change', () => send({ type: 'open', set: item.id })) : element('span', '', item.text));
      row.append(element('span', 'note', item.note));
      if (item.waits) {
        const act = (label: string, type: 'keep' | 'undo', title: string) => button(label, title, () => send({ type, set: item.id }));
        const both = element('span', 'acts');
        both.append(act('Keep', 'keep', `Keep the changes of ${item.text}`), act('Undo', 'undo', `Put back the text before ${item.text}`));
        row.append(both);
      }
      if (!unfolded.has(item.id)) return [row];
      send({ type: 'unfold', set: item.id });
      return [row, lines(item.id, item.text)];
    },
    // The lines have come; they may be folded again by then.
    unfolded({ set, ...of }: Unfolded) {
      const before = unfolded.get(set);
      if (!before) return;
      const place = places.get(set);
      const { lines: drawn, problem } = before;
      const isFirst = !drawn && !problem;
      unfolded.set(set, of);
      if (!place) return;
      const top = place.scrollTop;
      fill(place, of);
      place.scrollTop = top;
      if (isFirst) place.scrollIntoView({ block: 'nearest' });
    },
    clear() {
      unfolded.clear();
      places.clear();
    },
  };
}
