// Tests what the chat makes of updates, under node alone. Prints what is wrong.
//
//   node chat.mjs CONVERSATION_JS
import { createRequire } from 'node:module';

const { createConversation } = createRequire(import.meta.url)(process.argv[2]);
const of = (seq, update, sub) => ({ sessionId: 's', runId: 'r', seq, sub, update });
const ask = { askId: 'a1', toolCallId: 't1', group: 'interactive', title: 'Run \u202ex', options: [{ optionId: 'allow', label: 'Yes, once', name: 'Allow once' }] };
const tool = (status, summary) => ({ sessionUpdate: 'tool_call_update', toolCallId: 't1', tool: 'run_command', title: 'Run x', status, summary });
const hunks = [{ hunkId: 'h1', state: 'applied', removed: 1, inserted: 2 }, { hunkId: 'h2', state: 'kept', removed: 0, inserted: 3 }];
const numbered = [
  of(1, { sessionUpdate: '_run', phase: 'started', runId: 'r', title: 'do it' }),
  of(2, { sessionUpdate: 'user_message', messageId: 'u1', text: 'do it\n\nThe user is in a.py.', added: '\n\nThe user is in a.py.', attached: ['a.py, line 1'], images: [{ mimeType: 'image/png', bytes: 12_345 }] }),
  of(3, { sessionUpdate: 'state_update', state: 'running' }),
  of(4, tool('pending')),
  of(5, { sessionUpdate: '_ask', phase: 'opened', ask }),
  of(6, { sessionUpdate: '_ask', phase: 'closed', askId: 'a1', resolution: { type: 'selected', optionId: 'allow', surface: 'x' } }),
  of(7, tool('completed', 'exit code 0')),
  of(8, { sessionUpdate: '_change_set', changeSetId: 'c1', toolCallId: 't2', uri: 'file:///a.py', path: 'a.py', hunks }),
  of(9, { sessionUpdate: 'plan_update', entries: [{ status: 'completed', content: 'a\nb' }] }),
  of(10, { sessionUpdate: 'agent_message', messageId: 'm1', text: 'It is done.' }),
  of(11, { sessionUpdate: '_ask', phase: 'opened', ask: { ...ask, askId: 'a2', group: 'idle' } }),
  of(12, { sessionUpdate: '_run', phase: 'ended', runId: 'r', end: { outcome: 'stopped' } }),
  of(13, { sessionUpdate: 'state_update', state: 'idle' }),
];
const expected = [
  'prompt: do it [Image: image/png, 12 kB] [a.py, line 1]', 'tool: ✓ Run x = exit code 0, you: Yes, once', 'change: a.py +5 −1 = 1 to review, 1 kept', 'reply: It is done.', 'end: Done',
].join('\n');

function drawn(updates, at = 0) {
  const conversation = createConversation();
  const drawing = new Map();
  updates.forEach((update, index) => {
    conversation.fold(update);
    // What was taken before is drawn over by what comes later.
    if (index === at) conversation.take().forEach((item) => drawing.set(item.id, item));
  });
  conversation.take().forEach((item) => drawing.set(item.id, item));
  const lines = [...drawing.values()].filter(({ asked }) => !asked).sort((one, other) => one.at - other.at).map(({ kind, text, note, answer: given, attached = [] }) => {
    const answer = ['ask', 'tool', 'change'].includes(kind) && (note || given) ? ` = ${[note, given].filter(Boolean).join(', ')}` : '';
    return `${kind}: ${text}${answer}${attached.map((one) => ` [${one}]`).join('')}`;
  });
  return { text: lines.join('\n'), head: JSON.stringify(conversation.head()) };
}

const wrong = (what, is, wanted) => { if (is !== wanted) console.log(`${what}:\n${is}\nnot\n${wanted}`); };
const first = drawn(numbered);
wrong('in order', first.text, expected);
wrong('the head', first.head, JSON.stringify({ title: 'do it', state: 'idle', plan: [{ status: 'completed', content: 'a b' }], options: [] }));
// In each order, as pages and live updates may come; a small generator that is the same each time.
let seed = 1;
const next = (below) => { seed = (seed * 48271) % 2147483647; return seed % below; };
for (let round = 0; round < 300; round++) {
  const order = [...numbered];
  for (let at = order.length - 1; at > 0; at--) {
    const other = next(at + 1);
    [order[at], order[other]] = [order[other], order[at]];
  }
  const { text, head } = drawn(order, next(order.length));
  wrong(`round ${round}`, text, expected);
  wrong(`the head of round ${round}`, head, first.head);
}
// Two questions about one step, the second one answered by its time limit.
const asked = (seq, askId) => of(seq, { sessionUpdate: '_ask', phase: 'opened', ask: { ...ask, askId } });
const answered = (seq, askId, surface) => of(seq, { sessionUpdate: '_ask', phase: 'closed', askId, resolution: { type: 'selected', optionId: 'allow', surface } });
const twice = [of(4, tool('pending')), asked(5, 'a1'), answered(6, 'a1', 'x'), asked(7, 'a2'), answered(8, 'a2', 'time'), of(9, tool('completed', 'exit code 0'))];
for (let at = 0; at < twice.length; at++) wrong('two questions about a step', drawn(twice, at).text, 'tool: ✓ Run x = exit code 0, you: Yes, once · time limit: Yes, once');
const question = { ...ask, kind: 'followup', title: 'Which of them? '.repeat(20).trim() };
const asks = [of(4, tool('pending')), of(5, { sessionUpdate: '_ask', phase: 'opened', ask: question }), answered(6, 'a1', 'x'), of(7, tool('completed', 'answered'))];
wrong('a question of the model stays whole', drawn(asks).text, `ask: ${question.title} = you: Yes, once`);
wrong('a step waits behind its question', drawn(twice.slice(0, 4)).text, '');
// A stream: what was said so far, then the whole, and a part that comes too late changes nothing.
const chunk = (sub, text) => of(9, { sessionUpdate: 'agent_message_chunk', messageId: 'm1', text }, sub);
wrong('a stream', drawn([chunk(1, 'It '), chunk(2, 'is')]).text, 'reply: It is');
// Whether the name of a change leads to a file.
function createdOf(operation) {
  const conversation = createConversation();
  conversation.fold(of(1, { sessionUpdate: '_change_set', changeSetId: 'c1', path: 'a.py', hunks: [hunks[0]], operation }));
  return String(conversation.take()[0].opens);
}
// What a command prints: the end of it until there is a result, and nothing of a call that is not known.
const prints = (sub, text, seq = 7) => of(seq, { sessionUpdate: 'tool_call_content_chunk', toolCallId: 't1', text }, sub);
const live = (updates) => {
  const conversation = createConversation();
  updates.forEach(conversation.fold);
  return conversation.take().map(({ text, live, over }) => `${text}|${live ?? ''}|${over}`).join('\n');
};
wrong('what is printed', live([tool('in_progress'), prints(1, 'a\u202e\n'), prints(2, 'b')].map((one, at) => (at ? one : of(6, one)))), '◐ Run x|a\\u{202e}\nb|false');
wrong('its result', live([of(6, tool('in_progress')), prints(1, 'a'), of(8, tool('completed', 'exit code 0')), prints(2, 'b'), prints(1, 'c', 8)]), '✓ Run x||true');
wrong('an unknown call', live([prints(1, 'a'), of(6, tool('in_progress'))]), '◐ Run x||false');
const much = live([of(6, tool('in_progress')), ...Array.from({ length: 900 }, (_, at) => prints(at + 1, `line ${at}\n`))]).split('|')[1];
if (much.length > 4_000 || !much.startsWith('line ') || !much.endsWith('line 899\n')) console.log(`not the end of what is printed: ${much}`);
// Without a line end, and in one line that is longer than all that is drawn: still the end, and no more than that.
for (const part of ['.'.repeat(70), '\u{1f600}'.repeat(50), `${'x'.repeat(9_000)}\n`]) {
  const end = live([of(6, tool('in_progress')), ...Array.from({ length: 900 }, (_, at) => prints(at + 1, part))]).split('|')[1];
  if (end.length < 1_000 || end.length > 4_000 || /^[\udc00-\udfff]/u.test(end)) console.log(`${end.length} characters are drawn of a line without end`);
}
const over = createConversation();
over.fold(of(6, tool('completed')));
over.take();
over.fold(prints(1, 'a'));
if (over.take().length > 0) console.log('what comes after the result is drawn');
wrong('a deleted file', createdOf({ kind: 'delete' }), 'false');
wrong('a moved file', createdOf({ kind: 'move', path: 'b.py' }), 'true');
const long = createConversation();
for (let sub = 1; sub <= 300; sub++) {
  long.fold(chunk(sub, 'x'.repeat(1_000)));
  // What is not drawn any more is not sent again.
  const sent = long.take().reduce((all, { text }) => all + text.length, 0);
  if (sub > 102 && sent > 0) console.log(`${sent} characters are drawn again after ${sub} parts`);
}
long.fold(of(20, { ...tool('pending'), title: 'y'.repeat(9_000) }));
if (long.take()[0].text.length > 2_100) console.log('a title is not bounded');
long.forget();
if (long.take().length > 0) console.log('what is forgotten is drawn');
const hidden = drawn([of(9, { sessionUpdate: 'agent_message', messageId: 'm1', text: 'a\u202eb' }), of(10, { sessionUpdate: 'notice', message: 'c\u2066d' })]);
wrong('hidden characters', hidden.text, 'reply: a\\u{202e}b\nnotice: c\\u{2066}d');
wrong('its end', drawn([chunk(1, 'It '), numbered[9], chunk(2, 'is')]).text, 'reply: It is done.');

// What the last answer says already is not drawn again.
const ended = (said) => drawn([of(1, { sessionUpdate: 'agent_message', messageId: 'm1', text: 'All is well.' }), of(2, { sessionUpdate: '_complete', summary: 'All is well.', said })]).text;
wrong('a summary that was said', ended(true), 'reply: All is well.');
wrong('a summary that was not said', ended(undefined), 'reply: All is well.\nreply: All is well.');

// A thought and the answer after it have one id, and each is drawn.
const thought = [of(1, { sessionUpdate: 'agent_thought', messageId: 'm1', text: 'It may be there.' }), of(2, { sessionUpdate: 'agent_message', messageId: 'm1', text: 'I look.' })];
wrong('a thought', drawn(thought).text, 'thought: It may be there.\nreply: I look.');
const streams = of(0, { sessionUpdate: 'agent_message_chunk', messageId: 'm1', text: 'I ' }, 7);
wrong('a thought after what streamed', drawn([streams, ...thought]).text, 'thought: It may be there.\nreply: I look.');
