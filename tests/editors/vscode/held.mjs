// Checks what the chat says of a conversation that another window has open, without VS Code.
// Prints each problem, and nothing without problems.
import { createRequire } from 'node:module';

const { createHeld } = createRequire(import.meta.url)(process.argv[2]);
const is = (what, found, wanted) => {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) console.log(`${what}: ${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
};
const elsewhere = (who) => ({ text: `This conversation is open in ${who}. Go on with it there, or here once that window has closed it or is gone.` });
const free = { text: 'The window that had this conversation open has let it go.', again: 'Take Over' };
const unseen = { text: 'Another process has this conversation open, or had it a moment ago. Which one cannot be seen from here.', again: 'Try Again' };

let drawn = 0, entries = [{ sessionId: 'a', openIn: 7 }];
const held = createHeld({ list: () => (entries ? Promise.resolve(entries) : Promise.reject(new Error('no server'))), changed: () => drawn++ });
is('nothing', held.view('a'), undefined);
const known = held.hold('a');
is('before the list', held.view('a'), elsewhere('another window'));
await known;
is('who has it', held.view('a'), elsewhere('another window (process 7)'));
is('it is drawn at each step', drawn, 2);
is('another conversation', [held.view('b'), held.view(undefined)], [undefined, undefined]);
held.told({ sessionId: 'b', session: { sessionId: 'b' } });
is('what happens to another one', held.view('a'), elsewhere('another window (process 7)'));
held.told({ sessionId: 'a', session: { sessionId: 'a', openIn: 8 } });
is('a third window', held.view('a'), elsewhere('another window (process 8)'));
held.told({ sessionId: 'a', session: { sessionId: 'a' } });
is('let go', held.view('a'), free);
held.forget();
is('forgotten', held.view('a'), undefined);
held.told({ sessionId: 'a', session: { sessionId: 'a', openIn: 9 } });
is('what is not waited for', held.view('a'), undefined);
// Where nobody knows who has it, the user may try.
entries = [];
await held.hold('a');
is('not in the list', held.view('a'), unseen);
entries = undefined;
await held.hold('a');
is('no list', held.view('a'), unseen);
