import type { Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import type { AppendOptions, Increment, IncrementOptions, LifetimeOptions, ReadOptions, StateStore, StoreMoment } from './state-store.js';

/** How long an operation is waited for: a store promises to answer within 250 ms. */
const ANSWER_MS = 300;
/** How often a store that has stopped answering is asked whether it does again. */
const PROBE_MS = 1_000;

/**
 * Holds a store to its promise: an operation that does not end in time is refused with `STATE_UNAVAILABLE`.
 *
 * From then on all operations are refused at once, so that a call waits for a lost store only once, until the store answers
 * again: to an operation that was given up, or to a question asked meanwhile.
 */
export class StoreInTime implements StateStore {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #listeners = new Set<(available: boolean) => void>();
  /** `elapsed()` from which on the lost store is asked again; `undefined` while it answers. */
  #probeAt: number | undefined;

  constructor(store: StateStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  get(key: string): Promise<string | undefined> {
    return this.#inTime(() => this.#store.get(key));
  }

  compareAndSet(key: string, expected: string | undefined, next: string | undefined, options?: LifetimeOptions): Promise<boolean> {
    return this.#inTime(() => this.#store.compareAndSet(key, expected, next, options));
  }

  increment(key: string, by: number, options?: IncrementOptions): Promise<Increment> {
    return this.#inTime(() => this.#store.increment(key, by, options));
  }

  expire(key: string, ttlMs: number): Promise<boolean> {
    return this.#inTime(() => this.#store.expire(key, ttlMs));
  }

  now(): Promise<StoreMoment> {
    return this.#inTime(() => this.#store.now());
  }

  list(prefix: string, limit?: number): Promise<readonly string[]> {
    return this.#store.list(prefix, limit);
  }

  append(key: string, item: string, options: AppendOptions): Promise<number | undefined> {
    return this.#inTime(() => this.#store.append(key, item, options));
  }

  read(key: string, options?: ReadOptions): Promise<readonly string[]> {
    return this.#inTime(() => this.#store.read(key, options));
  }

  publish(channel: string, message: string): Promise<void> {
    return this.#inTime(() => this.#store.publish(channel, message));
  }

  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>> {
    return this.#inTime(() => this.#store.subscribe(channel, listener));
  }

  onAvailability(listener: (available: boolean) => void): () => void {
    const own = (available: boolean) => listener(available);
    this.#listeners.add(own);
    const stop = this.#store.onAvailability(own);
    return () => {
      this.#listeners.delete(own);
      stop();
    };
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #inTime<T>(operate: () => Promise<T>): Promise<T> {
    if (this.#probeAt !== undefined) {
      this.#probe(this.#probeAt);
      throw unavailable('one that has not answered before', false);
    }
    const operation = operate();
    return new Promise<T>((resolve, reject) => {
      let waiting = true;
      const cancel = this.#clock.after(ANSWER_MS, () => {
        waiting = false;
        this.#lose();
        reject(unavailable(`no answer within ${ANSWER_MS} ms`));
      });
      const end = (settle: () => void) => {
        cancel();
        if (waiting) settle();
        else this.#recover();
      };
      // What the store rejected with is passed on as it is.
      operation.then((value) => end(() => resolve(value)), () => end(() => resolve(operation)));
    });
  }

  #probe(at: number): void {
    if (this.#clock.elapsed() < at) return;
    this.#probeAt = this.#clock.elapsed() + PROBE_MS;
    void Promise.resolve().then(() => this.#store.get('availability')).then(() => this.#recover(), () => this.#recover());
  }

  #lose(): void {
    const wasLost = this.#probeAt !== undefined;
    this.#probeAt = this.#clock.elapsed() + PROBE_MS;
    if (!wasLost) this.#tell(false);
  }

  #recover(): void {
    if (this.#probeAt === undefined) return;
    this.#probeAt = undefined;
    this.#tell(true);
  }

  #tell(available: boolean): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(available);
      } catch {
        // What listens must not stop the others.
      }
    }
  }
}

function unavailable(got: string, sent?: false): ToolError {
  return new ToolError('STATE_UNAVAILABLE', `Expected the state store to answer, got ${got}. Try again when it answers.`, sent === undefined ? {} : { details: { sent } });
}
