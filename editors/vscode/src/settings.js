// What the user set under `adjutant`, in the words of the server.
// Never what a workspace set: a project's settings may only tighten, and have a file of their own for that.
'use strict';

const vscode = require('vscode');

const KEYS = ['model', 'providers', 'permissions', 'limits', 'asks', 'edits'];

function global(key) {
  return vscode.workspace.getConfiguration('adjutant').inspect(key)?.globalValue;
}

// The settings that are set; what is left out is for Adjutant's own file to say.
function ofUser() {
  const set = KEYS.map((key) => [key, global(key)]).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(set);
}

function serverPath() {
  return global('server.path') || 'adjutant';
}

module.exports = { ofUser, serverPath };
