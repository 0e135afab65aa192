import type { Clock } from '../core/clock.js';
import { isWriting } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { canonicalJson } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { aborted, withDeadline } from './with-deadline.js';

/** A call that was answered while its work still ran, and whose work has not ended since. */
export type AbandonedCall = {
  readonly callId: string;
  readonly toolName: string;
  readonly principal?: string;
  readonly conversationId?: string;
  /** The time of its answer, in milliseconds since 1970. */
  readonly since: number;
};

interface PlaceLimits {
  readonly clock: Clock;
  readonly maxConcurrent: number;
  readonly maxConcurrentPerTool?: number | undefined;
  readonly timeoutMs: number;
}

/** The place of a running call: one among all calls, and one among those of its tool. */
export interface Place {
  readonly toolName: string;
  /** The call, once it is answered while its work runs. */
  abandoned?: AbandonedCall;
  isFree: boolean;
}

interface Waiting {
  readonly entry: ToolEntry;
  readonly enter: (place: Place) => void;
}

/**
 * Gives calls their places, in all and of each tool, and keeps the calls whose work goes on after the answer.
 *
 * Such work cannot be stopped, only counted: it keeps its place until it ends or an operator releases it. Work of
 * readonly tools that may run beside itself harms nobody and gives its place up.
 */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #ofTool = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  readonly #abandoned = new Set<Place>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Does work in a place, once there is one. @throws ToolError `TIMEOUT` or `ABORTED` when there is none in time; what the work throws. */
  async within<T>(
    entry: ToolEntry,
    signal: AbortSignal | undefined,
    work: (place: Place) => T | Promise<T>,
  ): Promise<T> {
    const place = this.#fits(entry) ? this.#take(entry) : await this.#wait(entry, signal);
    try {
      return await work(place);
    } finally {
      if (place.abandoned === undefined) this.#leave(place);
    }
  }

  /** Notes that a call was answered while its work runs; `ended` must be called when the work has ended. */
  abandon(
    place: Place,
    whose: Omit<AbandonedCall, 'toolName' | 'since'>,
    { allowParallel, accessMode }: Pick<ToolEntry, 'allowParallel' | 'accessMode'>,
  ): void {
    const { toolName } = place;
    place.abandoned = Object.freeze({ ...whose, toolName, since: this.#limits.clock.now() });
    this.#abandoned.add(place);
    if (allowParallel && !isWriting(accessMode)) this.#leave(place);
  }

  ended(place: Place): void {
    if (this.#abandoned.delete(place)) this.#leave(place);
  }

  /** Returns the abandoned calls, the longest first. */
  abandoned(): readonly AbandonedCall[] {
    return Object.freeze([...this.#abandoned].map(({ abandoned }) => abandoned!));
  }

  /**
   * Lets other calls run as if the work of an abandoned call had ended. @returns whether there was such a call.
   *
   * @throws ToolError `INVALID_ARGUMENT` for an id that several calls have.
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
        expectedGot(
          'the id of one abandoned call',
          `one that ${others.length + 1} have`,
          'Give the call, as executor.abandoned() lists it.',
        ),
      );
    if (first !== undefined) this.ended(first);
    return first !== undefined;
  }

  #fits({ name, allowParallel }: ToolEntry): boolean {
    const { maxConcurrent, maxConcurrentPerTool = maxConcurrent } = this.#limits;
    const most = allowParallel ? maxConcurrentPerTool : 1;
    return this.#taken < maxConcurrent && (this.#ofTool.get(name) ?? 0) < most;
  }

  #take({ name }: ToolEntry): Place {
    this.#taken++;
    this.#ofTool.set(name, (this.#ofTool.get(name) ?? 0) + 1);
    return { toolName: name, isFree: false };
  }

  #leave(place: Place): void {
    if (place.isFree) return;
    place.isFree = true;
    this.#taken--;
    const left = this.#ofTool.get(place.toolName)! - 1;
    if (left === 0) this.#ofTool.delete(place.toolName);
    else this.#ofTool.set(place.toolName, left);
    // First come, first served; those that wait for their tool hold up no other.
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.entry)) continue;
      this.#waiting.delete(waiting);
      waiting.enter(this.#take(waiting.entry));
    }
  }

  async #wait(entry: ToolEntry, signal: AbortSignal | undefined): Promise<Place> {
    const { name, timeoutMs = this.#limits.timeoutMs } = entry;
    let waiting: Waiting | undefined;
    let taken: Place | undefined;
    const waited = await withDeadline(
      () =>
        new Promise<Place>((resolve) => {
          const enter = (place: Place) => resolve((taken = place));
          this.#waiting.add((waiting = { entry, enter }));
        }),
      { clock: this.#limits.clock, timeoutMs, signal },
    );
    if (waited.kind === 'returned') return waited.value;
    if (waiting !== undefined) this.#waiting.delete(waiting);
    // The place came in the same moment in which the wait was over.
    if (taken !== undefined) this.#leave(taken);
    if (waited.kind !== 'timeout') throw aborted(name);
    const held = [...this.#abandoned].find(({ toolName, isFree }) => toolName === name && !isFree);
    const why =
      held === undefined
        ? 'other calls still run. Try again later'
        : `the call ${JSON.stringify(held.abandoned!.callId)} was given up and still runs. Wait until it ends, or have it released`;
    throw new ToolError('TIMEOUT', `${name} did not get its turn within ${timeoutMs} ms: ${why}.`, {
      details: { timeoutMs },
    });
  }
}
