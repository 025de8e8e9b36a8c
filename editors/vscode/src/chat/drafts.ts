// What is typed and attached for each conversation and not sent yet. Never needs VS Code, and never changes a chip: one that is other
// is another object.

import { type Chip, KINDS, type TextChange, isSame, shifted } from './chips';

interface Draft { readonly text: string; readonly chips: readonly Chip[] }
// As the window keeps it: a session, and its draft. A window of before kept the text alone.
export type KeptDrafts = [string, Draft | string][];
type Session = string | undefined;

const MOST_DRAFTS = 50;
const EMPTY: Draft = { text: '', chips: [] };

const known = (kept: Partial<Draft> | string | undefined): Draft => (typeof kept === 'string' ? { text: kept, chips: [] } : { text: kept?.text ?? '', chips: (kept?.chips ?? []).filter(({ kind }) => KINDS.includes(kind)) });

// `kept` is what `all` returned, perhaps in an earlier window; `changed` is called after each change.
export function createDrafts(kept: KeptDrafts | undefined, changed: () => void) {
  const drafts = new Map<string, Draft>((kept ?? []).map(([of, draft]) => [of, known(draft)]));
  const of = (session: Session) => drafts.get(session ?? '') ?? EMPTY;
  const put = (session: Session, draft: Draft) => {
    drafts.delete(session ?? '');
    // The newest come last.
    if (draft.text || draft.chips.length) drafts.set(session ?? '', draft);
    changed();
  };
  return {
    text: (session: Session) => of(session).text,
    chips: (session: Session) => of(session).chips,
    has: (session: Session) => drafts.has(session ?? ''),
    type: (session: Session, text: string) => put(session, { ...of(session), text }),
    // Attaches a chip, unless it is attached already.
    add(session: Session, chip: Chip) {
      const draft = of(session);
      if (!draft.chips.some((one) => isSame(one, chip))) put(session, { ...draft, chips: [...draft.chips, chip] });
    },
    remove(session: Session, id: string) {
      const draft = of(session);
      put(session, { ...draft, chips: draft.chips.filter((chip) => chip.id !== id) });
    },
    // What was sent goes; what came to it meanwhile stays.
    sent(session: Session, text: string, ids: string[]) {
      const draft = of(session);
      put(session, { text: draft.text === text ? '' : draft.text, chips: draft.chips.filter((chip) => !ids.includes(chip.id)) });
    },
    // Takes what is in the box to another conversation, which has no draft. Whether there was something to take.
    move(from: Session, to: Session) {
      const draft = drafts.get(from ?? '');
      if (!draft || (from ?? '') === (to ?? '') || drafts.has(to ?? '')) return false;
      drafts.delete(from ?? '');
      put(to, draft);
      return true;
    },
    // A document has changed: the lines that are attached of it stay the same. Whether a chip moved.
    shift(uri: string, changes: readonly TextChange[]) {
      let isMoved = false;
      for (const [session, draft] of drafts) {
        const chips = draft.chips.map((chip) => {
          if (chip.uri !== uri || !chip.range) return chip;
          const range = changes.reduce(shifted, chip.range);
          return JSON.stringify(range) === JSON.stringify(chip.range) ? chip : { ...chip, range };
        });
        if (chips.every((chip, at) => chip === draft.chips[at])) continue;
        isMoved = true;
        drafts.set(session, { ...draft, chips });
      }
      if (isMoved) changed();
      return isMoved;
    },
    all: (): KeptDrafts => [...drafts].slice(-MOST_DRAFTS),
    // The files of the images of all drafts.
    files: () => [...drafts.values()].flatMap(({ chips }) => chips.flatMap((chip) => (chip.kind === 'image' ? [chip.file] : []))),
  };
}
