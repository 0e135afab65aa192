import type { Clock } from '../core/clock.js';
import { isWriting } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { canonicalJson } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { aborted, withDeadline } from './with-deadline.js';

/**
 * A call that was answered while its work was still running, and whose work hasn't finished yet.
 */
export type AbandonedCall = {
  readonly callId: string;
  readonly toolName: string;
  readonly principal?: string;
  readonly conversationId?: string;
  /** The time at which the call was answered, in milliseconds since 1970. */
  readonly since: number;
};

interface PlaceLimits {
  readonly clock: Clock;
  readonly maxConcurrent: number;
  readonly maxConcurrentPerTool?: number | undefined;
  readonly timeoutMs: number;
}

/** A slot for a running call. Each slot counts toward the total limit and the tool's limit. */
export interface CallPlace {
  readonly toolName: string;
  /** The abandoned call, if it was answered before its work finished. */
  abandoned?: AbandonedCall;
  isFree: boolean;
}

interface Waiting {
  readonly entry: ToolEntry;
  readonly enter: (place: CallPlace) => void;
}

/**
 * Limits how many calls run at the same time, in total and per tool. Also tracks calls whose work
 * continues after they've been answered.
 *
 * The executor can't stop the work of an answered call. Such work occupies its slot until it
 * finishes or an operator releases the slot. Readonly work that can run in parallel is harmless, so
 * its slot is freed immediately.
 */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #ofTool = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  readonly #abandoned = new Set<CallPlace>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * Waits for a free slot and does the work in it.
   * @throws ToolError `TIMEOUT` or `ABORTED` if no slot becomes free in time, or whatever the work
   * throws.
   */
  async within<T>(
    entry: ToolEntry,
    signal: AbortSignal | undefined,
    work: (place: CallPlace) => T | Promise<T>,
  ): Promise<T> {
    const place = this.#fits(entry) ? this.#take(entry) : await this.#wait(entry, signal);
    try {
      return await work(place);
    } finally {
      if (place.abandoned === undefined) this.#leave(place);
    }
  }

  /**
   * Records that a call was answered while its work was still running. Call `ended` when the work
   * has finished.
   */
  abandon(
    place: CallPlace,
    whose: Omit<AbandonedCall, 'toolName' | 'since'>,
    { allowParallel, accessMode }: ToolEntry,
  ): void {
    const { toolName } = place;
    place.abandoned = Object.freeze({ ...whose, toolName, since: this.#limits.clock.now() });
    this.#abandoned.add(place);
    if (allowParallel && !isWriting(accessMode)) this.#leave(place);
  }

  ended(place: CallPlace): void {
    if (this.#abandoned.delete(place)) this.#leave(place);
  }

  /** Returns the abandoned calls, longest-running first. */
  abandoned(): readonly AbandonedCall[] {
    return Object.freeze([...this.#abandoned].map(({ abandoned }) => abandoned!));
  }

  /**
   * Frees the slot of an abandoned call, as if its work had finished.
   * @returns true if the call was abandoned and hadn't been released yet.
   *
   * @throws ToolError `INVALID_ARGUMENT` if several calls have this id.
   */
  release(released: string | AbandonedCall): boolean {
    const [first, ...others] = [...this.#abandoned].filter(({ abandoned }) =>
      typeof released === 'string'
        ? abandoned!.callId === released
        : canonicalJson(abandoned) === canonicalJson(released),
    );
    if (typeof released === 'string' && others.length > 0)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${others.length + 1} abandoned calls share this id. Pass the call object from executor.abandoned() instead of the id.`,
      );
    if (first !== undefined) this.ended(first);
    return first !== undefined;
  }

  #fits({ name, allowParallel }: ToolEntry): boolean {
    const { maxConcurrent, maxConcurrentPerTool = maxConcurrent } = this.#limits;
    const most = allowParallel ? maxConcurrentPerTool : 1;
    return this.#taken < maxConcurrent && (this.#ofTool.get(name) ?? 0) < most;
  }

  #take({ name }: ToolEntry): CallPlace {
    this.#taken++;
    this.#ofTool.set(name, (this.#ofTool.get(name) ?? 0) + 1);
    return { toolName: name, isFree: false };
  }

  #leave(place: CallPlace): void {
    if (place.isFree) return;
    place.isFree = true;
    this.#taken--;
    const left = this.#ofTool.get(place.toolName)! - 1;
    if (left === 0) this.#ofTool.delete(place.toolName);
    else this.#ofTool.set(place.toolName, left);
    // First come, first served. A call that waits for its tool doesn't block calls of other tools.
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.entry)) continue;
      this.#waiting.delete(waiting);
      waiting.enter(this.#take(waiting.entry));
    }
  }

  async #wait(entry: ToolEntry, signal: AbortSignal | undefined): Promise<CallPlace> {
    const { name, timeoutMs = this.#limits.timeoutMs } = entry;
    let waiting: Waiting | undefined;
    let taken: CallPlace | undefined;
    const waited = await withDeadline(
      () =>
        new Promise<CallPlace>((resolve) => {
          const enter = (place: CallPlace) => resolve((taken = place));
          this.#waiting.add((waiting = { entry, enter }));
        }),
      { clock: this.#limits.clock, timeoutMs, signal },
    );
    if (waited.kind === 'returned') return waited.value;
    if (waiting !== undefined) this.#waiting.delete(waiting);
    // The slot became free at the moment at which the wait ended.
    if (taken !== undefined) this.#leave(taken);
    if (waited.kind !== 'timeout') throw aborted(name);
    const held = [...this.#abandoned].find(({ toolName, isFree }) => toolName === name && !isFree);
    const why =
      held === undefined
        ? 'other calls are still running. Try again later'
        : `the abandoned call ${JSON.stringify(held.abandoned!.callId)} is still running. Wait until it finishes, or release it`;
    throw new ToolError(
      'TIMEOUT',
      `Timed out after ${timeoutMs} ms waiting to run ${name}: ${why}.`,
      {
        details: { timeoutMs },
      },
    );
  }
}
