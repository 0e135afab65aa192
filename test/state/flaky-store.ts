import { ToolError, isToolError } from '../../src/core/errors.js';
import type {
  AppendOptions,
  Increment,
  IncrementOptions,
  LifetimeOptions,
  ReadOptions,
  StateStore,
  StoreMoment,
} from '../../src/state/state-store.js';

/** The share of operations that fail before, and of those that fail after they happened. */
const FAILING = 0.3;

/** A store whose operations often fail, before they happen or after, and are asked again until they succeed. */
export class FlakyStore implements StateStore {
  readonly #store: StateStore;
  readonly #random: () => number;
  /** How many answers were lost after the operation had happened. */
  lost = 0;

  constructor(store: StateStore, random: () => number) {
    this.#store = store;
    this.#random = random;
  }

  get(key: string): Promise<string | undefined> {
    return this.#again(() => this.#store.get(key));
  }

  /** A lost answer is found out by looking: nothing else writes this text in its place. */
  compareAndSet(
    key: string,
    expected: string | undefined,
    next: string | undefined,
    options?: LifetimeOptions,
  ): Promise<boolean> {
    const isOwn = expected !== next && options?.ttlMs === undefined;
    return this.#again(
      () => this.#store.compareAndSet(key, expected, next, options),
      isOwn ? async () => ((await this.get(key)) === next ? true : undefined) : 'never lost',
    );
  }

  /** Nothing tells afterwards whether a number was added: who must know adds it to a key of its own. */
  increment(key: string, by: number, options?: IncrementOptions): Promise<Increment> {
    return this.#again(() => this.#store.increment(key, by, options), 'never lost');
  }

  expire(key: string, ttlMs: number): Promise<boolean> {
    return this.#again(() => this.#store.expire(key, ttlMs), 'never lost');
  }

  now(): Promise<StoreMoment> {
    return this.#again(() => this.#store.now());
  }

  list(prefix: string, limit?: number): Promise<readonly string[]> {
    return this.#again(() => this.#store.list(prefix, limit));
  }

  /** An item with a place of its own is looked for there. */
  append(key: string, item: string, options: AppendOptions): Promise<number | undefined> {
    const at = options?.at;
    if (at === undefined)
      return this.#again(() => this.#store.append(key, item, options), 'never lost');
    return this.#again(
      () => this.#store.append(key, item, options),
      async () => ((await this.read(key, { from: at, limit: 1 }))[0] === item ? at + 1 : undefined),
    );
  }

  read(key: string, options?: ReadOptions): Promise<readonly string[]> {
    return this.#again(() => this.#store.read(key, options));
  }

  /** Never fails: a message that is sent again comes after those sent meanwhile. */
  publish(channel: string, message: string): Promise<void> {
    return this.#store.publish(channel, message);
  }

  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>> {
    return this.#again(() => this.#store.subscribe(channel, listener), 'never lost');
  }

  onAvailability(listener: (available: boolean) => void): () => void {
    return this.#store.onAvailability(listener);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #again<T>(
    operation: () => Promise<T>,
    found?: 'never lost' | (() => Promise<T | undefined>),
  ): Promise<T> {
    for (;;) {
      try {
        return await this.#once(operation, found !== 'never lost');
      } catch (error) {
        if (!isToolError(error, 'STATE_UNAVAILABLE') || error.details['reason'] !== 'injected')
          throw error;
        const result =
          error.details['sent'] === true && typeof found === 'function' ? await found() : undefined;
        if (result !== undefined) return result;
      }
    }
  }

  async #once<T>(operation: () => Promise<T>, mayBeLost: boolean): Promise<T> {
    if (this.#random() < FAILING) throw injected(false);
    const result = await operation();
    if (!mayBeLost || this.#random() >= FAILING) return result;
    this.lost += 1;
    throw injected(true);
  }
}

function injected(sent: boolean): ToolError {
  return new ToolError('STATE_UNAVAILABLE', 'Expected an answer, got none.', {
    details: { reason: 'injected', sent },
  });
}
