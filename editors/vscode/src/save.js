// `agent/document/save`: writes documents to disk because the server asks.
// Never opens an editor, and never says "saved" for a document that is still unsaved.
'use strict';

const vscode = require('vscode');

async function saveOne(text) {
  let document;
  try {
    const uri = vscode.Uri.parse(text, true);
    document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  } catch (error) {
    return { uri: text, saved: false, message: error.message };
  }
  if (!document) return { uri: text, saved: false, message: 'it is not open' };
  // One that has a path becomes the file of that path.
  if (document.isUntitled && !document.uri.path.startsWith('/')) return { uri: text, saved: false, message: 'it has no file yet' };
  try {
    const saved = await document.save();
    // A save without anything to write answers false.
    return saved || !document.isDirty
      ? { uri: text, saved: true }
      : { uri: text, saved: false, message: 'the editor did not save it' };
  } catch (error) {
    return { uri: text, saved: false, message: error.message };
  }
}

async function save({ uris }) {
  return { documents: await Promise.all(uris.map(saveOne)) };
}

module.exports = { save };
