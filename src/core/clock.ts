import { LIMITS } from './limits.js';
import { onAbort } from './listeners.js';

interface TimerOptions {
  /** Lets the process end before the timer fires, for work that nothing depends on. @default false */
  readonly background?: boolean;
}

/** A source of time. Everything that waits or measures takes one, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds since 1970: for dates that are shown. It may jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since some moment, which only ever rise: for durations and deadlines. */
  elapsed(): number;
  /** Calls back once after some milliseconds, unless the returned function is called before. */
  after(ms: number, call: () => void, options?: TimerOptions): () => void;
}

/** The time of this machine. Its timers do not fire early: delays beyond 2³¹−1 ms, which would fire at once, are shortened to that. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (ms: number, call: () => void, { background = false }: TimerOptions = {}) => {
    const timer = setTimeout(call, Math.min(Math.max(ms, 0), LIMITS.timerMs));
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
});

/** Waits some milliseconds, or until the signal fires. */
export function pauseFor(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const ends = [clock.after(ms, end), onAbort(signal, end)];
    function end(): void {
      for (const stop of ends) stop();
      resolve();
    }
  });
}

/** Turns of the queue of promises in which work that hears its signal may end. */
const TURNS = 20;

/** Waits until nothing runs, for some turns of the queue of promises: work that ends as soon as it hears its signal ends with its call. */
export async function untilQuiet(running: () => number): Promise<void> {
  for (let turn = 0; turn < TURNS && running() > 0; turn++) await Promise.resolve();
}

/** Resolves in the next turn of the event loop, without waiting for time to pass. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) =>
    typeof setImmediate === 'function' ? setImmediate(resolve) : setTimeout(resolve, 0),
  );
}
