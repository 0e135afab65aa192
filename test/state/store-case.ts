import assert from 'node:assert/strict';
import type { ToolError } from '../../src/core/errors.js';
import type { StateStore } from '../../src/state/state-store.js';

/** One promise of every state store. */
export interface StateStoreCase {
  readonly name: string;
  /** Rejects if the store, which must be empty at first, breaks the promise. */
  readonly run: (store: StateStore, tools: StateStoreTools) => Promise<void>;
}

/** The means that a case has besides the store. */
interface StateStoreTools {
  /** Lets at least this many milliseconds pass for the store. */
  readonly advance: (ms: number) => Promise<void>;
}

/** A case as these files write it. */
export type NamedRun = readonly [name: string, run: StateStoreCase['run']];

/** A lifetime that outlasts every case. */
export const LONG_MS = 3_600_000;

/** Expects a refusal. @returns the error, which must have the code. */
export async function refused(operation: () => Promise<unknown>, code: string): Promise<ToolError> {
  let refusal: ToolError | undefined;
  await assert.rejects(operation, (error: unknown) => {
    assert.equal((error as { code?: unknown }).code, code, String(error));
    refusal = error as ToolError;
    return true;
  });
  return refusal!;
}
