// Tests how often the page of the chat is sent something, under node alone, with a clock that only the test moves. Prints what is wrong.
//
//   node pace.mjs PACE_JS
import { createRequire } from 'node:module';
import { createClock, wrong } from './clock.mjs';

const { createPace } = createRequire(import.meta.url)(process.argv[2]);
const PAUSE = 40;

function stage() {
  const { clock, pass } = createClock();
  const drawn = [];
  const pace = createPace((what = 'later') => drawn.push(`${clock.now()} ${what}`) > 0, PAUSE, clock);
  return { pace, pass, drawn };
}

// What comes in one turn of the loop is one message, and it goes at once.
const burst = stage();
for (let delta = 0; delta < 1_000; delta++) burst.pace.later();
wrong('in the turn itself', burst.drawn, '');
burst.pass(0);
burst.pace.drawn();
wrong('a burst', burst.drawn, '0 later');
// The next comes after the pause, however much comes meanwhile.
for (let delta = 0; delta < 1_000; delta++) burst.pace.later();
burst.pass(PAUSE - 1);
wrong('in the pause', burst.drawn, '0 later');
burst.pass(1);
wrong('after the pause', burst.drawn, '0 later,40 later');
burst.pass(1_000);
wrong('with nothing new', burst.drawn, '0 later,40 later');

// 500 deltas a second for a minute: in no second more than 30 messages, and none is left unsent.
const stream = stage();
for (let delta = 0; delta < 30_000; delta++) {
  stream.pace.later();
  stream.pass(2);
  stream.pace.drawn();
}
const times = stream.drawn.map((one) => Number(one.split(' ')[0]));
for (let second = 0; second < 60_000; second += 100) {
  const count = times.filter((time) => time >= second && time < second + 1_000).length;
  if (count > 30) console.log(`${count} messages in the second from ${second} ms`);
}
stream.pass(PAUSE);
if (stream.drawn.length < 1_000 || Number(stream.drawn.at(-1).split(' ')[0]) < 59_990) console.log(`${stream.drawn.length} messages, the last at ${stream.drawn.at(-1)}`);

// A page that is slow gets the next message when it has drawn the last one, and one that says nothing gets it after a second.
const slow = stage();
for (let delta = 0; delta < 1_500; delta++) {
  slow.pace.later();
  slow.pass(2);
  if (delta === 250) slow.pace.drawn();
}
wrong('a slow page', slow.drawn, '0 later,502 later,1502 later,2502 later');

// What cannot wait takes along what waits.
const urgent = stage();
urgent.pace.now('reset');
urgent.pace.later();
urgent.pace.now('reset');
urgent.pass(1_000);
wrong('what cannot wait', urgent.drawn, '0 reset,0 reset');
