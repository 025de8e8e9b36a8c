// A conversation that another window has open: which process that is, and when it can go on here. Never opens it by itself.
import type { SessionChangedParams, SessionEntry } from '../wire';

// What the chat says instead of a conversation, and the button that tries to go on with it here.
export interface HeldView { text: string; again?: string }

// `list` asks the server for its conversations. `changed` draws the chat again. The window calls `told` when the server sends a
// changed entry of that list.
export function createHeld({ list, changed }: { list: () => Promise<SessionEntry[]>; changed: () => void }) {
  // The conversation that was refused, the process that has it, and whether one was ever seen.
  let held: { of: string; by?: number; isKnown: boolean; wasSeen: boolean } | undefined;
  const know = (of: string, entry?: SessionEntry) => {
    if (held?.of !== of) return;
    held = { of, by: entry?.openIn, isKnown: true, wasSeen: held.wasSeen || entry?.openIn !== undefined };
    changed();
  };
  return {
    hold(of: string) {
      held = { of, isKnown: false, wasSeen: false };
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
      const { by, isKnown, wasSeen } = held;
      if (isKnown && by === undefined && !wasSeen) return { text: 'Another process has this conversation open, or had it a moment ago. Which one cannot be seen from here.', again: 'Try Again' };
      if (isKnown && by === undefined) return { text: 'The window that had this conversation open has let it go.', again: 'Take Over' };
      const who = by === undefined ? 'another window' : `another window (process ${by})`;
      return { text: `This conversation is open in ${who}. Go on with it there, or here once that window has closed it or is gone.` };
    },
  };
}
