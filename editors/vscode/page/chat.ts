// The page of the chat. Holds no truth: it draws what it is sent.
// Never makes a link, loads anything, or runs what a text says.
import type { Item } from '../src/chat/conversation';
import type { Draw, FromPage, OptionButton, ToPage } from '../src/chat/messages';
import type { Detail, State } from '../src/wire';
import { createChanges } from './change';
import { createChips } from './chips';
import { createCompletion } from './complete';
import { button, element } from './element';
import { createHistory } from './history';
import { createCards } from './question';
import { createReplies } from './reply';
import { createSteps } from './step';

interface Place { at: number; kind: Item['kind']; element: HTMLElement }

const page = acquireVsCodeApi<{ typed?: Record<string, string> }>();
// A part of the document, which `src/chat/page.ts` has under this name.
function part<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`the page has no ${id}`);
}
const [items, plan, problem, state, options] = [part('items', HTMLElement), part('plan', HTMLDetailsElement), part('problem', HTMLElement), part('state', HTMLElement), part('options', HTMLElement)];
const [composer, text, stop, send] = [part('composer', HTMLFormElement), part('text', HTMLTextAreaElement), part('stop', HTMLButtonElement), part('send', HTMLButtonElement)];
const tell = (message: FromPage) => page.postMessage(message);
const places = new Map<string, Place>(); // of each item its element
const NAMES: Partial<Record<string, string>> = { prompt: 'You', reply: 'Answer', thought: 'Thought', tool: 'Step', compaction: 'Compaction', change: 'Change', ask: 'Question', end: 'End', notice: 'Notice' };
const STEPS: Partial<Record<string, string>> = { pending: '☐', in_progress: '◐', completed: '☑' };
const STATES: Partial<Record<string, string>> = { running: 'At work', requires_action: 'Waits for your answer', resumable: 'Was cut short' };
const PLACES: Partial<Record<string, string>> = { running: 'Say more while it works', requires_action: 'Answer above, or say more' };
const MOST_READ = 3; // items that one may read at once
const STEPS_TO_MODEL: [label: string, title: string, command: string][] = [
  ['Add a Provider…', 'Set up a service, its key and a model', 'adjutant.provider.add'],
  ['Try Without a Key', 'Run a demo with a scripted model in a terminal', 'adjutant.demo'],
];
let session: string | undefined, sending: string | undefined, given = '', now: State = 'none', bareOf = false;

const drafted = () => {
  tell({ type: 'draft', session, text: text.value });
  label();
};
// A prompt of before that only stands there is no draft: what was typed stays it.
const history = createHistory(text, () => tell({ type: 'history' }), () => label());
const changes = createChanges(tell);
const replies = createReplies(tell);
const steps = createSteps(tell);
const cards = createCards(items, tell, page);
const complain = (message: string) => {
  // What stands between backquotes is to be typed as it is.
  const parts = message.split('`');
  const words = parts.length % 2 ? parts.map((one, at) => (at % 2 ? element('code', '', one) : one)) : [message];
  const made = element('div', 'words');
  made.tabIndex = 0;
  made.append(...words);
  problem.replaceChildren(made);
  problem.hidden = false;
};
const completion = createCompletion({ list: part('completions', HTMLElement), box: text, send: tell });
const chips = createChips({ list: part('chips', HTMLElement), box: text, composer, send: (message, of) => tell({ ...message, session: of }), here: () => session, complain, changed: () => label() });

function body(item: Item): HTMLElement[] {
  const parts: HTMLElement[] = [];
  switch (item.kind) {
    case 'reply': return replies.body(item);
    case 'thought': {
      const made = element('details');
      made.open = isFull();
      made.append(element('summary', '', 'Thought'), element('div', 'plain', item.text));
      return [made];
    }
    case 'compaction': {
      if (!item.more) return [element('div', 'plain', item.text)];
      const made = element('details');
      made.open = isFull();
      const reads = element('pre', '', item.more);
      reads.tabIndex = 0;
      reads.setAttribute('aria-label', 'What the model reads in place of what was before');
      made.append(element('summary', '', item.text), element('div', 'note', 'In place of what was before, the model reads:'), reads);
      return [made];
    }
    case 'tool': return steps.body(item);
    case 'change': return changes.body(item);
    case 'ask':
      return [element('span', '', item.text), element('span', 'note', item.note)];
    default:
      parts.push(element('div', 'plain', item.text));
      if (item.more) {
        const made = element('details');
        made.append(element('summary', 'note', item.about), element('pre', '', item.more));
        parts.push(made);
      }
      if (item.attached?.length) {
        const list = element('ul', 'attached');
        list.setAttribute('aria-label', 'Added to the prompt');
        list.append(...item.attached.map((name) => element('li', 'chip', name)));
        parts.splice(1, 0, list);
      }
      if (item.note) parts.push(element('div', 'note', item.note));
      if (item.kind === 'prompt') {
        const made = button('Fork from Here', 'Begin a copy of this conversation that ends before this prompt; its words go into the box', () => tell({ type: 'fork', prompt: item.id }));
        made.className = 'fork';
        parts.push(made);
      }
      const { run } = item;
      if (run) {
        const row = element('div', 'answers');
        if (item.waits) row.append(button('Review', 'Show all changes that wait for a review', () => tell({ type: 'review' })));
        row.append(button('Undo Run…', 'Put back all files as they were before this task', () => tell({ type: 'undoRun', run })));
        parts.push(row);
      }
      return parts;
  }
}

// Who went to an item by key stays at the same button, or at the item: another press does nothing else there.
function refocus(made: HTMLElement, before: Element) {
  const name = (one: HTMLElement) => `${one.tagName} ${one.title} ${one.className}`;
  made.tabIndex = -1;
  const same = [...made.querySelectorAll<HTMLElement>('button, summary, [tabindex]')].find((one) => one === before || (before instanceof HTMLElement && name(one) === name(before)));
  (same ?? made).focus({ preventScroll: true });
}

function put(item: Item): void {
  const old = places.get(item.id);
  if (old && old.at === item.at && item.kind === 'tool' && steps.prints(item)) return;
  if (old && old.at === item.at && item.kind === 'reply' && old.kind === 'reply' && replies.grows(item, old.element)) return;
  // Before parts of the old one move into the new one.
  const focused = old?.element.contains(document.activeElement) ? document.activeElement : undefined;
  const made = element('article', item.bad ? `${item.kind} bad` : item.kind);
  // A step with an answer of the user is not left out.
  made.toggleAttribute('data-minor', item.minor === true && !item.answer);
  if (item.kind !== 'reply') made.dir = 'auto';
  made.setAttribute('aria-label', NAMES[item.kind] ?? item.kind);
  // Its card says it all.
  made.hidden = item.asked === true;
  made.append(...body(item));
  const fold = old?.element.querySelector('details');
  if (fold?.open) made.querySelector('details')?.setAttribute('open', '');
  Object.assign(made.dataset, { id: item.id, at: String(item.at) });
  places.set(item.id, { at: item.at, kind: item.kind, element: made });
  if (old && old.at === item.at) {
    old.element.replaceWith(made);
    if (focused) refocus(made, focused);
    return;
  }
  old?.element.remove();
  // Nearly always the last one.
  let after = items.lastElementChild;
  while (after && (after === cards.place || Number((after as HTMLElement).dataset.at) > item.at)) after = after.previousElementSibling;
  if (after) after.after(made);
  else items.prepend(made);
}

// The first items and cards that are in sight, by their places now; the first of them that is still there is the one to stay at.
function inSight() {
  const all = [...items.children].filter((child) => child instanceof HTMLElement && child.dataset.id !== undefined && child.offsetParent) as HTMLElement[];
  const isSeen = ({ top, height }: { top: number; height: number }) => top + height > items.scrollTop;
  const begun = all.findIndex((child) => isSeen({ top: child.offsetTop, height: child.offsetHeight }));
  const some = begun < 0 ? [] : all.slice(begun, begun + MOST_READ);
  return [...some.map((child) => ({ top: child.offsetTop, now: () => places.get(child.dataset.id ?? '')?.element })), ...cards.standing().filter(isSeen)];
}

// Brings the first of them that is drawn to where it was.
function stayAt(read: ReturnType<typeof inSight>) {
  for (const { top, now: find } of read) {
    const made = find();
    if (!made?.offsetParent) continue;
    items.scrollTop += made.offsetTop - top;
    return;
  }
}

function draw({ reset, draft, session: of, items: drawn, plan: entries, state: next, sub, used, older: more, questions, reveal, options: chosen, held, bare, openFolder, detail }: Draw) {
  const atEnd = items.scrollHeight - items.scrollTop - items.clientHeight < 40;
  const read = atEnd ? undefined : inSight();
  const tellMoves = cards.watchMoves();
  if (reset) {
    places.clear();
    replies.clear();
    cards.clear();
    changes.clear();
    steps.clear();
    items.replaceChildren();
  }
  session = of;
  if (draft !== undefined) {
    history.forget();
    completion.close();
    text.value = draft;
    chips.clear();
    problem.hidden = true;
  }
  drawDetail(detail);
  items.querySelector('.empty')?.remove();
  items.querySelector('.older')?.remove();
  drawn.forEach(put);
  if (more) {
    const made = button('Show what was before', 'Load older parts of this conversation', () => tell({ type: 'older' }));
    made.className = 'older';
    items.prepend(made);
  }
  // A conversation that was begun stays as it is.
  const needsModel = bare && places.size === 0;
  bareOf = needsModel || held !== undefined;
  show();
  if (held) {
    const made = element('div', 'empty');
    made.append(element('p', '', held.text));
    if (held.again) made.append(button(held.again, 'Go on with this conversation in this window', () => page.postMessage({ type: 'takeOver' })));
    items.append(made);
  } else if (needsModel) {
    const made = element('div', 'empty');
    made.append(element('p', '', 'No model is set up yet. Choose the service that has one: Adjutant asks for its key, tries it once and writes your settings.'));
    const row = element('div', 'answers');
    row.append(...STEPS_TO_MODEL.map(([label, title, command]) => button(label, title, () => tell({ type: 'cure', command }))));
    made.append(row);
    items.append(made);
  } else if (places.size === 0 && !session) {
    const made = element('div', 'empty');
    made.append(element('p', '', 'Say what is to be done, in your words. Adjutant looks at the files that are open here, and asks before it runs anything.'));
    if (openFolder) {
      made.append(element('p', '', 'No folder is open here, so Adjutant can read and change no file. What you have typed goes along.'));
      made.append(button('Open Folder…', 'Choose the folder of your project', () => tell({ type: 'cure', command: openFolder })));
    }
    made.append(button('Conversations…', 'Show an earlier conversation', () => tell({ type: 'conversations' })));
    items.append(made);
  }
  const asked = questions && cards.draw(questions);
  // Who reads the end stays at the end, and sees a new question from its begin; who reads elsewhere stays there.
  if (atEnd || reset) items.scrollTop = asked ? Math.min(items.scrollHeight, asked.offsetTop - 8) : items.scrollHeight;
  else if (read) stayAt(read);
  tellMoves();
  if (reveal) cards.reveal(reveal);
  const [was, is] = [isRunning(), next === 'running' || next === 'requires_action'];
  now = next;
  drawPlan(entries, reset || was !== is ? is : undefined);
  drawState(sub, used);
  stop.hidden = !isRunning();
  drawOptions(chosen);
  label();
}

const isFull = () => items.dataset.detail === 'full';

// What is left out, and what is unfolded below its line, is in the style.
function drawDetail(detail: Detail) {
  if (items.dataset.detail === detail) return;
  items.dataset.detail = detail;
  for (const fold of items.querySelectorAll<HTMLDetailsElement>(':is(.thought, .compaction) > details')) fold.open = isFull();
}

// The words for a question lead to it: it may be out of sight.
function drawState(sub: Draw['sub'], used: string) {
  const does = now === 'running' && sub === 'compacting' ? 'Compacting the conversation' : STATES[now] ?? '';
  const words = [does, used].filter(Boolean);
  if (state.textContent === words.join(' · ')) return;
  const made = words.map((one) => (one === STATES.requires_action ? button(one, 'Show the question', cards.revealFirst) : one));
  state.replaceChildren(...made.flatMap((one, at) => (at ? [' · ', one] : [one])));
}

// The plan is unfolded while a task is at work, and folded after it; the user may choose otherwise until then.
function drawPlan(entries: Draw['plan'], unfold: boolean | undefined) {
  if (unfold !== undefined) plan.open = unfold;
  const json = JSON.stringify(entries);
  // What stays the same stays under the pointer.
  if (plan.dataset.drawn === json) return;
  plan.dataset.drawn = json;
  plan.hidden = entries.length === 0;
  const done = entries.filter(({ status }) => status === 'completed').length;
  const steps = entries.map(({ content, status }) => element('div', status, `${STEPS[status] ?? STEPS.pending} ${content}`));
  plan.replaceChildren(...(steps.length ? [element('summary', '', `Plan ${done}/${steps.length}`), ...steps] : []));
}

// The buttons stay while they say the same, so that one that is pressed is not replaced under the pointer.
function drawOptions(chosen: OptionButton[]) {
  // Without a model the server has no such option.
  const all: OptionButton[] = chosen.some(({ id }) => id === 'model') ? chosen : [...chosen, { label: 'Model…', title: 'Choose model, mode or effort' }];
  const json = JSON.stringify(all);
  if (options.dataset.drawn === json) return;
  options.dataset.drawn = json;
  options.replaceChildren(...all.map(({ id, label: name, title }) => button(name, title, () => tell({ type: 'choose', option: id }))));
}

// What is in the box is not hidden.
function show() {
  composer.hidden = bareOf && !text.value && chips.isEmpty();
}

function label() {
  text.placeholder = PLACES[now] ?? 'What is to be done?';
  send.title = isRunning() ? 'Tell it to the task that is at work (Enter)' : 'Give it to the agent (Enter)';
  send.disabled = isHeld();
}

const isRunning = () => now === 'running' || now === 'requires_action';

// Why nothing can be sent now: something is on its way, or there are no words, or an image is not read yet.
const isHeld = () => sending !== undefined || !text.value.trim() || chips.isReading();

composer.addEventListener('submit', (event) => {
  event.preventDefault();
  if (isHeld()) return;
  sending = crypto.randomUUID();
  given = text.value;
  problem.hidden = true;
  tell({ type: 'send', session, text: text.value, id: sending });
  label();
});
text.addEventListener('keydown', (event) => {
  if (completion.key(event) || history.key(event) || chips.key(event)) return event.preventDefault();
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return undefined;
  event.preventDefault();
  return composer.requestSubmit();
});
text.addEventListener('input', () => {
  history.typed();
  completion.typed();
  drafted();
});
stop.addEventListener('click', () => tell({ type: 'stop' }));

window.addEventListener('message', ({ data }: MessageEvent<ToPage>): unknown => {
  switch (data.type) {
    case 'draw':
      draw(data);
      // What is new meanwhile comes after the picture, in one message.
      return requestAnimationFrame(() => tell({ type: 'drawn' }));
    case 'chips':
      chips.draw(data);
      return show();
    case 'answered': return cards.answered(data);
    case 'output': return steps.given(data);
    case 'unfolded': return changes.unfolded(data);
    case 'history': return history.given(data.prompts);
    case 'completions': return completion.given(data);
    case 'sent':
    case 'refused':
      if (data.id !== sending) return undefined;
      sending = undefined;
      if (data.type === 'refused') {
        // The prompt stays in the box.
        const { cure } = data;
        complain(data.message);
        if (cure) problem.append(button(cure.label, data.message, () => tell({ type: 'cure', command: cure.command })));
      } else if (text.value === given) {
        text.value = '';
        history.forget();
        completion.close();
      }
      return label();
  }
  return undefined;
});

label();
tell({ type: 'ready' });
