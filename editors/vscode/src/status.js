// The status bar item: the most pressing state in one word, as the server said it.
// Never guesses, and knows nothing of what a server said that is gone.
'use strict';

const vscode = require('vscode');

const WORDS = {
  preparing: 'looking', model: 'thinking', streaming: 'answering', tools: 'working', retrying: 'trying again',
};

const PRESSING = ['requires_action', 'resumable', 'running'];

function createStatus() {
  const item = vscode.window.createStatusBarItem('adjutant.state', vscode.StatusBarAlignment.Left, 0);
  item.name = 'Adjutant';
  const draw = (icon, words, tooltip, command) => {
    item.text = `$(${icon}) Adjutant${words ? `: ${words}` : ''}`;
    item.tooltip = tooltip;
    item.command = command;
    item.show();
  };
  const start = 'adjutant.task.start';
  const nothing = () => draw('sparkle', '', 'Start a task', start);
  const states = new Map(); // what the server last said of each session
  const shown = ({ state, sub }) => {
    if (state === 'running') draw('sync~spin', WORDS[sub] ?? 'working', 'Cancel', 'adjutant.task.cancel');
    else if (state === 'requires_action') draw('question', 'asks', 'It waits for your answer', 'adjutant.task.ask');
    else if (state === 'resumable') draw('debug-pause', 'interrupted', 'It was cut short', 'adjutant.task.ask');
    else if (state === 'idle' && sub !== 'completed' && sub !== 'stopped') draw('sparkle', sub, 'Start a task', start);
    else nothing();
  };
  return {
    ready() {
      states.clear();
      nothing();
    },
    starting: () => draw('sync~spin', 'starting', 'The server starts', undefined),
    stopped: () => draw('circle-slash', 'not running', 'Start the server again', 'adjutant.restart'),
    // What needs the user comes before what works, and that before what has ended.
    says(session, view) {
      states.delete(session);
      if (PRESSING.includes(view.state)) states.set(session, view);
      const open = [...states.values()];
      shown(PRESSING.map((state) => open.findLast((one) => one.state === state)).find(Boolean) ?? view);
    },
    dispose: () => item.dispose(),
  };
}

module.exports = { createStatus };
