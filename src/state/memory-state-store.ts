import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { anObject, checkOptions, type FieldsOf } from '../core/options.js';
import { ChannelListeners } from './channel-listeners.js';
import { checkIncrement, checkKey, checkLifetime, checkListener, checkOptionalValue, checkTtl, checkValue, notANumber, numberOf } from './state-arguments.js';
import type { Increment, IncrementOptions, LifetimeOptions, StateStore } from './state-store.js';

interface Held {
  readonly text: string;
  /** In milliseconds of `clock.elapsed()`. */
  readonly expiresAt: number;
}

export interface MemoryStateStoreOptions {
  /** @default the time of this machine */
  readonly clock?: Clock;
}

const optionsSchema = z.strictObject({ clock: anObject<Clock>('a clock').default(systemClock) } satisfies FieldsOf<MemoryStateStoreOptions>);

/** Writes between two searches for expired keys, at least. */
const SWEEP_EVERY = 1_000;

/** State of this process alone: always available, gone with the process. */
export class MemoryStateStore implements StateStore {
  readonly #clock: Clock;
  readonly #held = new Map<string, Held>();
  readonly #listeners = new ChannelListeners();
  #writesToSweep = SWEEP_EVERY;
  #closed = false;

  /** @throws ToolError INVALID_ARGUMENT for unknown options. */
  constructor(options: MemoryStateStoreOptions = {}) {
    this.#clock = checkOptions(optionsSchema, options, 'options of MemoryStateStore').clock;
  }

  /** How many keys take memory: those that live, and expired ones that were not yet cleared away. */
  get size(): number {
    return this.#held.size;
  }

  get(key: string): Promise<string | undefined> {
    return this.#step(() => this.#read(checkKey(key))?.text);
  }

  compareAndSet(key: string, expected: string | undefined, next: string | undefined, options?: LifetimeOptions): Promise<boolean> {
    return this.#step(() => {
      const { ttlMs } = checkLifetime(options);
      checkKey(key);
      checkOptionalValue(expected, 'value expected');
      checkOptionalValue(next, 'value');
      if (this.#read(key)?.text !== expected) return false;
      if (next === undefined) this.#held.delete(key);
      else this.#write(key, next, this.#expiry(ttlMs));
      return true;
    });
  }

  increment(key: string, by: number, options?: IncrementOptions): Promise<Increment> {
    return this.#step(() => {
      const { max = Number.MAX_VALUE, ttlMs, mustExist } = checkIncrement(by, options);
      const held = this.#read(checkKey(key));
      if (held === undefined && mustExist) return Object.freeze({ applied: false, value: undefined });
      const value = held === undefined ? undefined : numberOf(held.text);
      if (held !== undefined && value === undefined) throw notANumber();
      const sum = (value ?? 0) + by;
      if (!Number.isFinite(sum) || sum > max) return Object.freeze({ applied: false, value });
      this.#write(key, String(sum), held?.expiresAt ?? this.#expiry(ttlMs));
      return Object.freeze({ applied: true, value: sum });
    });
  }

  expire(key: string, ttlMs: number): Promise<boolean> {
    return this.#step(() => {
      const expiresAt = this.#expiry(checkTtl(ttlMs));
      const held = this.#read(checkKey(key));
      if (held === undefined) return false;
      this.#write(key, held.text, expiresAt);
      return true;
    });
  }

  publish(channel: string, message: string): Promise<void> {
    return this.#step(() => {
      checkKey(channel, 'channel');
      checkValue(message, 'message');
      // Later, as over a network: a listener never runs inside the call that caused it.
      queueMicrotask(() => this.#listeners.tell(channel, message));
    });
  }

  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>> {
    return this.#step(() => {
      const remove = this.#listeners.add(checkKey(channel, 'channel'), checkListener(listener));
      return () => Promise.resolve(remove());
    });
  }

  /** The listener is never called: memory is always there. */
  onAvailability(listener: (available: boolean) => void): () => void {
    checkListener(listener);
    return () => undefined;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    this.#held.clear();
    return Promise.resolve();
  }

  /** One operation, whose errors are rejections as in every store. */
  #step<T>(operation: () => T): Promise<T> {
    return new Promise((resolve) => {
      if (this.#closed) throw new ToolError('STATE_UNAVAILABLE', 'expected an open state store, found a closed one; use it before close()', { details: { reason: 'closed', sent: false } });
      resolve(operation());
    });
  }

  #expiry(ttlMs: number | undefined): number {
    return ttlMs === undefined ? Infinity : this.#clock.elapsed() + ttlMs;
  }

  #read(key: string): Held | undefined {
    const held = this.#held.get(key);
    if (held === undefined || held.expiresAt > this.#clock.elapsed()) return held;
    this.#held.delete(key);
    return undefined;
  }

  #write(key: string, text: string, expiresAt: number): void {
    this.#held.set(key, Object.freeze({ text, expiresAt }));
    this.#writesToSweep -= 1;
    if (this.#writesToSweep <= 0) this.#sweep();
  }

  /** Keys that nobody asks for again would stay for good. */
  #sweep(): void {
    const now = this.#clock.elapsed();
    for (const [key, held] of this.#held) if (held.expiresAt <= now) this.#held.delete(key);
    // The more keys live, the more rarely: so a write costs the same however many there are.
    this.#writesToSweep = Math.max(SWEEP_EVERY, this.#held.size);
  }
}
