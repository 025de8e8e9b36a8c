// What the chat shows of one session, folded from the server's updates: `fold`s them in any order, the higher number
// of two updates of one item counts. Never needs VS Code, and knows nothing that the server did not say.

import { plusMinus } from '../change';
import { shown } from '../display';
import { markOf } from '../marks';
import type { AskOption, ChangeSetView, ConfigOption, ContextUsage, HunkState, ImageView, PlanEntry, Resolution, ResumeResult, SessionUpdateParams, State, SubState } from '../wire';
import { size } from './chips';

// What the page draws of one item; what is only kept here is in `Folded`.
export interface Item {
  id: string; at: number; kind: Kind; text: string; note?: string; more?: string; about?: string; attached?: string[]; live?: string; over?: boolean; bad?: boolean;
  minor?: boolean; // a brief view leaves it out
  streams?: boolean; opens?: boolean; waits?: boolean; run?: string;
  asked?: boolean; // a question says it instead, or its step
  answer?: string; // to the question about a step
}
type Kind = 'prompt' | 'reply' | 'thought' | 'tool' | 'compaction' | 'change' | 'ask' | 'end' | 'notice';
// What an update says of an item. A question that is closed before it is known has no text.
interface Said extends Omit<Item, 'id' | 'at' | 'text'> { text?: string; raw?: string; open?: boolean; ask?: { options: AskOption[]; isQuestion: boolean }; resolution?: Resolution }
interface Folded extends Said { id: string; at: number; upTo: number }
export interface Head { title: string; state: State; sub?: SubState; usage?: ContextUsage; plan: PlanEntry[]; options: ConfigOption[] }

const ENDS: Partial<Record<string, string>> = { completed: 'Done', stopped: 'Done', limit: 'Stopped at a limit', failed: 'Failed', cancelled: 'Cancelled' };
const WORKING = ['pending', 'in_progress'];
// Who gave an answer, where it was not the user.
const WHO: Partial<Record<string, string>> = { time: 'time limit', nobody: 'nobody there' };
const OVER: Partial<Record<string, string>> = { decided: 'Decided change by change', cancelled: 'The task was cancelled', superseded: 'Another question took its place', withdrawn: 'No answer is needed any more' };
// States of a change in which its lines are in the text.
export const IN_TEXT: HunkState[] = ['applied', 'amended', 'kept'];
const TO_REVIEW: HunkState[] = ['applied', 'amended'];
const MOST = 100_000; // characters of one item
const MOST_LIVE = 4_000; // characters of what a command prints while it is at work
const MOST_WORDS = 2_000; // of a title or a note
const PER_UPDATE = 1e-9; // an update that is not numbered comes after the one that is
const COUNTED: Partial<Record<HunkState, string>> = { applied: 'to review', amended: 'changed by you', kept: 'kept', proposed: 'proposed', undone: 'undone', rejected: 'rejected', not_applied: 'not applied', conflicted: 'in conflict', away: 'away' };

const steps = (entries: PlanEntry[]) => entries.map(({ status, content }) => ({ status, content: shown(content).replace(/\s+/gu, ' ') }));
// Hidden characters are shown: what stands here may be compared with a question.
const cut = (text: string) => (text.length > MOST ? `${shown(text.slice(0, MOST))}\n\n… the rest is in the transcript.` : shown(text));
const words = (text: string) => shown(text.length > MOST_WORDS ? `${text.slice(0, MOST_WORDS)}…` : text);

const image = ({ mimeType, bytes }: ImageView) => `Image: ${mimeType}, ${size(bytes)}`;

// One line about the changes of a file: how many lines, and what became of them.
function changed({ path, hunks, operation }: ChangeSetView): Said {
  const sum = (name: 'inserted' | 'removed') => hunks.reduce((all, hunk) => all + hunk[name], 0);
  const states = new Map<HunkState, number>();
  for (const { state } of hunks) states.set(state, (states.get(state) ?? 0) + 1);
  const became = [...states].map(([state, count]) => `${states.size > 1 ? `${count} ` : ''}${COUNTED[state] ?? state}`);
  const size = operation?.kind === 'delete' ? 'deleted' : operation?.kind === 'move' ? `moved to ${operation.path}` : hunks.length > 0 ? plusMinus(sum('inserted'), sum('removed')) : '';
  const opens = operation?.kind !== 'delete' && hunks.some(({ state }) => IN_TEXT.includes(state));
  const waits = hunks.some(({ state }) => TO_REVIEW.includes(state));
  return { kind: 'change', text: words(`${path} ${size}`.trim()), note: became.join(', '), opens, waits };
}

// A reply so far. What comes after the most that is drawn changes nothing.
function streamed(before: Folded | undefined, more: string): Said {
  if (before?.raw && before.raw.length > MOST) return before;
  const raw = (before?.raw ?? '') + more;
  return { kind: 'reply', text: raw, raw, streams: true };
}

// The end of what a command has printed so far: from a whole line on, unless one line is longer than all that is shown.
function endOf(printed: string) {
  if (printed.length <= MOST_LIVE) return printed;
  const end = printed.slice(-MOST_LIVE).replace(/^[\udc00-\udfff]/u, '');
  const at = end.indexOf('\n') + 1;
  return at < end.length ? end.slice(at) : end;
}

function answered(ask: Folded['ask'], resolution: Resolution) {
  switch (resolution.type) {
    case 'selected': {
      const option = ask?.options.find(({ optionId }) => optionId === resolution.optionId);
      const name = option ? option.label ?? option.name : resolution.optionId;
      return resolution.text ? `${name}: ${resolution.text}` : name;
    }
    case 'answered': return resolution.text;
    default: return OVER[resolution.type] ?? resolution.type;
  }
}

const by = (resolution: Resolution) => ('surface' in resolution ? `${WHO[resolution.surface] ?? 'you'}: ` : '');

export function createConversation() {
  const items = new Map<string, Folded>();
  const askedOf = new Map<string, Set<string>>(); // by call, the questions about it
  let changes = new Set<string>(), head: Head = { title: '', state: 'none', usage: undefined, plan: [], options: [] }, told = 0;
  const numbers = { state: -1, plan: -1 };

  // `make` gets the item as it was, if this update is the newest of the item.
  const put = (at: number, id: string, make: (before?: Folded) => Said) => {
    const before = items.get(id);
    const begins = Math.min(at, before?.at ?? at);
    // An older update says only what no newer one has said.
    const fill = before?.kind === 'ask' ? make() : {};
    const is: Omit<Folded, 'at'> = before && at < before.upTo ? { ...fill, ...before } : { ...make(before), id, upTo: at };
    items.set(id, { ...is, at: begins });
    // The same text again is nothing to draw.
    if (!before || is.text !== before.text || is.kind !== 'reply' || is.streams !== before.streams || begins !== before.at) changes.add(id);
  };
  const newest = (what: keyof typeof numbers, at: number) => {
    if (at < numbers[what]) return false;
    numbers[what] = at;
    return true;
  };

  function fold({ seq, sub = 0, runId, update }: SessionUpdateParams): void {
    const at = seq + sub * PER_UPDATE;
    switch (update.sessionUpdate) {
      case 'user_message': {
        const { text, added = '', attached = [], images = [] } = update;
        const own = added && text.endsWith(added) ? text.slice(0, -added.length) : text;
        return put(at, update.messageId, () => ({ kind: 'prompt', text: cut(own), more: cut(added.trim()), about: 'Sent with it', attached: [...images.map(image), ...attached].map(words) }));
      }
      case 'agent_message': return put(at, update.messageId, () => ({ kind: 'reply', text: cut(update.text) }));
      case 'agent_message_chunk':
        return put(at, update.messageId, (before) => streamed(before, update.text));
      // It is before the answer, which has the same id, and comes after what has streamed of that.
      case 'agent_thought': return put(Math.min(at, (items.get(update.messageId)?.at ?? Infinity) - PER_UPDATE / 2), `thought ${update.messageId}`, () => ({ kind: 'thought', text: cut(update.text) }));
      case 'tool_call_update': {
        // The plan is drawn as the plan.
        if (update.tool === 'update_plan' && !['failed', '_denied'].includes(update.status)) return undefined;
        const { title, status, summary, argumentsText } = update;
        return put(at, update.toolCallId, () => ({ kind: 'tool', over: !WORKING.includes(status), minor: update.minor, text: words(`${markOf(status)} ${title}`), note: summary && words(summary), more: cut(argumentsText ?? '') }));
      }
      // Of a call that is not known yet the page has the line, and the server the result.
      case 'tool_call_content_chunk':
        if (items.get(update.toolCallId)?.over ?? true) return undefined;
        return put(at, update.toolCallId, (before) => ({ ...before, kind: 'tool', raw: endOf((before?.raw ?? '') + update.text) }));
      case 'compaction_update': {
        const { compactionId, title, kind, status, text = '' } = update;
        return put(at, `compaction ${compactionId}`, () => ({ kind: 'compaction', minor: kind === 'outputs', text: words(`${markOf(status)} ${title}`), more: cut(text) }));
      }
      case 'plan_update': {
        if (newest('plan', at)) head = { ...head, plan: steps(update.entries) };
        return undefined;
      }
      case '_ask':
        if (update.phase === 'closed') {
          return put(at, update.askId, (before) => ({ ...before, kind: 'ask', open: false, resolution: update.resolution }));
        }
        const { ask } = update;
        // What could come next after a run that is over is no question.
        if (ask.group === 'idle') return undefined;
        (ask.toolCallIds ?? (ask.toolCallId ? [ask.toolCallId] : [])).forEach((call) => askedOf.set(call, (askedOf.get(call) ?? new Set()).add(ask.askId)));
        return put(at, ask.askId, () => ({ kind: 'ask', open: true, text: words(ask.title), ask: { options: ask.options, isQuestion: ask.kind === 'followup' } }));
      case '_change_set': return put(at, update.changeSetId, () => changed(update));
      // The last answer says the same already.
      case '_complete': return update.said ? undefined : put(at, `complete ${runId}`, () => ({ kind: 'reply', text: cut(update.summary) }));
      case '_run': {
        if (update.phase === 'started') {
          if (!head.title) head = { ...head, title: update.title };
          return undefined;
        }
        const { outcome, summary, edits } = update.end;
        const why = summary && (outcome === 'failed' || outcome === 'limit') ? `: ${summary}` : '';
        return put(at, `end ${update.runId}`, () => ({ kind: 'end', run: edits?.line ? update.runId : undefined, waits: (edits?.unreviewed ?? 0) > 0, text: words(`${ENDS[outcome] ?? outcome}${why}`), note: edits?.line, bad: outcome === 'failed' || outcome === 'limit' }));
      }
      case 'state_update':
        if (newest('state', at)) head = { ...head, state: update.state, sub: update.sub };
        return undefined;
      case 'config_option_update':
        head = { ...head, options: update.configOptions };
        return undefined;
      case 'usage_update':
        head = { ...head, usage: update };
        return undefined;
      case 'notice': return put(at, `notice ${told++}`, () => ({ kind: 'notice', text: words(update.message) }));
      default: return undefined;
    }
  }

  return {
    fold,
    // What a client is told of a session once: its title and state.
    begin({ title, state, plan, usage, configOptions }: Partial<Pick<ResumeResult, 'title' | 'plan' | 'usage' | 'configOptions'>> & { state?: { state: State; sub?: SubState } }) {
      head = { ...head, options: configOptions ?? head.options, title: title || head.title, state: state?.state ?? head.state, sub: state ? state.sub : head.sub, plan: plan ? steps(plan) : head.plan, usage: usage ?? head.usage };
    },
    head: () => head,
    isEmpty: () => items.size === 0,
    // Leaves the items: whoever comes into sight again asks the server.
    forget() {
      items.clear();
      askedOf.clear();
      changes.clear();
    },
    // The items that changed since the last call, in their order.
    take(): Item[] {
      // An open question is a card of its own, and its step waits behind it; when it is answered, the answer stands at the step.
      const atSteps = new Set<string>();
      for (const [call, asks] of askedOf) {
        if (!items.has(call)) continue;
        const known = [...asks].filter((ask) => items.has(ask));
        // A question of the model has its words; its step only repeats them.
        for (const ask of known) atSteps.add(items.get(ask)?.ask?.isQuestion && items.get(ask)?.resolution ? call : ask);
        if ([call, ...known].some((id) => changes.has(id))) [call, ...known].forEach((id) => changes.add(id));
      }
      const isDrawn = (item: Folded | undefined): item is Folded & { text: string } => item?.text !== undefined && !item.open;
      const taken = [...changes].map((id) => items.get(id)).filter(isDrawn);
      changes = new Set();
      // Many parts may come before one drawing.
      const lives = ({ kind, over, raw }: Folded) => (kind === 'tool' && !over && raw ? { live: shown(raw) } : {});
      const said = ({ streams, raw }: Folded) => (streams && raw !== undefined ? { text: cut(raw) } : {});
      const noted = ({ ask, resolution, upTo, raw, open, ...drawn }: Folded & { text: string }): Item => (resolution ? { ...drawn, note: words(by(resolution) + answered(ask, resolution)) } : drawn);
      const told = (item: Folded): { asked?: boolean; answer?: string } => {
        if (atSteps.has(item.id)) return { asked: true };
        const asks = [...askedOf.get(item.id) ?? []].map((id) => items.get(id)).filter((one) => one !== undefined);
        if (asks.some(({ open }) => open)) return { asked: true };
        const answers = asks.flatMap(({ ask, resolution }) => (resolution && resolution.type !== 'cancelled' ? [words(by(resolution) + answered(ask, resolution))] : []));
        return answers.length > 0 ? { answer: answers.join(' · ') } : {};
      };
      return taken.map((item) => ({ ...noted(item), ...told(item), ...lives(item), ...said(item) })).sort((one, other) => one.at - other.at);
    },
  };
}
