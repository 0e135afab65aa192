/**
 * A small shared state that several calls or processes must agree on.
 *
 * Keys and values are text. A key has 1 to 512 characters, a value at most 1 MiB as UTF-8
 * (`LIMIT_EXCEEDED` otherwise). Every operation is atomic. If the store is known to be lost,
 * operations reject with `STATE_UNAVAILABLE` immediately, otherwise after at most two seconds
 * without an answer. After such an error the operation may have happened, unless `details.sent` is
 * false.
 *
 * A value stays as long as `now()` returns the same identity, unless it's removed or expires. After
 * a restart or a failover, a store may hold an older state. Bind a write that depends on an earlier
 * one to the `identity` at that time: a store with another identity refuses it.
 */
export interface StateStore {
  /** Returns the text under a key, or `undefined` if there is none. */
  get(key: string): Promise<string | undefined>;

  /**
   * Writes `next` if the key still holds `expected` (`undefined` means nothing). `next: undefined`
   * removes the key.
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
   * `get` returns the number as text. @throws ToolError `INVALID_ARGUMENT` if the key doesn't hold
   * a number.
   */
  increment(key: string, by: number, options?: IncrementOptions): Promise<Increment>;

  /** Sets the lifetime of a key to `ttlMs` from now. @returns true if the key exists. */
  expire(key: string, ttlMs: number): Promise<boolean>;

  /**
   * Returns the time by the store's clock, and the store's identity.
   *
   * @throws ToolError `STATE_UNAVAILABLE`, also if the store doesn't reveal its identity
   * (`details.reason: 'no_identity'`).
   */
  now(): Promise<StoreMoment>;

  /**
   * Returns at most `limit` of the keys that begin with a prefix, sorted. Slow in a large store.
   * @param limit 1,000 by default.
   */
  list(prefix: string, limit?: number): Promise<readonly string[]>;

  /**
   * Appends an item to the list under a key. The list keeps its newest `max` items.
   *
   * A list isn't a text: all other operations except `expire` reject its key with
   * `INVALID_ARGUMENT`.
   *
   * @returns the number of items in the list, or `undefined` if nothing was appended because of
   * `at`.
   */
  append(key: string, item: string, options: AppendOptions): Promise<number | undefined>;

  /** Returns items of the list under a key, oldest first. Returns none if there is no such list. */
  read(key: string, options?: ReadOptions): Promise<readonly string[]>;

  /**
   * Calls `listener` with `false` when the store is lost and `true` when it's back. Returns a
   * function that unsubscribes.
   */
  onAvailability(listener: (available: boolean) => void): () => void;

  /** Closes the store's connections. Operations reject with `STATE_UNAVAILABLE` from then on. */
  close(): Promise<void>;
}

/** The time by the store's own clock, and the store's current identity. */
export interface StoreMoment {
  /** Milliseconds since 1970. */
  readonly time: number;
  /**
   * Stays the same as long as no write can have been undone.
   *
   * It changes when the store restarts or another server takes over, because both can bring back an
   * older state.
   */
  readonly identity: string;
}

/** The options of writing a text. */
export interface LifetimeOptions {
  /**
   * The lifetime of the new text. `'keep'` leaves an existing key's lifetime unchanged. @default
   * forever
   */
  readonly ttlMs?: number | 'keep';
  /**
   * Writes only while the store has this identity. Otherwise it rejects with `STATE_UNAVAILABLE`,
   * `details.reason: 'restarted'`, and `details.sent: false`. @default any
   */
  readonly identity?: string;
}

/** The options of adding to a number. */
export interface IncrementOptions {
  /** The largest allowed sum. A larger sum isn't written. @default no limit */
  readonly max?: number;
  /**
   * The lifetime of a counter that this operation creates, in milliseconds. An existing counter
   * keeps its own. @default forever
   */
  readonly ttlMs?: number;
  /**
   * A window in milliseconds, instead of `ttlMs`. It begins with the first addition, and the
   * counter starts again at 0 after it ends. @default none
   */
  readonly windowMs?: number;
  /**
   * Refuses (`applied: false`, `value: undefined`) if the key doesn't exist, instead of starting at
   * 0. @default false
   */
  readonly mustExist?: boolean;
  /** The identity, as in `compareAndSet`. @default any */
  readonly identity?: string;
}

/** The options of appending to a list. */
export interface AppendOptions {
  /** The number of items that the list keeps. */
  readonly max: number;
  /**
   * Appends only if the list holds exactly this number of items, and fewer than `max`. @default any
   * number
   */
  readonly at?: number;
  /**
   * The lifetime of the whole list from now on, in milliseconds. Without it, the list keeps its
   * lifetime.
   */
  readonly ttlMs?: number;
  /** The identity, as in `compareAndSet`. @default any */
  readonly identity?: string;
}

export interface ReadOptions {
  /** The index of the first item to read. @default 0 */
  readonly from?: number;
  /** The maximum number of items. @default 100 */
  readonly limit?: number;
}

/** The result of adding to a number. */
export interface Increment {
  readonly applied: boolean;
  /** The number now under the key, or `undefined` if there is none. */
  readonly value: number | undefined;
}
