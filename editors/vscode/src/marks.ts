// The mark of a step, by its status. Never says more than whether it waits, is at work, went well or did not.
import type { ToolStatus } from './wire';

const MARKS: Partial<Record<ToolStatus, string>> = { pending: '○', in_progress: '◐', completed: '✓' };

export const markOf = (status: ToolStatus) => MARKS[status] ?? '✗';
