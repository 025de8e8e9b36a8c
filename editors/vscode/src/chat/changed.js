// What the buttons at a change in the chat do: keep or undo it, open its file, send its lines to the page. Always asks
// the server for the change of now, and never keeps one.
'use strict';

const vscode = require('vscode');
const { decidable } = require('../change');
const { line } = require('../display');
const { IN_TEXT } = require('./conversation');
const { linesOf } = require('./lines');

// `of()` is the session in sight; `decide` keeps or undoes; `send` takes a message to the page.
function createChanged({ request, decide, of, send }) {
  const partsOf = async (changeSetId) => {
    const { hunks } = await request('agent/review/list', { sessionId: of(), all: true });
    return hunks.filter((hunk) => hunk.changeSetId === changeSetId);
  };
  return {
    decided: async (action, changeSetId) => decide(action, { hunks: (await partsOf(changeSetId)).filter(decidable) }),
    // Opens the file at the first part that is in the text.
    async open(changeSetId) {
      const parts = (await partsOf(changeSetId)).filter(({ state }) => IN_TEXT.includes(state)).sort((one, other) => one.line - other.line);
      if (parts.length === 0) throw new Error('this change is not in the text any more');
      const { uri, operation } = parts[0];
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(operation?.kind === 'move' ? operation.uri : uri, true));
      const at = Math.min(parts[0].line, document.lineCount - 1);
      await vscode.window.showTextDocument(document, { preview: true, selection: new vscode.Range(at, 0, at, 0) });
    },
    async unfold(changeSetId) {
      const session = of();
      let lines;
      try {
        lines = linesOf(await partsOf(changeSetId));
      } catch (error) {
        lines = { problem: line(error.message, 300) };
      }
      if (session === of()) send({ type: 'unfolded', set: changeSetId, ...lines });
    },
  };
}

module.exports = { createChanged };
