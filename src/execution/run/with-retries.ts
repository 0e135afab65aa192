import type { Clock } from '../../core/clock.js';
import { onAbort } from '../../core/on-abort.js';
import { exponentialBackoff } from '../../providers/exponential-backoff.js';
import { isTransient } from '../../providers/run-attempt.js';

export interface Retries {
  /** How often the work is started at most. */
  readonly maxAttempts: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Shorter than a provider's backoff: somebody is waiting for this call. */
const RETRY_BASE_MS = 100;
const RETRY_CAP_MS = 2_000;

/**
 * Runs work again, after a jittered pause, when it throws what may be gone a moment later.
 *
 * Only for work that may run more than once. The pause before attempt n + 1 is random between 0 and 100 ms · 2^(n − 1), at most 2 s.
 */
export async function withRetries<T>(work: (attempt: number) => T | Promise<T>, { maxAttempts, clock, random, signal }: Retries): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt >= maxAttempts || signal.aborted || !isTransient(error)) throw error;
      await pause(exponentialBackoff(attempt, { baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, random }), clock, signal);
      if (signal.aborted) throw error;
    }
  }
}

function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      stopListening();
      resolve();
    };
    const cancel = clock.after(ms, end);
    const stopListening = onAbort(signal, end);
  });
}
