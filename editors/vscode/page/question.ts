// The cards of the questions, last in the chat. A card that did not change is left alone: what is typed in it stays.
// Never lets an approval count before all of what it allows was in sight, and for a moment after.
import type { Answer, Card as View } from '../src/chat/question';
import type { Answered, FromPage } from '../src/chat/messages';
import { button, element } from './element';
import { lineOf } from './line';

const READ_MS = 420; // before what is drawn counts as seen: 400 on the screen, where it comes a frame later
const PIECE = 8; // columns of a line that are looked at together: a few rows in the narrowest chat
const NEAR = 2; // pixels of an edge that may be out of sight
const ALL = 0.85; // of the height of a piece, which is less than one row off: the observer tells of each tenth
const SHARES = Array.from({ length: 11 }, (_, tenths) => tenths / 10);
const MOST_TYPED = 20; // reasons that are kept

interface Kept { typed?: Record<string, string> }
type Page = { getState(): Kept | undefined; setState(state: Kept): void };
interface Edges { top: number; bottom: number } // how much of the height was in sight at once with each edge, as a share
interface Card {
  id: string; json: string; element: HTMLElement; buttons: Map<Answer, HTMLButtonElement>; unseen: Map<Element, Edges>; isRead: boolean; isSent: boolean; canAllow: boolean;
  hint: HTMLElement; problem: HTMLElement; input?: HTMLInputElement; timer?: ReturnType<typeof setTimeout>;
}

// The pieces of a text: a tab has four columns, and what is not ASCII has two.
function piecesOf(text: string) {
  const pieces = [''];
  let columns = 0;
  for (const c of text) {
    const width = c === '\t' ? 4 : c > '~' ? 2 : 1;
    if (columns + width > PIECE) {
      pieces.push('');
      columns = 0;
    }
    columns += width;
    pieces[pieces.length - 1] += c;
  }
  return text ? pieces : ['\u00a0'];
}

// `send` takes a message to the extension; `page` keeps what is typed over a time out of sight.
export function createCards(scroller: HTMLElement, send: (message: FromPage) => void, page: Page) {
  const cards = new Map<string, Card>(); // by id
  const sent = new Set<string>(); // the ids of those that have an answer on its way
  const place = element('div', 'questions');
  const typed = () => page.getState()?.typed ?? {};
  const type = (id: string, text: string) => {
    const { [id]: _, ...others } = typed();
    const all = Object.entries(text ? { ...others, [id]: text } : others);
    page.setState({ typed: Object.fromEntries(all.slice(-MOST_TYPED)) });
  };

  // What was in sight of a card; when all was, the approvals come to life a moment later.
  const seer = new IntersectionObserver((entries) => {
    for (const { target, intersectionRatio, boundingClientRect: whole, intersectionRect: seen } of entries) {
      const card = [...cards.values()].find((one) => one.unseen.has(target));
      const edges = card?.unseen.get(target);
      // What is out of sight at a side was not seen.
      if (!card || !edges || intersectionRatio === 0 || seen.width < whole.width - NEAR) continue;
      const share = seen.height / whole.height;
      // Page by page, one part of a piece may come with one page and the other with the next.
      if (seen.top <= whole.top + NEAR) edges.top = Math.max(edges.top, share);
      if (seen.bottom >= whole.bottom - NEAR) edges.bottom = Math.max(edges.bottom, share);
      if (edges.top + edges.bottom < ALL) continue;
      card.unseen.delete(target);
      seer.unobserve(target);
      if (card.unseen.size === 0) wake(card);
    }
    for (const card of cards.values()) card.hint.hidden = card.unseen.size === 0 || !card.canAllow;
  }, { root: scroller, threshold: SHARES });
  const wake = (card: Card) => {
    clearTimeout(card.timer);
    card.isRead = false;
    allow(card);
    card.timer = setTimeout(() => {
      card.isRead = true;
      allow(card);
    }, READ_MS);
  };
  const allow = (card: Card) => {
    for (const [option, made] of card.buttons) made.disabled = card.isSent || (option.approves && !card.isRead);
    if (card.input) card.input.disabled = card.isSent;
  };
  const answer = (card: Card, option: string | undefined, text?: string) => {
    if (card.isSent || !cards.has(card.id)) return;
    card.isSent = true;
    sent.add(card.id);
    card.problem.hidden = true;
    allow(card);
    send({ type: 'answer', askId: card.id, optionId: option, text });
  };

  // Puts a text into an element, piece by piece: of one that is taller than the chat each part comes into sight.
  function fill(made: HTMLElement, text: string, watched: Element[]) {
    for (const part of piecesOf(text)) {
      const piece = element('span', '', part);
      watched.push(piece);
      made.append(piece);
    }
    return made;
  }
  function make(view: View): Card {
    const made = element('section', 'question');
    made.tabIndex = -1;
    made.setAttribute('role', 'group');
    made.setAttribute('aria-label', `Question: ${view.title}`);
    const card: Card = {
      id: view.id, json: JSON.stringify(view), element: made, buttons: new Map(), unseen: new Map(), isRead: false, isSent: sent.has(view.id),
      canAllow: view.options.some(({ approves }) => approves), hint: element('div', 'note', 'Scroll: it can be allowed once you have seen all of it.'), problem: element('p', 'bad'),
    };
    const watched: Element[] = [];
    const head = element('div', 'head');
    head.append(fill(element('div', 'title'), view.title, watched));
    // In the first row, and not among the answers: a press that is meant for Show never allows anything.
    if (view.shows) head.append(button('Show', 'Open the whole of it beside', () => send({ type: 'show', askId: view.id })));
    made.append(head);
    if (view.why) made.append(fill(element('div', 'why plain'), view.why, watched));
    if (view.warning) made.append(fill(element('div', 'warning plain'), view.warning, watched));
    const whole = element('div', 'whole');
    for (const { kind, head: words, lines } of view.parts) {
      if (words.length > 0) {
        const line = element('div', 'about');
        // Each on its own: no name turns the words around it.
        line.append(...words.flatMap(({ text, ours }) => [fill(element(ours ? 'span' : 'bdi', ours ? 'note' : 'name'), text, watched), ' ']));
        whole.append(line);
      }
      const body = element('div', `subject ${kind}`);
      body.append(...lines.map((one) => lineOf(one, kind, (line, text) => fill(line, text, watched))));
      if (lines.length > 0) whole.append(body);
    }
    if (view.parts.length > 0) {
      // It scrolls by itself, so that the answers stay in sight.
      whole.tabIndex = 0;
      whole.setAttribute('role', 'region');
      whole.setAttribute('aria-label', 'What it is about');
      made.append(whole);
    }
    if (view.of) made.append(element('div', 'note', view.opened ? `It has ${view.of} lines; the whole of it is open beside.` : `It has ${view.of} lines, too many for here. Show opens the whole of it; then it can be allowed.`));
    const row = element('div', 'answers');
    for (const option of view.options) {
      const one = button(option.label, option.title, () => answer(card, option.id));
      card.buttons.set(option, one);
      row.append(one);
    }
    made.append(row);
    view.explained.forEach((text) => made.append(fill(element('div', 'note'), text, watched)));
    card.hint.hidden = true;
    const { words } = view;
    if (words) {
      const input = element('input');
      card.input = input;
      Object.assign(input, { type: 'text', placeholder: words.placeholder, title: 'Enter sends it', value: typed()[view.id] ?? '' });
      input.setAttribute('aria-label', words.placeholder);
      input.addEventListener('input', () => type(view.id, input.value));
      input.addEventListener('keydown', (event) => {
        // Whatever is held with it: in this line Enter never allows.
        if (event.key !== 'Enter' || event.isComposing) return;
        event.preventDefault();
        if (!event.repeat && input.value.trim()) answer(card, words.optionId, input.value.trim());
      });
      made.append(input);
    }
    card.problem.setAttribute('role', 'alert');
    card.problem.hidden = true;
    made.append(card.problem, card.hint);
    made.addEventListener('keydown', (event) => {
      // Only of the question itself: in its line for words, and at its buttons, Enter has another meaning.
      if (event.key !== 'Enter' || !event.ctrlKey || event.repeat || event.target !== made) return;
      event.preventDefault();
      const [, once] = [...card.buttons].find(([{ kind }]) => kind === 'allow_once') ?? [];
      if (once && !once.disabled) once.click();
    });
    // What an approval allows: all of it has to come into sight.
    card.unseen = new Map(watched.map((one) => [one, { top: 0, bottom: 0 }]));
    allow(card);
    return card;
  }

  function reveal(id: string) {
    const card = cards.get(id)?.element;
    card?.scrollIntoView({ block: 'start' });
    card?.focus({ preventScroll: true });
  }

  return {
    // Draws the questions anew; returns the first that was not there before.
    draw(views: View[]) {
      const ids = new Set(views.map(({ id }) => id));
      [...sent].filter((id) => !ids.has(id)).forEach((id) => sent.delete(id));
      let moved = false;
      for (const [id, card] of cards) {
        if (ids.has(id)) continue;
        card.element.remove();
        cards.delete(id);
        // What was typed for a question that comes again, of another server, is there again.
        if (card.isSent) type(id, '');
        moved = true;
      }
      // Another question may stand under the pointer now.
      if (moved) [...cards.values()].filter(({ unseen }) => unseen.size === 0).forEach(wake);
      let first: HTMLElement | undefined;
      for (const view of views) {
        const old = cards.get(view.id);
        if (old?.json === JSON.stringify(view)) continue;
        const card = make(view);
        const focused = old?.element.contains(document.activeElement);
        const inInput = old?.input !== undefined && old.input === document.activeElement;
        old?.unseen.forEach((_, one) => seer.unobserve(one));
        cards.set(view.id, card);
        if (old) old.element.replaceWith(card.element);
        else place.append(card.element);
        if (focused) (inInput && card.input ? card.input : card.element).focus({ preventScroll: true });
        card.unseen.forEach((_, one) => seer.observe(one));
        if (!old) first ??= card.element;
      }
      if (scroller.lastElementChild !== place) scroller.append(place);
      return first;
    },
    answered({ askId, problem }: Answered) {
      if (problem) sent.delete(askId);
      const card = cards.get(askId);
      if (!card || !problem) return;
      card.isSent = false;
      card.problem.textContent = problem;
      card.problem.hidden = false;
      allow(card);
    },
    reveal,
    // The cards as they stand, for one who reads there.
    standing: () => [...cards].map(([id, { element: one }]) => ({ top: one.offsetTop, height: one.offsetHeight, now: () => cards.get(id)?.element })),
    // A button that has moved may be under the pointer now: it sleeps for a moment.
    watchMoves() {
      const top = ({ element: one }: Card) => one.getBoundingClientRect().top;
      const before = [...cards.values()].filter(({ unseen }) => unseen.size === 0).map((card) => [card, top(card)] as const);
      return () => before.filter(([card, was]) => cards.get(card.id) === card && Math.abs(top(card) - was) > NEAR).forEach(([card]) => wake(card));
    },
    revealFirst(this: void) {
      const [first] = cards.keys();
      if (first !== undefined) reveal(first);
    },
    clear() {
      seer.disconnect();
      cards.clear();
      place.replaceChildren();
    },
    place,
  };
}
