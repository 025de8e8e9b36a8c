// Puts what the editor shows into the next prompt: the selection, or whole files. Never sends anything, and never opens the chat by itself.

import * as vscode from 'vscode';
import type { NewChip } from './chat/chips';
import type { Position } from './wire';

const MOST_TEXT = 100_000; // characters of a text that is no file of the workspace
const ASK = 'Adjutant: Ask About This…';
const KIND = vscode.CodeActionKind.RefactorRewrite.append('agent');

const isHere = (uri: vscode.Uri) => uri.scheme === 'file' && vscode.workspace.getWorkspaceFolder(uri) !== undefined;
const at = ({ line, character }: vscode.Position): Position => ({ line, character });

// What is selected in an editor; the whole document if nothing is.
function selected({ document, selection }: vscode.TextEditor): NewChip {
  const path = vscode.workspace.asRelativePath(document.uri, false);
  const range = selection.isEmpty ? undefined : { start: at(selection.start), end: at(selection.end) };
  if (isHere(document.uri)) return { kind: 'link', uri: document.uri.toString(), path, range };
  // The server judges which files may be shown to a model; another view of one, such as its text in a commit, would go past that.
  if (document.uri.scheme !== 'untitled') throw new Error('only files of the open folders and untitled texts can be added; copy other lines into the box');
  const text = document.getText(selection.isEmpty ? undefined : selection);
  if (text.length > MOST_TEXT) throw new Error(`this is too long for a prompt, because it is no file of the workspace: select at most ${MOST_TEXT.toLocaleString('en')} characters`);
  return { kind: 'text', path, range, text };
}

function file(uri: vscode.Uri): NewChip {
  const path = vscode.workspace.asRelativePath(uri, false);
  if (!isHere(uri)) throw new Error(`"${path}" is outside the workspace folders; open its folder first`);
  return { kind: 'link', uri: uri.toString(), path };
}

// `attach` opens the chat and puts chips into its box.
export function createAttach(attach: (chips: NewChip[]) => Promise<void>) {
  const offers = vscode.languages.registerCodeActionsProvider([{ scheme: 'file' }, { scheme: 'untitled' }], {
    provideCodeActions(_, range, { triggerKind }) {
      // At each selection it would be a light bulb on every one.
      if (range.isEmpty || triggerKind !== vscode.CodeActionTriggerKind.Invoke) return [];
      const action = new vscode.CodeAction(ASK, KIND);
      action.command = { command: 'adjutant.prompt.ask', title: ASK };
      return [action];
    },
  }, { providedCodeActionKinds: [KIND] });
  return {
    async ask() {
      const editor = vscode.window.activeTextEditor;
      if (!editor) throw new Error('no file is open; open one and select what you want to ask about');
      await attach([selected(editor)]);
    },
    // From the Explorer with what is chosen there, else the file in sight.
    async addFile(one?: unknown, all?: vscode.Uri[]) {
      const here = one instanceof vscode.Uri ? one : vscode.window.activeTextEditor?.document.uri;
      const uris = Array.isArray(all) && all.length ? all : here ? [here] : [];
      if (uris.length === 0) throw new Error('no file is open; open the one that you want to add');
      await attach(uris.map(file));
    },
    // What was dropped onto the box.
    dropped: (uris: string[]) => uris.map((uri) => file(vscode.Uri.parse(uri, true).with({ scheme: 'file', authority: '' }))),
    dispose: () => offers.dispose(),
  };
}
