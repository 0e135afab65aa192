import { isPromise } from '../core/plain-data.js';
import type { Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { onAbort } from '../core/listeners.js';
import { limitTime } from '../core/time-limit.js';

/** The way in which work with a deadline ended. */
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

/** A signal that is created on first access. */
export interface Stop {
  readonly signal: AbortSignal;
}

/** Work that finishes within this many microtask turns doesn't need a timer. */
const TURNS = 8;

/**
 * Runs work, and returns in time whatever the work does.
 *
 * At the deadline, or if the caller aborts, the work's signal is aborted and the function returns
 * immediately. At the deadline, the signal's reason is a `TimeoutError`. Anything that the work
 * returns or throws later is ignored. All timers and listeners are removed. `pauseLimits` on the
 * work's signal pauses the deadline. Work that blocks the thread can't be interrupted.
 */
export function withDeadline<T>(
  work: (limit: Stop) => T | Promise<T>,
  deadline: Deadline,
): Promise<Settled<T>> {
  if (deadline.signal?.aborted === true) return Promise.resolve({ kind: 'aborted' });
  const limit = new Limit<T>(deadline);
  try {
    const returned = work(limit);
    if (!isPromise(returned)) limit.settle({ kind: 'returned', value: returned });
    else
      returned.then(
        (value) => limit.settle({ kind: 'returned', value }),
        (error: unknown) => limit.settle({ kind: 'threw', error }),
      );
  } catch (error) {
    limit.settle({ kind: 'threw', error });
  }
  return limit.settled();
}

/**
 * The time limit of one piece of work. The signal and timer are created only when needed, because
 * most work finishes without them.
 */
class Limit<T> implements Stop {
  readonly #deadline: Deadline;
  readonly #startedAt: number;
  #end: Settled<T> | undefined;
  #controller: AbortController | undefined;
  #tell: ((settled: Settled<T>) => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  #stopListening: (() => void) | undefined;

  constructor(deadline: Deadline) {
    this.#deadline = deadline;
    this.#startedAt = deadline.clock.elapsed();
  }

  /** Aborted when the work should stop. */
  get signal(): AbortSignal {
    return this.#watch().signal;
  }

  /** Ends the limit. Only the first call of `settle` has an effect. */
  settle(end: Settled<T>): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#cancelTimer?.();
    this.#stopListening?.();
    this.#tell?.(end);
  }

  async settled(): Promise<Settled<T>> {
    for (let turn = 0; turn < TURNS && this.#end === undefined; turn++) await Promise.resolve();
    if (this.#end !== undefined) return this.#end;
    this.#watch();
    return this.#end ?? new Promise((resolve) => (this.#tell = resolve));
  }

  #watch(): AbortController {
    if (this.#controller !== undefined) return this.#controller;
    const { clock, timeoutMs, signal: parent } = this.#deadline;
    const controller = (this.#controller = new AbortController());
    if (this.#end !== undefined) return controller;
    const leftMs = Math.max(0, timeoutMs - (clock.elapsed() - this.#startedAt));
    const isLate = () =>
      this.#giveUp(
        'timeout',
        new DOMException(`The call took longer than ${timeoutMs} ms`, 'TimeoutError'),
      );
    this.#cancelTimer = limitTime(controller.signal, { clock, timeoutMs: leftMs, parent }, isLate);
    this.#stopListening = onAbort(parent, () => this.#giveUp('aborted', parent?.reason));
    if (parent?.aborted === true) this.#giveUp('aborted', parent.reason);
    else if (leftMs === 0) isLate();
    return controller;
  }

  #giveUp(kind: 'timeout' | 'aborted', reason: unknown): void {
    this.settle({ kind });
    this.#controller!.abort(reason);
  }
}

/**
 * Waits for shared work until the caller aborts.
 *
 * @throws ToolError `ABORTED`. The work itself continues.
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

/** Returns the error for a call that its caller aborted. */
export function aborted(toolName: string): ToolError {
  return new ToolError('ABORTED', `The caller aborted ${toolName} before it finished.`);
}

/** @throws ToolError `ABORTED` if the caller has aborted. */
export function assertWanted(signal: AbortSignal | undefined, toolName: string): void {
  if (signal?.aborted === true) throw aborted(toolName);
}
