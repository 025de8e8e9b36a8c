// What is attached to a prompt: how each part is named in the box, and what the server gets for it.
// Never needs VS Code, and never quotes a file: the server does.

import { line } from '../display';
import type { ContentBlock, Position, Range } from '../wire';

export interface FileChip { id: string; kind: 'link'; uri: string; path: string; range?: Range }
export interface TextChip { id: string; kind: 'text'; uri?: undefined; path: string; range?: Range; text: string }
export interface ImageChip { id: string; kind: 'image'; uri?: undefined; range?: undefined; name: string; mimeType: string; bytes: number; file: string }
export type Chip = FileChip | TextChip | ImageChip;
export type NewChip = Omit<FileChip, 'id'> | Omit<TextChip, 'id'> | Omit<ImageChip, 'id'>;
// What the page draws of one.
export interface ChipView { id: string; label: string; title: string; opens: boolean; src?: string }
export interface TextChange { range: Range; text: string }

const MAX_LABEL = 60;
const MAX_TITLE = 300;
export const KINDS = ['link', 'text', 'image'];

// As the server names sizes.
export const size = (bytes: number) => (bytes < 1_000 ? `${bytes} bytes` : bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`);
const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1) || path;

// The lines of a range, from one. One that ends before the first character of a line does not touch that line.
function linesOf({ start, end }: Range) {
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  return [start.line + 1, last + 1];
}

// The page gets this of a chip; `src` is the picture of an image.
export function viewOf(chip: Chip, src?: string): ChipView {
  if (chip.kind === 'image') return { id: chip.id, label: line(chip.name, MAX_LABEL), title: line(`${chip.name}: ${chip.mimeType}, ${size(chip.bytes)}`, MAX_TITLE), opens: false, src };
  if (!chip.range) return { id: chip.id, label: line(nameOf(chip.path), MAX_LABEL), title: line(chip.path, MAX_TITLE), opens: chip.kind === 'link' };
  const [first, last] = linesOf(chip.range);
  const [short, long] = first === last ? [`:${first}`, `line ${first}`] : [`:${first}–${last}`, `lines ${first} to ${last}`];
  return { id: chip.id, label: `${line(nameOf(chip.path), MAX_LABEL)}${short}`, title: `${line(chip.path, MAX_TITLE)}, ${long}`, opens: chip.kind === 'link' };
}

// The block of the prompt; `data` is the content of an image.
export function blockOf(chip: Chip, data = ''): ContentBlock {
  switch (chip.kind) {
    case 'link': return { type: 'resource_link', uri: chip.uri, range: chip.range };
    case 'text': return { type: 'resource', uri: chip.path, text: chip.text };
    default: return { type: 'image', mimeType: chip.mimeType, data };
  }
}

// Whether both attach the same.
export const isSame = (one: NewChip, other: NewChip) => JSON.stringify({ ...one, id: '' }) === JSON.stringify({ ...other, id: '' });

const isBefore = (one: Position, other: Position) => one.line < other.line || (one.line === other.line && one.character < other.character);

// A range after a change of its document: what is written before it moves it, what is written into it is part of it.
export function shifted(range: Range, { range: changed, text }: TextChange): Range {
  const written = text.split(/\r\n|\r|\n/u);
  const tail = written[written.length - 1].length;
  const end = { line: changed.start.line + written.length - 1, character: written.length === 1 ? changed.start.character + tail : tail };
  const moved = (at: Position, isEnd: boolean): Position => {
    if (isBefore(at, changed.start) || (isEnd && !isBefore(changed.start, at))) return at;
    if (isBefore(at, changed.end)) return isEnd ? end : { line: changed.start.line, character: changed.start.character };
    if (at.line > changed.end.line) return { line: at.line + end.line - changed.end.line, character: at.character };
    return { line: end.line, character: end.character + at.character - changed.end.character };
  };
  return { start: moved(range.start, false), end: moved(range.end, true) };
}
