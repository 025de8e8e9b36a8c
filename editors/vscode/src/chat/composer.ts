// The box of the chat: what is typed and attached for each conversation, kept over a reload, and sent. A prompt that is refused stays.
// Never sends anything by itself.

import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { line } from '../display';
import { type Complain, nameOf, wordsOf } from '../failure';
import { isThere, serverPath } from '../settings';
import type { ContentBlock, ErrorName, Origin, StartParams } from '../wire';
import { blockOf, type Chip, type NewChip, viewOf } from './chips';
import { createDrafts, type KeptDrafts } from './drafts';
import { createImages } from './images';
import type { Cure, ToPage } from './messages';

type Session = string | undefined;
interface Prompt { text: string; of: Session; chips: readonly Chip[]; params: StartParams }
interface Surfaces {
  kept?: KeptDrafts; keep: () => void; of: () => Session; post: (message: ToPage) => void; isReady: () => boolean; place: (session: Session) => Partial<Origin>;
  execute: <R>(command: string, argument: object) => Promise<R>; started: () => void; sent: (session: Session, has: string) => Promise<void>; complain: Complain;
}

export const NOT_RUNNING = 'the server is not running; the status bar says more';
// What helps after a refusal, by its name.
const CURES: Partial<Record<ErrorName, Cure>> = {
  ProviderUnavailable: { label: 'Check the Set-up…', command: 'adjutant.doctor' },
  ImagesUnsupported: { label: 'Choose Another Model…', command: 'adjutant.task.choose' },
};
const NO_SERVER: Cure = { label: 'Restart the Server', command: 'adjutant.restart' };
const NO_MODEL: Cure = { label: 'Add a Provider…', command: 'adjutant.provider.add' };
const NO_PROGRAM: Cure = { label: 'Find the Program…', command: 'adjutant.program' };

// `kept` is what was kept of the drafts, `keep` keeps them; `of()` is the session in sight, `post` takes a message to the page;
// `place(session)` is where the user is, for a conversation that begins; `sent` hears of the session that has the prompt.
export function createComposer(context: vscode.ExtensionContext, { kept, keep, of, post, isReady, execute, place, started, sent, complain }: Surfaces) {
  const images = createImages(context, complain);
  const drafts = createDrafts(kept, () => keep());
  let unsure: Prompt | undefined; // the prompt of which it is not known whether the server has it
  let isSending = false, drawings = 0;
  let wantsFocus = false; // until the page has it, which may have to come first

  // Draws what is attached in the conversation in sight.
  const show = async () => {
    const [number, session] = [++drawings, of()];
    const views = await Promise.all(drafts.chips(session).map(async (chip) => {
      if (chip.kind !== 'image') return viewOf(chip);
      const data = await images.read(chip.file);
      return viewOf(chip, data && `data:${chip.mimeType};base64,${data}`);
    }));
    if (number === drawings && session === of()) post({ type: 'chips', chips: views, focus: wantsFocus });
  };
  const tidy = () => void images.keepOnly(drafts.files).catch(complain);
  const blocks = (chips: readonly Chip[]) => Promise.all(chips.map(async (chip): Promise<ContentBlock> => {
    if (chip.kind !== 'image') return blockOf(chip);
    const data = await images.read(chip.file);
    if (!data) throw new Error(`the image “${line(chip.name, 60)}” is not there any more; remove it and add it again`);
    return blockOf(chip, data);
  }));
  // What a refusal says, and what helps. The server's sentence about a missing model is for a terminal.
  const refusalOf = (error: unknown): { message: string; cure?: Cure } => {
    const message = line(wordsOf(error), 300);
    const name = nameOf(error);
    if (!isReady()) return { message, cure: isThere(serverPath()) ? NO_SERVER : NO_PROGRAM };
    if (name === 'ProviderUnavailable' && message.startsWith('no model is configured')) return { message: 'No model is set up yet.', cure: NO_MODEL };
    return { message, cure: name && CURES[name] };
  };
  // The same again after a failure is the same prompt: the server may have it.
  const promptOf = async (session: Session, text: string) => {
    const chips = drafts.chips(session);
    const before = unsure;
    const isSame = before?.text === text && before.of === session && before.chips.length === chips.length && before.chips.every((chip, at) => chip === chips[at]);
    if (isSame) return before;
    // The lines that the user chose say more than where the cursor is.
    const { range, ...where } = place(session);
    const at = range && !chips.some(({ kind }) => kind !== 'image') ? { ...where, range } : where;
    const attach = chips.length ? { attach: await blocks(chips) } : {};
    const made: Prompt = { text, of: session, chips, params: { text, key: randomUUID(), sessionId: session, ...at, ...attach } };
    unsure = made;
    return made;
  };
  const parts = [vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    if (drafts.shift(document.uri.toString(), contentChanges)) show().catch(complain);
  })];
  tidy();
  return {
    drafts,
    show,
    isSending: () => isSending,
    // A prompt is for the conversation in which it was typed, whatever is shown by now.
    async send(session: Session, text: string, id: string) {
      try {
        if (!isReady()) throw new Error(NOT_RUNNING);
        started();
        isSending = true;
        const { params, chips } = await promptOf(session, text);
        const { sessionId } = await execute<{ sessionId: string }>('adjutant.start', params);
        unsure = undefined;
        drafts.sent(session, text, chips.map((chip) => chip.id));
        tidy();
        post({ type: 'sent', id });
        await show();
        await sent(session, sessionId);
      } catch (error) {
        post({ type: 'refused', id, ...refusalOf(error) });
      } finally {
        isSending = false;
      }
    },
    // Attaches something to the prompt of a conversation.
    attach(session: Session, chip: NewChip) {
      drafts.add(session, { id: randomUUID(), ...chip });
      wantsFocus = true;
      return show();
    },
    // Attaches an image that was pasted or dropped.
    image(session: Session, { name, mimeType, data }: { name: string; mimeType: string; data: string }) {
      const bytes = Buffer.byteLength(data, 'base64');
      return this.attach(session, { kind: 'image', name, mimeType, bytes, file: images.add(data) });
    },
    // The box has the focus.
    focused() {
      wantsFocus = false;
    },
    detach(session: Session, id: string) {
      drafts.remove(session, id);
      tidy();
      return show();
    },
    // Opens what a chip names.
    async open(session: Session, id: string) {
      const chip = drafts.chips(session).find((one) => one.id === id);
      if (chip?.kind !== 'link') return;
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(chip.uri, true));
      const { range } = chip;
      const selection = range && document.validateRange(new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character));
      await vscode.window.showTextDocument(document, { preview: true, selection });
    },
    dispose: () => parts.forEach((part) => part.dispose()),
  };
}
