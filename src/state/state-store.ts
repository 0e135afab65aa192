/**
 * A small shared state that several calls or processes must agree on.
 *
 * Keys and values are text. A key has 1 to 512 characters, and a value at most 1 MiB as UTF-8
 * (`LIMIT_EXCEEDED` otherwise). Every operation is atomic. Operations reject with
 * `STATE_UNAVAILABLE` after at most two seconds without an answer, or immediately if the connection
 * to the store is known to be lost. After `STATE_UNAVAILABLE`, the operation may have been
 * executed, unless `details.sent` is false.
 *
 * A value is kept until it's removed or expires, as long as `now()` returns the same identity.
 * After a restart or a failover, a store may contain older state. If a write depends on an earlier
 * write, pass the `identity` from the time of the earlier write: a store with another identity
 * refuses the new write.
 */
export interface StateStore {
  /** Returns the text stored under a key, or `undefined` if there is none. */
  get(key: string): Promise<string | undefined>;

  /**
   * Writes `next` if the current value is still `expected` (`undefined` means that the key doesn't
   * exist). `next: undefined` removes the key.
   *
   * @returns true if the value was written.
   */
  compareAndSet(
    key: string,
    expected: string | undefined,
    next: string | undefined,
    options?: LifetimeOptions,
  ): Promise<boolean>;

  /**
   * Adds to the number stored under a key (0 if there is none), unless the sum would exceed `max`.
   *
   * `get` returns the number as text. @throws ToolError `INVALID_ARGUMENT` if the value isn't a
   * number.
   */
  increment(key: string, by: number, options?: IncrementOptions): Promise<Increment>;

  /** Sets the lifetime of a key to `ttlMs` from now. @returns true if the key exists. */
  expire(key: string, ttlMs: number): Promise<boolean>;

  /**
   * Returns the current time on the store's clock, and the store's identity.
   *
   * @throws ToolError `STATE_UNAVAILABLE`, also if the store hides its identity (`details.reason:
   * 'no_identity'`).
   */
  now(): Promise<StoreMoment>;

  /**
   * Appends an item to the list stored under a key. Only the newest `max` items are kept.
   *
   * Texts, lists, and indexes are separate types: an operation for one type rejects a key of
   * another type with `INVALID_ARGUMENT`.
   */
  append(key: string, item: string, options: AppendOptions): Promise<void>;

  /**
   * Returns items from the list stored under a key, oldest first. Returns an empty list if the key
   * doesn't exist.
   */
  read(key: string, options?: ReadOptions): Promise<readonly string[]>;

  /**
   * Adds a member to the index stored under a key. An index is a set of texts that is always
   * sorted, so start each member with what to sort by, for example a time.
   *
   * @returns true if the index contains the member now. `false` means that the index is full.
   */
  addToIndex(key: string, member: string, options?: IndexOptions): Promise<boolean>;

  /** Removes a member from an index. @returns true if the index contained the member. */
  removeFromIndex(key: string, member: string): Promise<boolean>;

  /** Returns members of an index in order. Returns an empty list if the key doesn't exist. */
  pageOfIndex(key: string, page?: IndexPage): Promise<readonly string[]>;

  /**
   * Calls `listener` with `false` when the store becomes unavailable and with `true` when it's
   * available again. Returns a function that unsubscribes.
   */
  onAvailability(listener: (available: boolean) => void): () => void;

  /** Closes the store's connections. After that, all operations reject with `STATE_UNAVAILABLE`. */
  close(): Promise<void>;
}

/** The time on the store's clock, and the store's current identity. */
export interface StoreMoment {
  /** Milliseconds since 1970. */
  readonly time: number;
  /**
   * Identifies the current state of the store. The identity changes when the store restarts or
   * another server takes over, because both can bring back older state.
   */
  readonly identity: string;
}

/** The options of `compareAndSet`. */
export interface LifetimeOptions {
  /**
   * The lifetime of the new value, in milliseconds. `'keep'` leaves an existing key's lifetime
   * unchanged. @default forever
   */
  readonly ttlMs?: number | 'keep';
  /**
   * Writes only if the store has this identity. A store with another identity rejects with
   * `STATE_UNAVAILABLE`, `details.reason: 'restarted'`, and `details.sent: false`. @default any
   */
  readonly identity?: string;
}

/** The options of `increment`. */
export interface IncrementOptions {
  /** The maximum sum. A larger sum isn't written. @default no limit */
  readonly max?: number;
  /**
   * The lifetime of a counter that this operation creates, in milliseconds. An existing counter
   * keeps its lifetime. @default forever
   */
  readonly ttlMs?: number;
  /**
   * A time window in milliseconds, as an alternative to `ttlMs`. The window begins with the first
   * addition. When the window ends, the counter starts again at 0. @default none
   */
  readonly windowMs?: number;
  /** The identity that the store must have, as in `compareAndSet`. @default any */
  readonly identity?: string;
}

/** The options of `append`. */
export interface AppendOptions {
  /** The maximum number of items to keep. */
  readonly max: number;
  /**
   * The new lifetime of the whole list, in milliseconds from now. If omitted, the list's lifetime
   * doesn't change.
   */
  readonly ttlMs?: number;
}

export interface ReadOptions {
  /** The index of the first item to read. @default 0 */
  readonly from?: number;
  /** The maximum number of items. @default 100 */
  readonly limit?: number;
}

/** The options of `addToIndex`. */
export interface IndexOptions {
  /** The maximum number of items. A new member isn't added to a full index. @default no limit */
  readonly max?: number;
  /** The new lifetime of the whole index, in milliseconds from now. @default unchanged */
  readonly ttlMs?: number;
}

/** The part of an index that `pageOfIndex` returns. */
export interface IndexPage {
  /** Starts at the end of the index and returns the members in reverse order. @default false */
  readonly reverse?: boolean;
  /** Starts after this member, which may have been removed. @default the start of the index */
  readonly after?: string;
  /** The maximum number of members. @default 100 */
  readonly limit?: number;
}

/** The result of `increment`. */
export interface Increment {
  readonly applied: boolean;
  /** The number now stored under the key, or `undefined` if there is none. */
  readonly value: number | undefined;
}
