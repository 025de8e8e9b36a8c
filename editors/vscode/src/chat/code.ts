// Code of an answer, where the user wants it. What is put there is what stands in the chat: whatever is hidden is written out.

import * as vscode from 'vscode';

export async function copyCode(text: string) {
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage('Adjutant: The code is in the clipboard', 3_000);
}

// Puts it where a paste would: at the cursors of the file that the user was in last, in place of what is selected there. `isOnlyShown`
// says that the user never went into a text.
export async function insertCode(text: string, isOnlyShown: (document: vscode.TextDocument) => boolean) {
  const editor = vscode.window.activeTextEditor;
  if (!editor || isOnlyShown(editor.document)) throw new Error('There is no file to put the code into. Open one, set the cursor, and press Insert again.');
  const { document, selections, viewColumn } = editor;
  const before = document.version;
  await editor.edit((edit) => selections.forEach((selection) => edit.replace(selection, text)));
  // Of a text that cannot be changed VS Code says that it was.
  if (document.version === before) throw new Error('The code was not put into the text, which cannot be changed. Go to a file that can, and press Insert again.');
  await vscode.window.showTextDocument(document, { viewColumn });
}
