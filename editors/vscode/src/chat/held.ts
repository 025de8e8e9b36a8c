// A conversation that another window has open: which process that is, and when it can go on here. Never opens it by itself.
import type { SessionChangedParams, SessionEntry } from '../wire';

// What the chat says instead of a conversation, and whether it can go on here.
export interface HeldView { text: string; isFree: boolean }

// `list` returns the entries of the conversations here, and from then on `told` hears of each that changes. `changed` is called
// when there is something else to show.
export function createHeld({ list, changed }: { list: () => Promise<SessionEntry[]>; changed: () => void }) {
  let held: { of: string; by?: number; isKnown: boolean } | undefined; // the conversation that was refused, and the process that has it
  const know = (of: string, entry?: SessionEntry) => {
    if (held?.of !== of) return;
    held = { of, by: entry?.openIn, isKnown: true };
    changed();
  };
  return {
    hold(of: string) {
      held = { of, isKnown: false };
      changed();
      // Without an entry the user may try: the server refuses again if it has to.
      const found = (entries: SessionEntry[]) => know(of, entries.find(({ sessionId }) => sessionId === of));
      return list().then(found, () => know(of, undefined));
    },
    told: ({ sessionId, session }: SessionChangedParams) => know(sessionId, session),
    forget: () => void (held = undefined),
    // What the chat says instead of this conversation.
    view(of: string | undefined): HeldView | undefined {
      if (of === undefined || held?.of !== of) return undefined;
      const { by, isKnown } = held;
      if (isKnown && by === undefined) return { text: 'The window that had this conversation open has let it go.', isFree: true };
      const who = by === undefined ? 'another window' : `another window (process ${by})`;
      return { text: `This conversation is open in ${who}. Go on with it there, or here once that window has closed it or is gone.`, isFree: false };
    },
  };
}
