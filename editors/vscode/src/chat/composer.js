// The box of the chat: what is typed and attached for each conversation, kept over a reload, and sent. A prompt that is refused stays.
// Never sends anything by itself.
'use strict';

const { randomUUID } = require('node:crypto');
const vscode = require('vscode');
const { line } = require('../display');
const { blockOf, viewOf } = require('./chips');
const { createDrafts } = require('./drafts');
const { createImages } = require('./images');

const NOT_RUNNING = 'the server is not running; the status bar says more';
// What helps after a refusal, by its name.
const CURES = {
  ProviderUnavailable: { label: 'Check the Set-up…', command: 'adjutant.doctor' },
  ImagesUnsupported: { label: 'Choose Another Model…', command: 'adjutant.task.choose' },
};
const NO_SERVER = { label: 'Restart the Server', command: 'adjutant.restart' };

// `kept` is what was kept of the drafts, `keep` keeps them; `of()` is the session in sight, `post` takes a message to the page;
// `place(session)` is where the user is, for a conversation that begins; `sent` hears of the session that has the prompt.
function createComposer(context, { kept, keep, of, post, isReady, execute, place, started, sent, complain }) {
  const images = createImages(context, complain);
  const drafts = createDrafts(kept, () => keep());
  let unsure; // the prompt of which it is not known whether the server has it
  let isSending = false, drawings = 0;
  let wantsFocus = false; // until the page has it, which may have to come first

  // Draws what is attached in the conversation in sight.
  const show = async () => {
    const [number, session] = [++drawings, of()];
    const views = await Promise.all(drafts.chips(session).map(async (chip) => {
      const data = chip.kind === 'image' ? await images.read(chip.file) : undefined;
      return viewOf(chip, data && `data:${chip.mimeType};base64,${data}`);
    }));
    if (number === drawings && session === of()) post({ type: 'chips', chips: views, focus: wantsFocus });
  };
  const tidy = () => void images.keepOnly(drafts.files()).catch(complain);
  const blocks = (chips) => Promise.all(chips.map(async (chip) => {
    const data = chip.kind === 'image' ? await images.read(chip.file) : undefined;
    if (chip.kind === 'image' && !data) throw new Error(`the image “${line(chip.name, 60)}” is not there any more; remove it and add it again`);
    return blockOf(chip, data);
  }));
  // The same again after a failure is the same prompt: the server may have it.
  const promptOf = async (session, text) => {
    const chips = drafts.chips(session);
    const isSame = unsure?.text === text && unsure.of === session && unsure.chips.length === chips.length && unsure.chips.every((chip, at) => chip === chips[at]);
    if (isSame) return unsure;
    // The lines that the user chose say more than where the cursor is.
    const { range, ...where } = place(session);
    const at = range && !chips.some(({ kind }) => kind !== 'image') ? { ...where, range } : where;
    const attach = chips.length ? { attach: await blocks(chips) } : {};
    unsure = { text, of: session, chips, params: { text, key: randomUUID(), sessionId: session, ...at, ...attach } };
    return unsure;
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
    async send(session, text, id) {
      try {
        if (!isReady()) throw new Error(NOT_RUNNING);
        started();
        isSending = true;
        const { params, chips } = await promptOf(session, text);
        const { sessionId } = await execute('adjutant.start', params);
        unsure = undefined;
        drafts.sent(session, text, chips.map((chip) => chip.id));
        tidy();
        post({ type: 'sent', id });
        await show();
        await sent(session, sessionId);
      } catch (error) {
        post({ type: 'refused', id, message: line(error.message, 300), cure: isReady() ? CURES[error.data?.name] : NO_SERVER });
      } finally {
        isSending = false;
      }
    },
    // Attaches something to the prompt of a conversation.
    attach(session, chip) {
      drafts.add(session, { id: randomUUID(), ...chip });
      wantsFocus = true;
      return show();
    },
    // Attaches an image that was pasted or dropped.
    image(session, { name, mimeType, data }) {
      const bytes = Buffer.byteLength(data, 'base64');
      return this.attach(session, { kind: 'image', name, mimeType, bytes, file: images.add(data) });
    },
    // The box has the focus.
    focused() {
      wantsFocus = false;
    },
    detach(session, id) {
      drafts.remove(session, id);
      tidy();
      return show();
    },
    // Opens what a chip names.
    async open(session, id) {
      const chip = drafts.chips(session).find((one) => one.id === id);
      if (chip?.kind !== 'link') return;
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(chip.uri, true));
      const { start, end } = chip.range ?? {};
      const selection = chip.range && document.validateRange(new vscode.Range(start.line, start.character, end.line, end.character));
      await vscode.window.showTextDocument(document, { preview: true, selection });
    },
    dispose: () => parts.forEach((part) => part.dispose()),
  };
}

module.exports = { NOT_RUNNING, createComposer };
