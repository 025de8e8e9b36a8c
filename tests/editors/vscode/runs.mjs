// Checks what the extension makes of runs, without VS Code.
// Prints each problem, and nothing without problems.
import { createRequire } from 'node:module';

const { hasLater, outcome, runs, warning } = createRequire(import.meta.url)(process.argv[2]);
const is = (what, found, wanted) => {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) console.log(`${what}: ${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
};
const hunk = (runId, at, more) => ({
  sessionId: 's', runId, uri: 'file:///a', state: 'applied', madeBy: { task: `task ${runId}`, model: 'p/m', at }, ...more,
});

const hunks = [
  hunk('1', 10), hunk('1', 30, { uri: 'file:///b', state: 'kept' }), hunk('2', 40, { sessionId: 't' }), hunk('3', 50, { state: 'amended' }),
  hunk('3', 51, { state: 'undone' }), hunk('4', 60, { state: 'undone' }), hunk('5', 70, { state: 'away' }), hunk('6', 80, { madeBy: undefined, state: 'proposed' }),
];
const undoable = runs(hunks, false);
is('runs', undoable.map(({ label, description }) => [label, description]), [
  ['task 3', '1 change in 1 file · p/m'], ['task 2', '1 change in 1 file · p/m'], ['task 1', '2 changes in 2 files · p/m'],
]);
is('later runs', undoable.map((run) => hasLater(undoable, run)), [false, false, true]);
is('restorable', runs(hunks, true).map(({ runId, description }) => [runId, description]), [['4', '1 change in 1 file · p/m'], ['3', '1 change in 1 file · p/m']]);
is('a row has no icon', runs([hunk('1', 1, { madeBy: { task: '$(trash) [x](command:quit)', model: '$(x)', at: 1 } })], false).map(({ label, description }) => [label, description]), [
  ['$\\u{28}trash) [x]\\u{28}command:quit)', '1 change in 1 file · $\\u{28}x)'],
]);

const preview = { lines: ['Undo “x”: 2 changes in 2 files', '  a: 1 change', '  b: 1 change', 'Not covered: what 1 command changed that ran meanwhile:', '  make'], files: [], commandsRun: 1 };
is('warning', warning(preview), { message: preview.lines[0], detail: '• a: 1 change\n• b: 1 change\nNot covered: what 1 command changed that ran meanwhile:\n• make' });
const file = { kept: 1, userHunks: 2, left: [{ hunks: 3, why: 'x' }] };
const long = warning({ lines: ['Undo', ...Array.from({ length: 40 }, (_, at) => `  file ${at}`)], files: [file, file], commandsRun: 7 }).detail.split('\n');
is('a long warning', [long.length, ...long.slice(-3)], [
  14, '• file 11', '… and 28 more lines. `adjutant review undo --run` at a terminal shows all.', 'All in all: kept before: 2, with lines of yours: 4, left: 6, commands not covered: 7.',
]);
is('long lines', warning({ lines: ['Undo', 'x'.repeat(900)], files: [], commandsRun: 0 }).detail.length, 200);
const choices = [{ title: 'Yes, undo 1 change', userLines: false }, { title: 'Yes, undo 2 changes, also your 1 line', userLines: true }];
is('choices', warning({ ...preview, lines: ['Undo'], choices }).detail, '\nUndo: undo 1 change\nUndo with My Lines: undo 2 changes, also your 1 line');
is('a hidden character', warning({ lines: ['Undo “\u202e”', '  \u202e'], files: [], commandsRun: 0 }), { message: 'Undo “\\u{202e}”', detail: '• \\u{202e}' });

is('done', outcome(false, [{}, {}]), { text: '2 changes undone.', isWhole: true, isSome: true });
is('done in part', outcome(false, [{}, { why: 'it is\ngone' }]), { text: 'not undone: 1 of 2 changes. The first reason: it is gone.', isWhole: false, isSome: true });
is('not done', outcome(true, [{ why: 'no' }]), { text: 'not restored: 1 of 1 change. The first reason: no.', isWhole: false, isSome: false });
