import type { Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { Listeners } from '../core/listeners.js';
import { AnswerWatch, LONGEST_WAIT_MS, NoAnswer } from './answer-watch.js';
import type { AppendOptions, Increment, IncrementOptions, LifetimeOptions, ReadOptions, StateStore, StoreMoment } from './state-store.js';

/** The time to wait for a silent store: it promises to answer within 250 ms. */
const ANSWER_MS = 300;
/** The interval at which a silent store is asked whether it answers again. */
const PROBE_MS = 1_000;

/**
 * Holds a store to its promise: an operation is refused with `STATE_UNAVAILABLE` if the store has answered nothing at
 * all for 300 ms in which this process listened, or not that operation for 10 s.
 *
 * While the store is silent all operations are refused at once, so that a call waits for a lost store only once. That
 * ends when the store answers again: an operation that was given up, or a question asked meanwhile.
 */
export class StoreInTime implements StateStore {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #answers: AnswerWatch;
  readonly #availability = new Listeners<boolean>();
  /** The value of `elapsed()` from which on the lost store is asked again; `undefined` while it answers. */
  #probeAt: number | undefined;

  constructor(store: StateStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#answers = new AnswerWatch(ANSWER_MS, clock);
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
    // It may take several steps.
    return this.#inTime(() => this.#store.list(prefix, limit), LONGEST_WAIT_MS);
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
    const ends = [this.#availability.add(listener), this.#store.onAvailability(listener)];
    return () => {
      for (const end of ends) end();
    };
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #inTime<T>(operate: () => Promise<T>, ms = ANSWER_MS): Promise<T> {
    if (this.#probeAt !== undefined) {
      this.#probe(this.#probeAt);
      throw unavailable('one that has not answered before', false);
    }
    const operation = operate();
    // A rejection of the store is an answer too, and passed on as it is.
    operation.then(() => this.#recover(), () => this.#recover());
    try {
      return await this.#answers.wait(operation, ms);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (error.silent) this.#lose();
      throw unavailable('no answer in time');
    }
  }

  #probe(at: number): void {
    if (this.#clock.elapsed() < at) return;
    this.#probeAt = this.#clock.elapsed() + PROBE_MS;
    void Promise.resolve().then(() => this.#store.get('availability')).then(() => this.#recover(), () => this.#recover());
  }

  #lose(): void {
    if (this.#probeAt === undefined) this.#availability.tell(false);
    this.#probeAt = this.#clock.elapsed() + PROBE_MS;
  }

  #recover(): void {
    if (this.#probeAt === undefined) return;
    this.#probeAt = undefined;
    this.#availability.tell(true);
  }
}

function unavailable(got: string, sent?: false): ToolError {
  return new ToolError('STATE_UNAVAILABLE', expectedGot('the state store to answer', got, 'Try again when it answers.'), sent === undefined ? {} : { details: { sent } });
}
