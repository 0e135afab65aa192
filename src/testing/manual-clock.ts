import type { Clock } from '../core/clock.js';

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly call: () => void;
}

/** A clock that doesn't move until a test advances it. */
export class ManualClock implements Clock {
  readonly #start: number;
  readonly #timers = new Set<Timer>();
  #elapsed = 0;
  #dateShift = 0;
  #order = 0;

  /** @param start The first value of `now()`, in milliseconds since 1970. */
  constructor(start = 0) {
    this.#start = start;
  }

  now(): number {
    return this.#start + this.#elapsed + this.#dateShift;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  after(ms: number, call: () => void): () => void {
    const timer: Timer = { due: this.#elapsed + Math.max(ms, 0), order: (this.#order += 1), call };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** The number of timers that haven't fired yet. */
  get pending(): number {
    return this.#timers.size;
  }

  /**
   * Advances the time by `ms` milliseconds and fires due timers in order, including timers started
   * by other timers.
   */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end))
      this.#run(timer);
    this.#elapsed = end;
  }

  /**
   * Advances the time like `advance`, and lets promises settle before, between, and after the
   * timers.
   */
  async advanceAsync(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await settled();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#run(timer);
      await settled();
    }
    this.#elapsed = end;
    await settled();
  }

  /**
   * Shifts the date by `ms` milliseconds as if the system time had been changed. No time passes, so
   * no timers fire.
   */
  shiftDate(ms: number): void {
    this.#dateShift += ms;
  }

  #run(timer: Timer): void {
    this.#timers.delete(timer);
    this.#elapsed = Math.max(this.#elapsed, timer.due);
    timer.call();
  }

  #next(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.due > end) continue;
      if (
        next === undefined ||
        timer.due < next.due ||
        (timer.due === next.due && timer.order < next.order)
      )
        next = timer;
    }
    return next;
  }
}

/**
 * Waits until all promises that don't depend on timers or I/O have settled. Resolves before the
 * next event-loop turn.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
