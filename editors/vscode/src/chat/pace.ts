// When the page of the chat is sent what is new: at once if nothing was sent lately, else once for all that came meanwhile, and not
// before the page has drawn what it was sent. Never sends more often than its pause allows, except for what cannot wait, which is `now`.

const PATIENCE_MS = 1_000; // with a page that does not say that it has drawn

// `draw` returns whether it sent something; `clock` has the functions of the time.
interface Clock { now: () => number; setTimeout: (run: () => void, after: number) => Timer; clearTimeout: (timer: Timer | undefined) => void }
type Timer = ReturnType<typeof setTimeout>;

export function createPace<Given extends unknown[]>(draw: (...given: Given | []) => boolean, pause: number, clock: Clock = { now: () => performance.now(), setTimeout, clearTimeout }) {
  let timer: Timer | undefined, last = -Infinity, isDrawing = false;
  const now = (...given: Given | []) => {
    clock.clearTimeout(timer);
    timer = undefined;
    last = clock.now();
    isDrawing = draw(...given);
  };
  const later = () => {
    timer ??= clock.setTimeout(() => now(), Math.max(0, last + (isDrawing ? PATIENCE_MS : pause) - clock.now()));
  };
  return {
    now,
    later,
    // The page has drawn what it was sent last.
    drawn() {
      isDrawing = false;
      if (timer === undefined) return;
      clock.clearTimeout(timer);
      timer = undefined;
      later();
    },
    dispose: () => clock.clearTimeout(timer),
  };
}
