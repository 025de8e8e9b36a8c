// Code of an answer, where the user wants it. What is put there is what stands in the chat: whatever is hidden is written out.

import * as vscode from 'vscode';

export async function copyCode(text: string) {
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage('Adjutant: The code is in the clipboard', 3_000);
}

// Puts it where a paste would: at the cursor of the file that the user was in last, in place of what is selected there.
export async function insertCode(text: string) {
  const editor = vscode.window.activeTextEditor;
  if (!editor) throw new Error('There is no file to put the code into. Open one, set the cursor, and press Insert again.');
  const done = await editor.edit((edit) => edit.replace(editor.selection, text));
  if (!done) throw new Error('The code was not put into the file, which cannot be changed here.');
  await vscode.window.showTextDocument(editor.document, { viewColumn: editor.viewColumn });
}
