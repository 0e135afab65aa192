import type { Clock } from './clock.js';

/** Stops the limit of a signal, and those around it; what it returns lets them go on. */
type Pause = () => () => void;

const pauses = new WeakMap<AbortSignal, Pause>();

interface TimeLimit {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The signal of the work in which this is a part. */
  readonly parent?: AbortSignal | undefined;
}

/**
 * Calls back when the time of some work is up; `pauseLimits` of the signal that the work has stops the time.
 *
 * @returns what ends the limit.
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

/** Makes the limits of one signal those of another, which follows it. */
export function followLimits(signal: AbortSignal, parent: AbortSignal | undefined): void {
  pauses.set(signal, () => pauseLimits(parent));
}

/** Stops the time limits of work by the signal that it has: a user's time is not the work's. @returns what lets them go on, once. */
export function pauseLimits(signal: AbortSignal | undefined): () => void {
  let goOn = signal === undefined ? undefined : pauses.get(signal)?.();
  return () => {
    goOn?.();
    goOn = undefined;
  };
}
