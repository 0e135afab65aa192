import type { Clock } from './clock.js';

/**
 * Pauses the time limits of a signal and of the signals around it. It returns a function that
 * resumes them.
 */
type Pause = () => () => void;

const pauses = new WeakMap<AbortSignal, Pause>();

interface TimeLimit {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The signal of the work that this work is part of. */
  readonly parent?: AbortSignal | undefined;
}

/**
 * Calls back when the work's time is up. `pauseLimits`, called with the work's signal, stops the
 * clock.
 *
 * @returns a function that ends the limit.
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

/** Applies the limits of one signal to another signal that follows it. */
export function followLimits(signal: AbortSignal, parent: AbortSignal | undefined): void {
  pauses.set(signal, () => pauseLimits(parent));
}

/**
 * Pauses the time limits of the work that has this signal, because waiting for a user doesn't
 * count. @returns a function that resumes them; only its first call counts.
 */
export function pauseLimits(signal: AbortSignal | undefined): () => void {
  let goOn = signal === undefined ? undefined : pauses.get(signal)?.();
  return () => {
    goOn?.();
    goOn = undefined;
  };
}
