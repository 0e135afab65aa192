import { LIMITS } from './limits.js';
import { onAbort } from './listeners.js';

interface TimerOptions {
  /**
   * Lets the process exit before the timer fires. Use it for work that nothing depends on. @default
   * false
   */
  readonly background?: boolean;
}

/**
 * A source of time. Everything that waits or measures takes a clock, so tests can control the time.
 */
export interface Clock {
  /**
   * Returns milliseconds since 1970, for dates that are shown. It can jump when the machine's clock
   * is set.
   */
  now(): number;
  /**
   * Returns milliseconds since an arbitrary moment. It only ever increases: use it for durations
   * and deadlines.
   */
  elapsed(): number;
  /** Calls `call` once after `ms` milliseconds. The returned function cancels it. */
  after(ms: number, call: () => void, options?: TimerOptions): () => void;
}

/**
 * The time of this machine. Node fires timers over 2³¹−1 ms at once, so longer delays are shortened
 * to that.
 */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (ms: number, call: () => void, { background = false }: TimerOptions = {}) => {
    const timer = setTimeout(call, Math.min(Math.max(ms, 0), LIMITS.timerMs));
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
});

/** Waits `ms` milliseconds, or until the signal fires. */
export function pauseFor(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const ends = [clock.after(ms, end), onAbort(signal, end)];
    function end(): void {
      for (const stop of ends) stop();
      resolve();
    }
  });
}

/** Turns of the promise queue that work gets to finish after its signal has fired. */
const TURNS = 20;

/**
 * Waits a few turns of the promise queue until nothing runs. Work that stops as soon as its signal
 * fires therefore ends together with its call.
 */
export async function untilQuiet(running: () => number): Promise<void> {
  for (let turn = 0; turn < TURNS && running() > 0; turn++) await Promise.resolve();
}

/** Resolves in the next turn of the event loop, without a delay. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) =>
    typeof setImmediate === 'function' ? setImmediate(resolve) : setTimeout(resolve, 0),
  );
}
