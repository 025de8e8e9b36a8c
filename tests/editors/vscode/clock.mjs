// A clock that only the test moves, for checks under node.

export function createClock() {
  let at = 0, timers = [];
  const clock = {
    now: () => at,
    setTimeout(run, after) {
      const timer = { run, at: at + after };
      timers.push(timer);
      return timer;
    },
    clearTimeout: (timer) => { timers = timers.filter((one) => one !== timer); },
  };
  // Lets the time pass, and each timer run at its moment.
  const pass = (by) => {
    for (const end = at + by; ;) {
      const [next] = timers.filter((one) => one.at <= end).sort((one, other) => one.at - other.at);
      if (!next) return void (at = end);
      timers = timers.filter((one) => one !== next);
      at = Math.max(at, next.at);
      next.run();
    }
  };
  return { clock, pass, waiting: () => timers.length };
}

export const wrong = (what, is, wanted) => { if (String(is) !== wanted) console.log(`${what}: ${String(is).slice(0, 200)}, not ${wanted}`); };
