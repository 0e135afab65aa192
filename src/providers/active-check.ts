import type { Clock } from '../core/clock.js';
import type { Provider } from './provider.js';
import { describeFailure } from './run-attempt.js';

/** What the last check said; `at` in milliseconds since 1970. */
export type CheckResult = { readonly healthy: true; readonly at: number } | { readonly healthy: false; readonly at: number; readonly reason: string };

export interface ActiveCheckOptions {
  readonly clock: Clock;
  /** At most one check in so many milliseconds; 0: none ever. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly onResult: (result: CheckResult, previous: CheckResult | undefined, latencyMs: number) => void;
}

/** Asks a provider now and then whether it can be used; callers who need the answer share one question. */
export class ActiveCheck {
  readonly #options: ActiveCheckOptions;
  #last: CheckResult | undefined;
  #startedAt: number | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ActiveCheckOptions) {
    this.#options = options;
  }

  get intervalMs(): number {
    return this.#options.intervalMs;
  }

  get last(): CheckResult | undefined {
    return this.#last;
  }

  /** Forgets what was found, for a provider that was made anew. */
  reset(): void {
    this.#last = this.#startedAt = this.#running = undefined;
  }

  /** Whether a check runs, or is to be made before the provider is used. */
  isDue(provider: Provider): boolean {
    if (this.#running !== undefined) return true;
    const { clock, intervalMs } = this.#options;
    if (intervalMs === 0 || provider.check === undefined) return false;
    // Counted from the start of the check: one that takes long is not asked more often.
    return this.#startedAt === undefined || clock.elapsed() - this.#startedAt >= intervalMs;
  }

  /** The check that callers should wait for: the running one, a new one when it is time, or none. Never rejects. */
  due(provider: Provider): Promise<void> | undefined {
    if (this.#running !== undefined) return this.#running;
    if (!this.isDue(provider)) return undefined;
    this.#startedAt = this.#options.clock.elapsed();
    const running = this.#run(provider, this.#startedAt).finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return (this.#running = running);
  }

  async #run(provider: Provider, startedAt: number): Promise<void> {
    const { clock, timeoutMs, onResult } = this.#options;
    const reason = await this.#ask(provider);
    // The provider was made anew while the old one was asked.
    if (this.#startedAt !== startedAt) return;
    const previous = this.#last;
    const at = clock.now();
    this.#last = Object.freeze(reason === undefined ? { healthy: true, at } : { healthy: false, at, reason });
    onResult(this.#last, previous, Math.min(clock.elapsed() - startedAt, timeoutMs));
  }

  /** Why the provider is unhealthy; `undefined` when it is healthy. */
  #ask(provider: Provider): Promise<string | undefined> {
    const { clock, timeoutMs } = this.#options;
    return new Promise((resolve) => {
      const controller = new AbortController();
      const stopTimer = clock.after(timeoutMs, () => {
        resolve(`its health check gave no answer within ${timeoutMs} ms`);
        controller.abort();
      });
      const settle = (reason: string | undefined) => {
        stopTimer();
        resolve(reason);
      };
      const answer = async () => await provider.check!(controller.signal);
      answer().then(
        (healthy) => settle(healthy === true ? undefined : 'its health check says no'),
        (error: unknown) => settle(`its health check failed: ${describeFailure(error)}`),
      );
    });
  }
}
