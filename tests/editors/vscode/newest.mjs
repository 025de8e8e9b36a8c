// Tests which place is shown next while the agent is followed, under node alone, with a clock that only the test moves. Prints what is wrong.
//
//   node newest.mjs NEWEST_JS
import { createRequire } from 'node:module';
import { createClock, wrong } from './clock.mjs';

const { createNewest } = createRequire(import.meta.url)(process.argv[2]);

function stage() {
  const { clock, pass, waiting } = createClock();
  const shown = [];
  return { newest: createNewest((place) => shown.push(`${clock.now()} ${place}`), clock), pass, shown, timers: waiting };
}

// The first at once, then the newest of each second.
const burst = stage();
for (let place = 0; place < 100; place++) {
  burst.newest.said(place);
  burst.pass(25);
}
burst.pass(5_000);
wrong('a burst', burst.shown, '0 0,1000 39,2000 79,3000 99');
wrong('what waits for nothing', burst.timers(), '0');

// Not while the user types: three seconds after the last key, and then the newest alone.
const typing = stage();
typing.newest.typed();
for (let key = 0; key < 50; key++) {
  typing.newest.said(key);
  typing.pass(200);
  typing.newest.typed();
  if (typing.timers() > 1) console.log(`${typing.timers()} timers at once`);
}
wrong('while the user types', typing.shown, '');
typing.pass(2_999);
wrong('just before', typing.shown, '');
typing.pass(1);
wrong('after it', typing.shown, '13000 49');

// What was forgotten is not shown, and what comes later is.
const left = stage();
left.newest.said('a');
left.newest.said('b');
left.newest.forget();
left.pass(10_000);
left.newest.said('c');
wrong('forgotten', left.shown, '0 a,10000 c');
