import type { Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { onAbort } from '../core/listeners.js';
import { limitTime } from '../core/time-limit.js';

/** The end of work under a deadline. */
export type Settled<T> =
  | { readonly kind: 'returned'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'aborted' };

interface Deadline {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The caller's own signal. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs work and answers in time, whatever the work does.
 *
 * At the deadline, or when the caller aborts, the work's signal fires (at the deadline with a `TimeoutError` as its
 * reason) and the answer is given at once; what the work still returns or throws is dropped. No timer or listener is
 * left behind. `pauseLimits` of the work's signal stops the time. Work that blocks the thread cannot be interrupted.
 */
export function withDeadline<T>(
  work: (signal: AbortSignal) => T | Promise<T>,
  { clock, timeoutMs, signal }: Deadline,
): Promise<Settled<T>> {
  if (signal?.aborted === true) return Promise.resolve({ kind: 'aborted' });
  return new Promise((resolve) => {
    const controller = new AbortController();
    let waiting = true;
    const settle = (settled: Settled<T>) => {
      if (!waiting) return;
      waiting = false;
      cancelTimer();
      stopListening();
      resolve(settled);
    };
    const giveUp = (kind: 'timeout' | 'aborted', reason: unknown) => {
      settle({ kind });
      controller.abort(reason);
    };
    const cancelTimer = limitTime(controller.signal, { clock, timeoutMs, parent: signal }, () =>
      giveUp(
        'timeout',
        new DOMException(`The call took longer than ${timeoutMs} ms`, 'TimeoutError'),
      ),
    );
    const stopListening = onAbort(signal, () => giveUp('aborted', signal?.reason));
    try {
      const returned = work(controller.signal);
      if (returned instanceof Promise)
        returned.then(
          (value) => settle({ kind: 'returned', value }),
          (error: unknown) => settle({ kind: 'threw', error }),
        );
      else
        Promise.resolve(returned).then(
          (value) => settle({ kind: 'returned', value }),
          (error: unknown) => settle({ kind: 'threw', error }),
        );
    } catch (error) {
      settle({ kind: 'threw', error });
    }
  });
}

/**
 * Waits for work that others may wait for too, until the caller gives up.
 *
 * @throws ToolError `ABORTED`; the work goes on.
 */
export function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  toolName: string,
): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(aborted(toolName));
    const stopListening = onAbort(signal, () => reject(aborted(toolName)));
    work.finally(stopListening).then(resolve, reject);
  });
}

/** The error of a call that its caller does not want any more. */
export function aborted(toolName: string): ToolError {
  return new ToolError(
    'ABORTED',
    `Expected ${toolName} to finish, got a caller who gave the call up.`,
  );
}

/** @throws ToolError `ABORTED` when the caller has given up. */
export function assertWanted(signal: AbortSignal | undefined, toolName: string): void {
  if (signal?.aborted === true) throw aborted(toolName);
}
