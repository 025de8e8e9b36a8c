// Undoes a whole run, or restores it: the user picks a run, sees what it means, and decides.
// Never undoes anything but what the warning said; what became of it is the server's word.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { line } from './display';
import { wordsOf } from './failure';
import { buttons, hasLater, outcome, runs, warning } from './runs';
import type { DecidedHunk, PreviewParams, ReviewDecideResult, ReviewListResult, RewindPreview } from './wire';

interface Target { sessionId: string; runId: string; later: boolean; restore: boolean }

const CONFLICT = -33007; // `HunkConflict`
// The first button, because Enter presses it, also one that was typed before the dialog came.
const LEAVE = 'Leave as It Is';

export function createRewind(client: () => LanguageClient) {
  const send = <R>(method: string, params: object) => client().sendRequest<R>(method, params);

  // The run that the user means; nothing if they picked none.
  const pick = async (restore: boolean): Promise<Target | undefined> => {
    const { hunks } = await send<ReviewListResult>('agent/review/list', { all: true });
    const all = runs(hunks, restore);
    if (!all.length) {
      vscode.window.showInformationMessage(`Adjutant: no run has changes to ${restore ? 'restore' : 'undo'}`);
      return undefined;
    }
    const title = restore ? 'Adjutant: Restore an Undone Run' : 'Adjutant: Undo a Run';
    const run = await vscode.window.showQuickPick(all, { title, placeHolder: 'Which run?' });
    if (!run) return undefined;
    const { sessionId, runId } = run;
    const only = { label: 'Only this run', later: false };
    const scopes = hasLater(all, run) ? [only, { label: 'And everything after it', later: true }] : [only];
    const scope = scopes.length === 1 ? only : await vscode.window.showQuickPick(scopes, { title, placeHolder: run.label });
    return scope && { sessionId, runId, later: scope.later, restore };
  };

  // Shows what a preview means, and returns the choice of the user. `before` is said above it.
  const choose = async (preview: RewindPreview, before: string | undefined) => {
    const { message, detail } = warning(preview);
    const options = { modal: true, detail: before ? `Adjutant: ${line(before, 300)}\n\n${detail}` : detail };
    const choices = buttons(preview);
    const pressed = await vscode.window.showWarningMessage(message, options, LEAVE, ...choices.map(({ label }) => label));
    return choices.find(({ label }) => label === pressed)?.choice;
  };

  const tell = async (preview: RewindPreview, hunks: DecidedHunk[]) => {
    const { text, isWhole, isSome } = outcome(preview.restore, hunks);
    const { showInformationMessage, showWarningMessage } = vscode.window;
    const buttons = isSome && !preview.restore ? ['Restore'] : [];
    const pressed = await (isWhole ? showInformationMessage : showWarningMessage)(`Adjutant: ${text}`, ...buttons);
    const { sessionId, runId, later } = preview;
    if (pressed) await decide({ sessionId, runId, later, restore: true });
  };

  // A text that is not as it was shown is shown once more, and then it is an error.
  const decide = async (target: PreviewParams, conflict?: unknown): Promise<void> => {
    const preview = await send<RewindPreview>('agent/review/preview', target);
    if (!preview.choices.length) {
      return void vscode.window.showInformationMessage(`Adjutant: ${line(preview.lines.map((one) => one.trim()).join(' · '), 300)}`);
    }
    const choice = await choose(preview, conflict === undefined ? undefined : wordsOf(conflict));
    if (!choice) return;
    const { sessionId, runId, later, restore, expect } = preview;
    let done: ReviewDecideResult;
    try {
      done = await send('agent/review/rewind', { sessionId, runId, later, restore, expect, userLines: choice.userLines });
    } catch (error) {
      if ((error as { code?: number }).code !== CONFLICT || conflict) throw error;
      return decide(target, error);
    }
    await tell(preview, done.hunks);
  };

  const start = async (restore: boolean) => {
    const target = await pick(restore);
    if (target) await decide(target);
  };
  return {
    undo: () => start(false),
    restore: () => start(true),
    undoRun: (sessionId: string, runId: string) => decide({ sessionId, runId, later: false, restore: false }),
  };
}
