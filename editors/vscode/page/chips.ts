// What is attached to the prompt, above the box: chips that open and that can be removed, and images that are pasted or dropped.
// Never loads anything: a picture comes with its chip.
import type { ChipView } from '../src/chat/chips';
import type { Chips, FromChips } from '../src/chat/messages';
import { button, element } from './element';

interface Parts {
  list: HTMLElement; box: HTMLTextAreaElement; composer: HTMLElement; send: (message: FromChips, session: string | undefined) => void; here: () => string | undefined; complain: (sentence: string) => void; changed: () => void;
}

const TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const MOST_BYTES = 30_000_000; // of a file that is read at all; what a prompt may have is the server's word
const PASTED = 'image.png'; // how the browser calls what has no name

const base64 = (file: File) => new Promise<string>((read, failed) => {
  const reader = new FileReader();
  reader.addEventListener('load', () => {
    const url = String(reader.result);
    read(url.slice(url.indexOf(',') + 1));
  });
  reader.addEventListener('error', () => failed(reader.error));
  reader.readAsDataURL(file);
});

// `send` takes a message about a conversation to the extension, `here` is the one in sight, `complain` shows a sentence, `changed` is called when the number of chips or of images that are being read is
// another.
export function createChips({ list, box, composer, send, here, complain, changed }: Parts) {
  let chips: ChipView[] = [], reading = 0, next: number | undefined;

  const remove = (id: string) => {
    next = chips.findIndex((chip) => chip.id === id);
    send({ type: 'detach', chip: id }, here());
  };
  const chipOf = ({ id, label, title, opens, src }: ChipView) => {
    const made = element('li', 'chip');
    if (src) {
      const picture = element('img');
      Object.assign(picture, { src, alt: '' });
      made.append(picture);
    }
    const name = opens ? button(label, `Open ${title}`, () => send({ type: 'openChip', chip: id }, here())) : element('span', '', label);
    name.classList.add('name');
    if (!opens) name.title = title;
    const away = button('×', `Remove ${title}`, () => remove(id));
    away.className = 'remove';
    away.setAttribute('aria-label', `Remove ${title}`);
    made.append(name, away);
    made.addEventListener('keydown', (event) => {
      if (event.key !== 'Delete' && event.key !== 'Backspace') return;
      event.preventDefault();
      remove(id);
    });
    return made;
  };
  const take = async (files: File[]) => {
    // To read an image takes a moment; it is for the conversation in which it was pasted.
    const of = here();
    const images = files.filter(({ type }) => TYPES.includes(type));
    if (images.length < files.length) complain('Only PNG, JPEG, GIF and WebP images can be added here. For another file use Adjutant: Add File to Prompt.');
    for (const file of images) {
      if (file.size > MOST_BYTES) {
        complain(`“${file.name}” has ${Math.round(file.size / 1_000_000)} MB; make it smaller.`);
        continue;
      }
      reading += 1;
      changed();
      try {
        send({ type: 'image', name: file.name === PASTED ? 'Pasted image' : file.name, mimeType: file.type, data: await base64(file) }, of);
      } catch {
        complain(`“${file.name}” could not be read.`);
      } finally {
        reading -= 1;
        changed();
      }
    }
  };

  box.addEventListener('paste', (event) => {
    const clipboard = event.clipboardData;
    // What has words too, such as a cell of a table, is meant as words.
    if (!clipboard || clipboard.files.length === 0 || clipboard.getData('text/plain')) return;
    event.preventDefault();
    take([...clipboard.files]);
  });
  composer.addEventListener('dragover', (event) => {
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = 'copy';
  });
  composer.addEventListener('drop', (event) => {
    const { dataTransfer } = event;
    if (!dataTransfer) return;
    const uris = (dataTransfer.getData('application/vnd.code.uri-list') || dataTransfer.getData('text/uri-list')).split(/\r?\n/).filter((uri) => uri.startsWith('file:') || uri.startsWith('vscode-remote:'));
    // Marked words that are dropped are words.
    if (uris.length === 0 && dataTransfer.files.length === 0) return;
    event.preventDefault();
    if (uris.length) send({ type: 'files', uris }, here());
    else take([...dataTransfer.files]);
  });

  return {
    isEmpty: () => chips.length === 0,
    // Whether an image is not read yet: a prompt that is sent now would not have it.
    isReading: () => reading > 0,
    // Handles a key of the box; whether it was one for this.
    key(event: KeyboardEvent) {
      const isAtStart = box.selectionStart === 0 && box.selectionEnd === 0;
      // A key that is held to empty the box ends at its begin.
      const last = chips.at(-1);
      if (event.key !== 'Backspace' || event.repeat || event.isComposing || !isAtStart || !last) return false;
      remove(last.id);
      next = undefined;
      return true;
    },
    draw({ chips: all, focus }: Chips) {
      const isHere = list.contains(document.activeElement);
      chips = all;
      list.replaceChildren(...chips.map(chipOf));
      list.hidden = chips.length === 0;
      // Who removed one by key goes on at the next one.
      const after = next === undefined ? undefined : list.children[Math.min(next, chips.length - 1)];
      if (focus) {
        box.focus();
        send({ type: 'focused' }, here());
      } else if (isHere) (after?.querySelector<HTMLElement>('.remove') ?? box).focus();
      next = undefined;
      changed();
    },
    clear() {
      chips = [];
      list.replaceChildren();
      list.hidden = true;
    },
  };
}
