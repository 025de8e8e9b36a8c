// A reply of the model, drawn as Markdown block by block: while it streams, only the blocks that changed are drawn again, so that
// what is marked or scrolled before them stays so. Never makes a link, loads anything, or takes HTML of a text.
import MarkdownIt from 'markdown-it';
import type { Item } from '../src/chat/conversation';
import type { FromPage } from '../src/chat/messages';
import { button, element } from './element';

interface Block { html: string; nodes: ChildNode[] }

const markdown = new MarkdownIt({ html: false, linkify: false }).disable(['link', 'image', 'autolink', 'reference', 'entity', 'hr', 'lheading']);
const MOST_STREAMED = 20_000; // characters that are drawn as Markdown while they come: to read them again and again takes longer than they stream
const MOST_DRAWN = 250_000; // characters of HTML of one reply: a small table can become many cells

// Returns the HTML of each block; together they are the whole text.
export function blocksOf(text: string) {
  const blocks: string[] = [];
  let block: ReturnType<typeof markdown.parse> = [], depth = 0;
  for (const token of markdown.parse(text, {})) {
    block.push(token);
    depth += token.nesting;
    if (depth > 0) continue;
    blocks.push(markdown.renderer.render(block, markdown.options, {}));
    block = [];
  }
  return blocks;
}

// `send` takes a message to the extension.
export function createReplies(send: (message: FromPage) => void) {
  const drawn = new WeakMap<Element, Block[]>(); // by element, its blocks: their HTML and their nodes
  const tooLarge = new Set<string>(); // by id

  function plain(place: HTMLElement, text: string) {
    const node = place.firstChild;
    place.dir = 'auto';
    // Most often there is more at its end.
    if (node instanceof Text && text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
    else place.textContent = text;
  }
  // Beside the code, and not in it: it may be scrolled.
  function withTools(code: HTMLElement) {
    const place = element('div', 'code'), tools = element('div', 'tools');
    const text = () => (code.textContent ?? '').replace(/\n$/, '');
    tools.append(button('Copy', 'Copy this code', () => send({ type: 'copy', text: text() })));
    tools.append(button('Insert', 'Put this code at the cursor of your file', () => send({ type: 'insert', text: text() })));
    place.dir = 'ltr';
    code.replaceWith(place);
    place.append(code, tools);
  }
  function blocks(place: HTMLElement, all: string[]) {
    const before = drawn.get(place) ?? [];
    const same = all.findIndex((html, at) => html !== before[at]?.html);
    const kept = same < 0 ? all.length : same;
    before.slice(kept).forEach(({ nodes }) => nodes.forEach((node) => node.remove()));
    const made = all.slice(kept).map((html) => {
      const template = document.createElement('template');
      template.innerHTML = html;
      // Each block has the direction of its own words; code is always read from the left.
      [...template.content.children, ...template.content.querySelectorAll('li, pre')].filter((one) => one instanceof HTMLElement).forEach((one) => { one.dir = one.tagName === 'PRE' ? 'ltr' : 'auto'; });
      // What may be wider than the view is scrolled by key, too.
      template.content.querySelectorAll<HTMLElement>('pre, table').forEach((wide) => {
        wide.tabIndex = 0;
        if (wide.tagName === 'PRE') wide.setAttribute('aria-label', 'Code');
      });
      template.content.querySelectorAll('pre').forEach(withTools);
      const nodes = [...template.content.childNodes];
      place.append(...nodes);
      return { html, nodes };
    });
    drawn.set(place, [...before.slice(0, kept), ...made]);
  }
  // Draws the text into its place; whether that can be done in a place of this kind.
  function fill(place: HTMLElement, item: Item) {
    const isPlain = tooLarge.has(item.id) || (item.streams && item.text.length > MOST_STREAMED);
    const all = isPlain ? [] : blocksOf(item.text);
    const isLarge = isPlain || all.reduce((size, html) => size + html.length, 0) > MOST_DRAWN;
    if (isLarge && !isPlain) tooLarge.add(item.id);
    if (place.className !== (isLarge ? 'plain' : 'markdown')) return false;
    if (isLarge) plain(place, item.text);
    else blocks(place, all);
    return true;
  }
  const body = (item: Item) => {
    const place = element('div', 'markdown');
    if (fill(place, item)) return [place];
    place.className = 'plain';
    fill(place, item);
    return [place];
  };

  return {
    body,
    // Draws only what is new, into what is there. Returns whether it did.
    grows: (item: Item, { firstElementChild: place }: Element) => place instanceof HTMLElement && fill(place, item),
    clear: () => tooLarge.clear(),
  };
}
