import type { Clock } from './clock.js';

/**
 * Pauses the time limits of a signal and of its parent signals. Returns a function that resumes the
 * limits.
 */
type Pause = () => () => void;

const pauses = new WeakMap<AbortSignal, Pause>();

interface TimeLimit {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The signal of the parent work. */
  readonly parent?: AbortSignal | undefined;
}

/**
 * Calls `onEnd` when the time limit is reached. Calling `pauseLimits` with the work's signal pauses
 * the limit.
 *
 * @returns A function that ends the limit.
 */
export function limitTime(
  signal: AbortSignal,
  { clock, timeoutMs, parent }: TimeLimit,
  onEnd: () => void,
): () => void {
  let leftMs = timeoutMs;
  let pausedTimes = 0;
  let isOver = false;
  let startedAt = clock.elapsed();
  let stopTimer = clock.after(leftMs, onEnd);
  pauses.set(signal, () => {
    if (pausedTimes++ === 0 && !isOver) {
      stopTimer();
      leftMs = Math.max(0, leftMs - (clock.elapsed() - startedAt));
    }
    const goOn = pauseLimits(parent);
    return () => {
      goOn();
      if (--pausedTimes > 0 || isOver) return;
      startedAt = clock.elapsed();
      stopTimer = clock.after(leftMs, onEnd);
    };
  });
  return () => {
    isOver = true;
    stopTimer();
  };
}

/** Applies the limits of a parent signal to a child signal. */
export function followLimits(signal: AbortSignal, parent: AbortSignal | undefined): void {
  pauses.set(signal, () => pauseLimits(parent));
}

/**
 * Pauses the time limits of the work that has this signal, because time spent waiting for a user
 * doesn't count. @returns A function that resumes the limits. Only the first call of that function
 * has an effect.
 */
export function pauseLimits(signal: AbortSignal | undefined): () => void {
  let goOn = signal === undefined ? undefined : pauses.get(signal)?.();
  return () => {
    goOn?.();
    goOn = undefined;
  };
}
