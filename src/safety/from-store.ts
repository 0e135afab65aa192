import { z } from 'zod';
import { pauseFor, systemClock, type Clock } from '../core/clock.js';
import {
  checkOptions,
  clock,
  milliseconds,
  once,
  withMethods,
  type FieldsOf,
} from '../core/options.js';
import type { StateStore } from '../state/state-store.js';
import type { Confirm } from './calls.js';
import { answerKey } from './pending-calls.js';

/** Options of `fromStore`. */
export interface FromStoreOptions {
  /** The executor's own store, where operators answer. */
  readonly store: StateStore;
  /** Milliseconds to wait for an answer. After that the call stays pending. @default 600,000 (ten minutes) */
  readonly timeoutMs?: number;
  /** Milliseconds between two polls of the store. @default 1,000 */
  readonly pollMs?: number;
  /** The clock. @default the system's */
  readonly clock?: Clock;
}

const schema = once(() =>
  z.strictObject({
    store: withMethods<StateStore>('a StateStore', 'get'),
    timeoutMs: milliseconds().default(600_000),
    pollMs: milliseconds().default(1_000),
    clock: clock().default(systemClock),
  } satisfies FieldsOf<FromStoreOptions>),
);

/**
 * Returns a `confirm` function that holds a call until an operator answers it in the store.
 *
 * If nobody answers in time, the call ends as `approval_required`. If you make it again later, it
 * uses the answer given by then.
 *
 * ```ts
 * const executor = new ToolExecutor({ registry, store, approvalKey, confirm: fromStore({ store, timeoutMs: 60_000 }) });
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong options.
 */
export function fromStore(options: FromStoreOptions): Confirm {
  const {
    store,
    timeoutMs,
    pollMs,
    clock: time,
  } = checkOptions(schema, options, 'options of fromStore');
  return async ({ id }, { signal }) => {
    const end = time.elapsed() + timeoutMs;
    // This entry only shows that there is an answer. The executor reads the answer and checks its
    // signature.
    while ((await store.get(answerKey(id))) === undefined) {
      const left = end - time.elapsed();
      if (left <= 0 || signal?.aborted === true) break;
      await pauseFor(Math.min(pollMs, left), time, signal);
    }
    return 'later' as const;
  };
}
