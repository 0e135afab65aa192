/**
 * A small shared state that several calls, or several processes, must agree on.
 *
 * Keys and values are text: keys have 1 to 512 characters, values at most 1 MiB as UTF-8 (`LIMIT_EXCEEDED` otherwise).
 * Every operation is atomic. It rejects with `STATE_UNAVAILABLE` at once while the store is known to be lost, and
 * otherwise after at most two seconds without an answer. After such an error the operation may have happened, unless
 * `details.sent` is false.
 *
 * A value stays as long as `now()` returns the same identity, unless it is removed or its lifetime ends. After a restart
 * or a failover a store may hold an older state. A write that depends on an earlier one names the `identity` of that
 * time; a store with another identity refuses it.
 */
export interface StateStore {
  /** Returns the text under a key, or `undefined` if there is none. */
  get(key: string): Promise<string | undefined>;

  /**
   * Writes `next` if the key still holds `expected` (`undefined`: nothing); `next: undefined` removes the key.
   *
   * @returns true if it was written.
   */
  compareAndSet(
    key: string,
    expected: string | undefined,
    next: string | undefined,
    options?: LifetimeOptions,
  ): Promise<boolean>;

  /**
   * Adds to the number under a key (0 if there is none), unless the sum would exceed `max`.
   *
   * `get` returns the number as text. @throws ToolError `INVALID_ARGUMENT` if the key holds something else.
   */
  increment(key: string, by: number, options?: IncrementOptions): Promise<Increment>;

  /** Lets a key live for `ttlMs` from now. @returns true if there is such a key. */
  expire(key: string, ttlMs: number): Promise<boolean>;

  /**
   * Returns the time by the store's clock and the store's identity.
   *
   * @throws ToolError `STATE_UNAVAILABLE`, also if the store does not tell its identity (`details.reason: 'no_identity'`).
   */
  now(): Promise<StoreMoment>;

  /** Returns at most `limit` of the keys that begin with a prefix, sorted. It is slow in a large store. @param limit 1,000 by default. */
  list(prefix: string, limit?: number): Promise<readonly string[]>;

  /**
   * Appends an item to the list under a key, which keeps its newest `max` items.
   *
   * A list is no text: the other operations reject its key with `INVALID_ARGUMENT`, except `expire`.
   *
   * @returns the number of items in the list; `undefined` if nothing was appended because of `at`.
   */
  append(key: string, item: string, options: AppendOptions): Promise<number | undefined>;

  /** Returns items of the list under a key, the oldest first; none if there is no such list. */
  read(key: string, options?: ReadOptions): Promise<readonly string[]>;

  /** Calls back when the store is lost (`false`) and when it is back (`true`), until the returned function is called. */
  onAvailability(listener: (available: boolean) => void): () => void;

  /** Ends the store's connections; operations reject with `STATE_UNAVAILABLE` from then on. */
  close(): Promise<void>;
}

/** The time by the store's own clock, and the identity of the store's present life. */
export interface StoreMoment {
  /** Milliseconds since 1970. */
  readonly time: number;
  /**
   * The same text as long as nothing that was written can have been undone.
   *
   * It changes when the store restarts or another server takes over: both may bring back an older state.
   */
  readonly identity: string;
}

/** The options of writing a text. */
export interface LifetimeOptions {
  /** The lifetime of the new text; `'keep'` leaves an existing key the lifetime that it has. @default for good */
  readonly ttlMs?: number | 'keep';
  /** Writes only while the store has this identity; otherwise rejects with `STATE_UNAVAILABLE`, `details.reason: 'restarted'` and `details.sent: false`. @default any */
  readonly identity?: string;
}

/** The options of adding to a number. */
export interface IncrementOptions {
  /** The largest sum allowed; a larger one is not written. @default no limit */
  readonly max?: number;
  /** The lifetime of a counter that this operation creates, in milliseconds. An existing one keeps its own. @default for good */
  readonly ttlMs?: number;
  /** The window in milliseconds, instead of `ttlMs`: it begins with the first addition and starts again at 0 after its end. @default none */
  readonly windowMs?: number;
  /** Refuses (`applied: false`, `value: undefined`) if there is no such key, instead of starting at 0. @default false */
  readonly mustExist?: boolean;
  /** The identity, as for `compareAndSet`. @default any */
  readonly identity?: string;
}

/** The options of appending to a list. */
export interface AppendOptions {
  /** The number of items that the list keeps. */
  readonly max: number;
  /** Appends only if the list holds exactly this many items, and fewer than `max`. @default any number */
  readonly at?: number;
  /** The lifetime of the whole list from now on, in milliseconds; without it, the list keeps the lifetime it has. */
  readonly ttlMs?: number;
  /** The identity, as for `compareAndSet`. @default any */
  readonly identity?: string;
}

export interface ReadOptions {
  /** The first item that is read, from 0. @default 0 */
  readonly from?: number;
  /** The maximum number of items. @default 100 */
  readonly limit?: number;
}

/** The outcome of adding to a number. */
export interface Increment {
  readonly applied: boolean;
  /** The number now under the key; `undefined` if there is none. */
  readonly value: number | undefined;
}
