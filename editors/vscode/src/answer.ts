// The answer as it comes: one read-only document beside the file.
// Never takes the focus, and never opens again what the user has closed.

import * as vscode from 'vscode';
import type { Complain } from './failure';
import { markOf } from './marks';
import type { RunEnd, SessionUpdateParams } from './wire';

// Plain text: a preview of Markdown would load the images of the model and follow its links.
const URI = vscode.Uri.parse('adjutant:/Answer.txt');
const LANGUAGE = 'adjutant-answer'; // its lines are wrapped
const PAUSE_MS = 100; // between two redraws
const MOST = 500_000; // characters
const STEPS: Partial<Record<string, string>> = { pending: '[ ]', in_progress: '[~]', completed: '[x]' };
const ENDS: Partial<Record<string, string>> = { completed: 'done', stopped: 'done', limit: 'stopped at a limit' };

function ended({ outcome, summary }: RunEnd) {
  const why = summary && (outcome === 'failed' || outcome === 'limit') ? `: ${summary}` : '';
  return `— ${ENDS[outcome] ?? outcome}${why}`;
}

// VS Code draws a box around a minus sign that is not a hyphen.
const plain = (text: string) => text.replaceAll('\u2212', '-');

export function createAnswer(complain: Complain) {
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const items = new Map<string, string>(); // of each item its text, in the order they began
  const steps = new Set<string>(); // the items of one line each, which stand below one another
  let timer: NodeJS.Timeout | undefined, closed = false, lines = 1, notices = 0;
  const draw = () => {
    clearTimeout(timer);
    timer = undefined;
    changed.fire(URI);
  };
  const put = (id: string, text: string) => {
    items.set(id, text);
    timer ??= setTimeout(draw, PAUSE_MS);
  };
  const content = () => {
    let length = 0;
    for (const text of items.values()) length += text.length;
    for (const [id, text] of items) {
      if (length <= MOST || items.size === 1) break;
      length -= text.length;
      items.delete(id);
      steps.delete(id);
    }
    const said = [...items].map(([id, text]) => ({ isStep: steps.has(id), text: text.trimEnd() })).filter(({ text }) => text);
    return said.map(({ isStep, text }, at) => (at === 0 ? '' : isStep && said[at - 1].isStep ? '\n' : '\n\n') + text).join('') || 'Nothing was said yet.';
  };
  // Who reads the end stays at the end; who reads elsewhere stays there.
  const follow = ({ document }: vscode.TextDocumentChangeEvent) => {
    if (document.uri.toString() !== URI.toString()) return;
    for (const editor of vscode.window.visibleTextEditors.filter((one) => one.document === document)) {
      const atEnd = editor.visibleRanges.some((range) => range.end.line >= lines - 1);
      const end = document.lineAt(document.lineCount - 1).range;
      if (atEnd) editor.revealRange(end);
    }
    lines = document.lineCount;
  };
  const ours = (tab: vscode.Tab) => tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === URI.toString();
  const parts = [
    changed,
    vscode.workspace.registerTextDocumentContentProvider('adjutant', {
      onDidChange: changed.event,
      provideTextDocumentContent: content,
    }),
    // VS Code drops what is told of a document that is still on its way to its editor.
    vscode.workspace.onDidOpenTextDocument((document) => { if (document.uri.toString() === URI.toString()) draw(); }),
    vscode.workspace.onDidChangeTextDocument(follow),
    vscode.window.tabGroups.onDidChangeTabs((tabs) => { closed ||= tabs.closed.some(ours); }),
  ];
  const show = async (column?: vscode.ViewColumn) => {
    closed = false;
    const document = await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(URI), LANGUAGE);
    const aside = vscode.window.tabGroups.activeTabGroup.viewColumn > vscode.ViewColumn.One;
    const viewColumn = column ?? (aside ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside);
    await vscode.window.showTextDocument(document, { viewColumn, preserveFocus: true, preview: false });
  };
  const open = (column?: vscode.ViewColumn) => show(column).catch(complain);
  return {
    show,
    // Whether a tab is the answer.
    isIn: ours,
    // The user gave a task: the answer to it is opened, unless that was closed before.
    begun: () => { if (!closed && !vscode.window.tabGroups.all.some((group) => group.tabs.some(ours))) open(); },
    // What was asked covers the answer only until it is over, and so does whatever else `covers` it.
    ended(covers: (tab: vscode.Tab) => boolean) {
      const hides = (tab: vscode.Tab | undefined) => tab?.input instanceof vscode.TabInputText && (tab.input.uri.path.includes('/asks/') || covers(tab));
      const group = vscode.window.tabGroups.all.find((one) => one.tabs.some(ours));
      if (group && hides(group.activeTab)) open(group.viewColumn);
    },
    told({ runId, update }: SessionUpdateParams): void {
      switch (update.sessionUpdate) {
        case 'agent_message_chunk': return put(update.messageId, (items.get(update.messageId) ?? '') + update.text);
        case 'agent_message': return put(update.messageId, update.text);
        case 'plan_update': {
          const steps = update.entries.map(({ content, status }) => `- ${STEPS[status] ?? STEPS.pending} ${content.replace(/\s+/gu, ' ')}`);
          return put(`plan ${runId}`, [steps.length > 0 ? 'Plan' : 'The plan was taken away', ...steps].join('\n'));
        }
        case 'tool_call_update':
          if (update.tool === 'update_plan' && !['failed', '_denied'].includes(update.status)) return undefined;
          steps.add(update.toolCallId);
          return put(update.toolCallId, `${markOf(update.status)} ${update.title}${update.summary ? ` · ${plain(update.summary)}` : ''}`);
        case '_complete': return update.said ? undefined : put(`complete ${runId}`, update.summary);
        case 'notice': return put(`notice ${notices++}`, update.message);
        case '_run':
          if (update.phase === 'started') return put(`run ${update.runId}`, `# ${update.title}`);
          return put(`end ${update.runId}`, ended(update.end));
      }
    },
    dispose: () => parts.forEach((part) => part.dispose()),
  };
}
