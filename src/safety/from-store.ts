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
import { recordKeyOf, looksOpen } from './waiting-calls.js';

/** The options of `fromStore`. */
interface FromStoreOptions {
  /** The executor's own store, through which operators answer. */
  readonly store: StateStore;
  /**
   * The time to wait for an answer, in milliseconds. If nobody answers in time, the call stays
   * pending. @default 600,000 (ten minutes)
   */
  readonly timeoutMs?: number;
  /** The interval at which the store is polled, in milliseconds. @default 1,000 */
  readonly pollMs?: number;
  /** The clock. @default the system clock */
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
 * Returns a `confirm` function that waits until an operator answers a call in the store.
 *
 * If nobody answers in time, the call ends with `approval_required`. If you make the call again
 * later, the call uses the answer given in the meantime.
 *
 * ```ts
 * const executor = new ToolExecutor({ registry, store, approvalKey, confirm: fromStore({ store, timeoutMs: 60_000 }) });
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid options.
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
    // This loop looks only for an answer. The executor reads the answer and verifies its signature.
    while (looksOpen(await store.get(recordKeyOf(id)))) {
      const left = end - time.elapsed();
      if (left <= 0 || signal?.aborted === true) break;
      await pauseFor(Math.min(pollMs, left), time, signal);
    }
    return 'later' as const;
  };
}
