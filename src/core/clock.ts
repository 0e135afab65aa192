import { LIMITS } from './limits.js';
import { onAbort } from './listeners.js';

interface TimerOptions {
  /**
   * Lets the process exit before the timer fires. Use this option for work that nothing depends on.
   * @default false
   */
  readonly background?: boolean;
}

/**
 * A source of time. Everything that waits or measures time accepts a clock, so that tests can
 * control it.
 */
export interface Clock {
  /**
   * Returns the milliseconds since 1970. Use this value for dates shown to users. The value jumps
   * when the system time is changed.
   */
  now(): number;
  /**
   * Returns milliseconds since an arbitrary moment. The value never decreases: use it for durations
   * and deadlines.
   */
  elapsed(): number;
  /** Calls `call` once after `ms` milliseconds. Returns a function that cancels the timer. */
  after(ms: number, call: () => void, options?: TimerOptions): () => void;
}

/**
 * The system clock. Node fires timers over 2³¹−1 ms immediately, so longer delays are shortened
 * to 2³¹−1 ms.
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

/** Waits `ms` milliseconds, or until the signal is aborted. */
export function pauseFor(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const ends = [clock.after(ms, end), onAbort(signal, end)];
    function end(): void {
      for (const stop of ends) stop();
      resolve();
    }
  });
}

/** The number of microtask turns in which work can finish after its signal was aborted. */
const TURNS = 20;

/**
 * Waits until nothing is running, but at most a few microtask turns. Work that stops as soon as its
 * signal is aborted can thus end together with its call.
 */
export async function untilQuiet(running: () => number): Promise<void> {
  for (let turn = 0; turn < TURNS && running() > 0; turn++) await Promise.resolve();
}

/** Resolves in the next event-loop turn, without a delay. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) =>
    typeof setImmediate === 'function' ? setImmediate(resolve) : setTimeout(resolve, 0),
  );
}
