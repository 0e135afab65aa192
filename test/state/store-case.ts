import assert from 'node:assert/strict';
import type { ToolError } from '../../src/core/errors.js';
import type { StateStore } from '../../src/state/state-store.js';

/** One promise that every state store must keep. */
export interface StateStoreCase {
  readonly name: string;
  /** Rejects if the store breaks the promise. The store must be empty at first. */
  readonly run: (store: StateStore, tools: StateStoreTools) => Promise<void>;
}

/** What a case can use besides the store. */
interface StateStoreTools {
  /** Lets at least this many milliseconds pass for the store. */
  readonly advance: (ms: number) => Promise<void>;
}

/** A case as defined in the case files. */
export type NamedRun = readonly [name: string, run: StateStoreCase['run']];

/** A lifetime that is longer than every case. */
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
