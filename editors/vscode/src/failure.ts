// What went wrong, in the words that it came with. Never makes words of its own.
import type { ErrorDetail, ErrorName } from './wire';

export type Complain = (error: unknown) => void;

export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

// The name of an error of the server; nothing for another error.
export const nameOf = (error: unknown): ErrorName | undefined => (error as { data?: ErrorDetail } | undefined)?.data?.name;
