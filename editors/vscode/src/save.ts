// `agent/document/save`: writes documents to disk because the server asks.
// Never opens an editor, and never says "saved" for a document that is still unsaved.

import * as vscode from 'vscode';
import { wordsOf } from './failure';
import type { DocumentSaveParams, DocumentSaveResult, SavedDocument } from './wire';

const PATIENCE_MS = 1_000;

// Whether a document is saved, or will be in a moment by VS Code's own saving.
async function isSavedSoon(document: vscode.TextDocument) {
  const end = Date.now() + PATIENCE_MS;
  while (document.isDirty && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
  return !document.isDirty;
}

async function saveOne(text: string): Promise<SavedDocument> {
  let document: vscode.TextDocument | undefined;
  try {
    const uri = vscode.Uri.parse(text, true);
    document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  } catch (error) {
    return { uri: text, saved: false, message: wordsOf(error) };
  }
  if (!document) return { uri: text, saved: false, message: 'it is not open' };
  // One that has a path becomes the file of that path.
  if (document.isUntitled && !document.uri.path.startsWith('/')) return { uri: text, saved: false, message: 'it has no file yet' };
  try {
    // A save without anything to write answers false, and so does one that VS Code's own saving overtakes.
    return await document.save() || await isSavedSoon(document)
      ? { uri: text, saved: true }
      : { uri: text, saved: false, message: 'the editor did not save it' };
  } catch (error) {
    return { uri: text, saved: false, message: wordsOf(error) };
  }
}

export async function save({ uris }: DocumentSaveParams): Promise<DocumentSaveResult> {
  return { documents: await Promise.all(uris.map(saveOne)) };
}
