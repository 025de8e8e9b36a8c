// Which place is shown next, and when (P20): only ever the newest one, at most one in a while, and none while the user types. Never shows
// anything itself.

const APART_MS = 1_000; // between two places
const QUIET_MS = 3_000; // after what the user typed or clicked last

// The functions of the time.
interface Clock { now: () => number; setTimeout: (run: () => void, after: number) => Timer; clearTimeout: (timer: Timer | undefined) => void }
type Timer = ReturnType<typeof setTimeout>;

export function createNewest<Place>(show: (place: Place) => void, clock: Clock = { now: () => performance.now(), setTimeout, clearTimeout }) {
  let next: Place | undefined, timer: Timer | undefined, shown = -Infinity, typed = -Infinity;
  const look = () => {
    timer = undefined;
    if (next === undefined) return;
    const wait = Math.max(shown + APART_MS, typed + QUIET_MS) - clock.now();
    if (wait > 0) {
      timer = clock.setTimeout(look, wait);
      return;
    }
    const place = next;
    next = undefined;
    shown = clock.now();
    show(place);
  };
  return {
    said(place: Place) {
      next = place;
      if (timer === undefined) look();
    },
    typed: () => { typed = clock.now(); },
    // Forgets the place that waits.
    forget() {
      next = undefined;
      clock.clearTimeout(timer);
      timer = undefined;
    },
  };
}
