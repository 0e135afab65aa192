/**
 * Small shared state: what several calls, or several processes, must agree on.
 *
 * Keys and values are text. Every operation is atomic, answers within 250 ms, and otherwise rejects with
 * `STATE_UNAVAILABLE`: callers decide whether to go on alone (health, cache) or to refuse (approvals, budgets).
 * After such an error the operation may or may not have happened; `details.sent: false` says that it did not.
 *
 * Keys and channels have 1 to 512 characters, values and messages up to 1 MiB as UTF-8: more is refused with
 * `LIMIT_EXCEEDED`, and what is no well-formed text or no finite number with `INVALID_ARGUMENT`, before anything happens.
 */
export interface StateStore {
  /** The text under a key, or `undefined` when there is none or it has expired. */
  get(key: string): Promise<string | undefined>;

  /**
   * Writes `next` if the key still holds `expected` (`undefined`: nothing); `next: undefined` removes the key.
   *
   * The new text lives for `ttlMs`, without it for good.
   *
   * @returns whether it was written.
   */
  compareAndSet(key: string, expected: string | undefined, next: string | undefined, options?: LifetimeOptions): Promise<boolean>;

  /**
   * Adds to the number under a key (0 when there is none), if the sum stays within `max` and finite.
   *
   * Sums are those of JavaScript. `get` gives such a number as text that `Number()` reads; which of several spellings
   * of the number it is, is not promised. Other text under the key is an `INVALID_ARGUMENT` and stays.
   */
  increment(key: string, by: number, options?: IncrementOptions): Promise<Increment>;

  /** Lets a key live for `ttlMs` from now. @returns whether there is such a key. */
  expire(key: string, ttlMs: number): Promise<boolean>;

  /** Sends a message to everybody who listens now, this process included; what one sends after another arrives after it. */
  publish(channel: string, message: string): Promise<void>;

  /**
   * Hears the messages of a channel from now on, also after the connection was lost and came back, until the returned function is called.
   *
   * While the store is lost it resolves all the same, and hears from its return on. What is sent meanwhile is not heard
   * later: who must not miss anything reads anew on `onAvailability(true)`, by which time all channels are heard again.
   * What a listener throws is ignored.
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>;

  /** Hears when operations or messages are lost (`false`) and when both are back (`true`), once per change, until the returned function is called. */
  onAvailability(listener: (available: boolean) => void): () => void;

  /** Ends all subscriptions and connections that the store opened itself; operations are refused from then on. */
  close(): Promise<void>;
}

export interface LifetimeOptions {
  readonly ttlMs?: number;
}

export interface IncrementOptions {
  /** The largest sum allowed; a larger one is not written. */
  readonly max?: number;
  /** How long a key that this operation creates lives. A key that exists keeps its lifetime. */
  readonly ttlMs?: number;
  /** Refuse (`applied: false`, `value: undefined`) when there is no such key, instead of starting at 0. */
  readonly mustExist?: boolean;
}

export interface Increment {
  readonly applied: boolean;
  /** The number now under the key; `undefined` when there is none. */
  readonly value: number | undefined;
}
