// What the chat and its page send to each other. The page holds no truth: it gets what it draws. Never has a value.
import type { Detail, PlanEntry, PromptItem, State, SubState } from '../wire';
import type { ChipView } from './chips';
import type { Item } from './conversation';
import type { HeldView } from './held';
import type { ChangeLines } from './lines';
import type { Card } from './question';

// One request to the server.
export type Request = <R>(method: string, params: object) => Promise<R>;

export interface Cure { label: string; command: string }
export interface OptionButton { id?: string; label: string; title: string }

export interface Draw {
  type: 'draw'; reset: boolean; draft?: string; session?: string; items: Item[]; plan: PlanEntry[]; state: State; sub?: SubState; used: string; older: boolean;
  questions?: Card[]; reveal?: string; options: OptionButton[]; held?: HeldView; bare: boolean; openFolder?: string; detail: Detail;
}
export interface Output { type: 'output'; call: string; output?: string; leftOut?: number; problem?: string }
export type Unfolded = { type: 'unfolded'; set: string } & ChangeLines;
export interface Chips { type: 'chips'; chips: ChipView[]; focus: boolean }
export interface Answered { type: 'answered'; askId: string; problem?: string }

// What may stand in place of what was typed from `start` on.
export interface Completions { type: 'completions'; id: number; start: number; items: PromptItem[]; incomplete: boolean }

export type ToPage = Draw | Output | Unfolded | Chips | Answered | Completions
  | { type: 'history'; prompts?: string[] }
  | { type: 'sent'; id: string }
  | { type: 'refused'; id: string; message: string; cure?: Cure };

type Session = { session?: string };

export type FromPage = { type: 'ready' } | { type: 'drawn' } | { type: 'stop' } | { type: 'older' } | { type: 'conversations' } | { type: 'history' } | { type: 'review' } | { type: 'takeOver' }
  | { type: 'draft'; text: string } & Session
  | { type: 'send'; text: string; id: string } & Session
  | { type: 'answer'; askId: string; optionId?: string; text?: string }
  | { type: 'show'; askId: string }
  | { type: 'copy' | 'insert'; text: string }
  | { type: 'cure'; command: string }
  | { type: 'choose'; option?: string }
  | { type: 'complete'; id: number; text: string }
  | { type: 'keep' | 'undo' | 'unfold' | 'open'; set: string }
  | { type: 'output'; call: string }
  | { type: 'undoRun'; run: string }
  | { type: 'fork'; prompt: string }
  | FromChips & Session;

export type FromChips = { type: 'image'; name: string; mimeType: string; data: string } | { type: 'files'; uris: string[] } | { type: 'detach' | 'openChip'; chip: string } | { type: 'focused' };
