// The status bar item: the state in one word, as the server last said it.
// Never counts, remembers or guesses.
'use strict';

const vscode = require('vscode');

const WORDS = {
  preparing: 'looking', model: 'thinking', streaming: 'answering', tools: 'working', retrying: 'trying again',
};

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
  const ready = () => draw('sparkle', '', 'Start a task', start);
  return {
    ready,
    starting: () => draw('sync~spin', 'starting', 'The server starts', undefined),
    stopped: () => draw('circle-slash', 'not running', 'Start the server again', 'adjutant.restart'),
    says({ state, sub }) {
      if (state === 'running') draw('sync~spin', WORDS[sub] ?? 'working', 'Cancel', 'adjutant.task.cancel');
      else if (state === 'requires_action') draw('question', 'asks', 'It waits for your answer', 'notifications.showList');
      else if (state === 'resumable') draw('debug-pause', 'interrupted', 'It was cut short', 'adjutant.task.transcript');
      else if (state === 'idle' && sub !== 'completed' && sub !== 'stopped') draw('sparkle', sub, 'Start a task', start);
      else ready();
    },
    dispose: () => item.dispose(),
  };
}

module.exports = { createStatus };
