// A question in a list of its answers, for those who leave the chat closed. The whole of it is opened beside first.
// Never takes an approval before that, or within a moment after it could be seen.

import * as vscode from 'vscode';
import { cardOf } from './chat/question';
import { line, status } from './display';
import type { Complain } from './failure';
import type { Questions } from './questions';

const READ_MS = 400; // before what is drawn counts as seen

type Row = vscode.QuickPickItem & { id?: string; approves?: boolean; text?: string };

export async function answerHere(questions: Questions, complain: Complain) {
  const one = await questions.pick();
  if (!one) return;
  const { askId, sessionId } = one.ask;
  const list = vscode.window.createQuickPick<Row>();
  const parts: vscode.Disposable[] = [];
  let since: number | undefined;
  const draw = () => {
    const card = cardOf(one.ask, undefined, one.opened);
    const isSeen = card.parts.length === 0 || one.opened;
    since = isSeen ? since ?? Date.now() : undefined;
    const rows: Row[] = card.options.filter(({ approves }) => isSeen || !approves).map(({ id, label, title, approves }) => ({ label: status(label, 200), description: title === label ? '' : status(title, 300), id, approves }));
    const text = list.value.trim();
    if (card.words && text) {
      rows.unshift({ label: `${card.words.optionId ? 'Reject with the reason' : 'Answer'}: ${status(text, 200)}`, alwaysShow: true, id: card.words.optionId, text });
    }
    list.title = `Adjutant: ${line(one.ask.title, 100)}`;
    list.placeholder = card.words?.optionId ? 'Choose, or type a reason to reject it' : 'Choose, or type an answer';
    list.items = rows;
  };
  parts.push(list.onDidChangeValue(draw));
  parts.push(questions.onDidChange((of) => {
    if (of !== sessionId) return;
    if (questions.of(of).some(({ ask }) => ask.askId === askId)) draw();
    else list.hide();
  }));
  parts.push(list.onDidAccept(() => {
    const [row] = list.selectedItems;
    if (!row || (row.approves && Date.now() - (since ?? Infinity) < READ_MS)) return;
    list.hide();
    questions.answer({ askId, optionId: row.id, text: row.text }).catch(complain);
  }));
  list.onDidHide(() => {
    parts.forEach((part) => part.dispose());
    list.dispose();
  });
  draw();
  list.show();
  if (cardOf(one.ask, undefined, one.opened).parts.length > 0) await questions.show(askId);
}
