// When the page of the chat is sent what is new: at once if nothing was sent lately, else once for all that came meanwhile, and not
// before the page has drawn what it was sent. Never sends more often than its pause allows, except for what cannot wait, which is `now`.
'use strict';

const PATIENCE_MS = 1_000; // with a page that does not say that it has drawn

// `draw` returns whether it sent something; `clock` has the functions of the time.
function createPace(draw, pause, clock = { now: () => performance.now(), setTimeout, clearTimeout }) {
  let timer, last = -Infinity, isDrawing = false;
  const now = (...given) => {
    clock.clearTimeout(timer);
    timer = undefined;
    last = clock.now();
    isDrawing = draw(...given);
  };
  const later = () => {
    timer ??= clock.setTimeout(now, Math.max(0, last + (isDrawing ? PATIENCE_MS : pause) - clock.now()));
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

module.exports = { createPace };
