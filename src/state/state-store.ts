/**
 * A small shared state that several calls, or several processes, must agree on.
 *
 * Keys and values are text. Every operation is atomic. It rejects with `STATE_UNAVAILABLE` when the store has answered
 * nothing for 250 ms of the time in which this process listens, at once while the store is known to be lost, and in any
 * case after some seconds: callers decide whether to go on alone (health, cache) or to refuse (approvals, budgets).
 * After such an error the operation may or may not have happened; `details.sent: false` says that it did not.
 *
 * A value that was written stays as long as `now()` tells the same identity, unless it is removed or its lifetime ends: no
 * store evicts a key to make room. After a restart or a failover a store may hold an older state; a write that depends
 * on an earlier one names the `identity` of that time, and is refused in the same step.
 *
 * Keys and channels have 1 to 512 characters, values and messages up to 1 MiB as UTF-8: more is refused with
 * `LIMIT_EXCEEDED`, and what is no well-formed text or no finite number with `INVALID_ARGUMENT`, before anything
 * happens. So are options that an operation does not have, and numbers outside of what an option says.
 *
 * Whoever writes a store runs the cases of `stateStoreCases()` (`tooldex/testing`) on it, which hold all of this.
 */
export interface StateStore {
  /** The text under a key, or `undefined` when there is none or it has expired. */
  get(key: string): Promise<string | undefined>;

  /**
   * Writes `next` if the key still holds `expected` (`undefined`: nothing); `next: undefined` removes the key.
   *
   * The new text lives for `ttlMs`, without it for good.
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
   * Adds to the number under a key (0 when there is none), if the sum stays within `max` and finite.
   *
   * Sums are those of JavaScript. `get` returns such a number as text that `Number()` reads, in any of its spellings.
   * Other text under the key is an `INVALID_ARGUMENT` and stays.
   *
   * A number is digits with at most one point and perhaps a minus sign and an exponent, and finite: '-1.5', '1e3', '.5' and
   * '007' are numbers, '', ' 1', '0x10', '1,5' and 'Infinity' are not.
   */
  increment(key: string, by: number, options?: IncrementOptions): Promise<Increment>;

  /** Lets a key live for `ttlMs` from now. @returns true if there is such a key. */
  expire(key: string, ttlMs: number): Promise<boolean>;

  /**
   * The time by the store's clock, by which lifetimes and windows are measured, and the store's identity.
   *
   * @throws ToolError `STATE_UNAVAILABLE`, also when the store's identity cannot be known (`details.reason: 'no_identity'`).
   */
  now(): Promise<StoreMoment>;

  /**
   * The keys that begin with a prefix, sorted; at most `limit`, and any of them when there are more.
   *
   * Keys that are written or removed meanwhile may be among them or not. In a large store this is slow: several steps,
   * each of which answers in time.
   *
   * @param limit 1 to 10,000; 1,000 by default. Anything else, and an empty prefix, is an `INVALID_ARGUMENT`.
   */
  list(prefix: string, limit?: number): Promise<readonly string[]>;

  /**
   * Appends an item to the list under a key, which it creates if there is none.
   *
   * A list is no text: `get`, `compareAndSet` and `increment` of its key are `INVALID_ARGUMENT`, as `append` and `read` are
   * of a text's. `expire` ends it.
   *
   * @returns how many items the list holds now; `undefined` when nothing was appended because of `at` or `max`.
   */
  append(key: string, item: string, options: AppendOptions): Promise<number | undefined>;

  /** Items of the list under a key, in order; none when there is no such list. */
  read(key: string, options?: ReadOptions): Promise<readonly string[]>;

  /** Sends a message to all present listeners, this process included; the messages of one sender arrive in order. */
  publish(channel: string, message: string): Promise<void>;

  /**
   * Hears the messages of a channel from now on, also after the connection was lost and came back, until the returned
   * function is called.
   *
   * While the store is lost it resolves all the same, and hears from its return on. Messages sent meanwhile are lost:
   * listeners that must not miss any read again on `onAvailability(true)`, by which time all channels are heard again.
   * Exceptions of listeners are ignored, and so are rejections of the promises that they return. No listener is called
   * within `publish`.
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>;

  /**
   * Hears when operations or messages are lost (`false`) and when both are back (`true`), once per change, until the
   * returned function is called.
   */
  onAvailability(listener: (available: boolean) => void): () => void;

  /** Ends all subscriptions and connections that the store opened itself; operations reject with `STATE_UNAVAILABLE` from then on, and a second `close()` changes nothing. */
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
  /** Writes only while the store still has this identity; otherwise rejects with `STATE_UNAVAILABLE`, `details.reason: 'restarted'` and `details.sent: false`. @default any */
  readonly identity?: string;
}

/** The options of adding to a number. */
export interface IncrementOptions {
  /** The largest sum allowed; a larger one is not written. @default no limit */
  readonly max?: number;
  /** The lifetime of a key that this operation creates, in milliseconds. A key that exists keeps its own. @default for good */
  readonly ttlMs?: number;
  /** Refuses (`applied: false`, `value: undefined`) if there is no such key, instead of starting at 0. @default false */
  readonly mustExist?: boolean;
  /** The identity, as for `compareAndSet`. @default any */
  readonly identity?: string;
  /**
   * Counts the additions of the last `windowMs` milliseconds of the store's clock, instead of `ttlMs`: both together
   * are an `INVALID_ARGUMENT`, and so is a key that holds a text or a list.
   *
   * The window slides in steps of an eighth, and counts up to an eighth more than its length: rounded towards refusal.
   * The key lives as long as anything counts. All operations on the key need the same `windowMs`. @default no window
   */
  readonly windowMs?: number;
}

/** The options of appending to a list. */
export interface AppendOptions {
  /** Appends only if the list holds exactly so many items. @default any number */
  readonly at?: number;
  /** Appends only if the list then holds at most so many items; 1 to 10,000. */
  readonly max: number;
  /** The lifetime of the whole list from now on, in milliseconds; without it, the list keeps the lifetime it has. */
  readonly ttlMs?: number;
  /** The identity, as for `compareAndSet`. @default any */
  readonly identity?: string;
}

export interface ReadOptions {
  /** The first item that is read, from 0. @default 0 */
  readonly from?: number;
  /** The maximum number of items; 1 to 1,000. @default 100 */
  readonly limit?: number;
}

/** The outcome of adding to a number. */
export interface Increment {
  readonly applied: boolean;
  /** The number now under the key; `undefined` when there is none. */
  readonly value: number | undefined;
  /**
   * A mark of the window that was counted in; it changes when a window begins again under the key.
   *
   * As a window lives as long as anything counts, whoever has counted in one within its length sees by another mark that
   * it was removed meanwhile. A store may leave it out; removals are then noticed less often.
   */
  readonly born?: string;
}
