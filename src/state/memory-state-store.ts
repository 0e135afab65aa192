import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { randomUUID } from '../core/crypto.js';
import { checkOptions, clock, once, type FieldsOf } from '../core/options.js';
import {
  checkKey,
  checkValue,
  closed,
  notANumber,
  restarted,
  wrongKind,
} from './state-arguments.js';
import type {
  AppendOptions,
  Increment,
  IncrementOptions,
  LifetimeOptions,
  ReadOptions,
  StateStore,
  StoreMoment,
} from './state-store.js';

interface Entry {
  readonly value: string | readonly string[];
  /** The time at which the key expires, in milliseconds of `clock.elapsed()`. */
  readonly expiresAt: number;
}

interface MemoryStateStoreOptions {
  /** The clock used for expiry. @default the system clock */
  readonly clock?: Clock;
}

const optionsSchema = once(() =>
  z.strictObject({
    clock: clock().default(systemClock),
  } satisfies FieldsOf<MemoryStateStoreOptions>),
);

/** The minimum number of writes between two sweeps for expired keys. */
const SWEEP_EVERY = 1_000;

/**
 * Stores state in this process's memory. This store is always available, but its content is lost
 * when the process exits.
 */
export class MemoryStateStore implements StateStore {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #identity = randomUUID();
  #writesToSweep = SWEEP_EVERY;
  #closed = false;

  /** Creates an empty store. @throws ToolError `INVALID_ARGUMENT` for unknown options. */
  constructor(options: MemoryStateStoreOptions = {}) {
    this.#clock = checkOptions(optionsSchema, options, 'options of MemoryStateStore').clock;
  }

  /** The number of keys in memory, including expired keys that haven't been removed yet. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Promise<string | undefined> {
    return this.#step(undefined, () => this.#text(key));
  }

  compareAndSet(
    key: string,
    expected: string | undefined,
    next: string | undefined,
    { ttlMs, identity }: LifetimeOptions = {},
  ): Promise<boolean> {
    return this.#step(identity, () => {
      if (this.#text(key) !== expected) return false;
      if (next === undefined) this.#entries.delete(key);
      else this.#write(key, checkValue(next), ttlMs);
      return true;
    });
  }

  increment(
    key: string,
    by: number,
    { max = Infinity, windowMs, ttlMs = windowMs, mustExist, identity }: IncrementOptions = {},
  ): Promise<Increment> {
    return this.#step(identity, () => {
      const text = this.#text(key);
      if (text === undefined && mustExist) return { applied: false, value: undefined };
      if (text !== undefined && (text.trim() === '' || !Number.isFinite(Number(text))))
        throw notANumber();
      const value = text === undefined ? undefined : Number(text);
      const sum = (value ?? 0) + by;
      if (!Number.isFinite(sum) || sum > max) return { applied: false, value };
      this.#write(key, String(sum), text === undefined ? ttlMs : 'keep');
      return { applied: true, value: sum };
    });
  }

  expire(key: string, ttlMs: number): Promise<boolean> {
    return this.#step(undefined, () => {
      const value = this.#read(key);
      if (value !== undefined) this.#write(key, value, ttlMs);
      return value !== undefined;
    });
  }

  now(): Promise<StoreMoment> {
    return this.#step(undefined, () => ({ time: this.#clock.now(), identity: this.#identity }));
  }

  list(prefix: string, limit = 1_000): Promise<readonly string[]> {
    return this.#step(undefined, () =>
      [...this.#entries.keys()]
        .filter((key) => key.startsWith(prefix) && this.#read(key) !== undefined)
        .sort()
        .slice(0, limit),
    );
  }

  append(
    key: string,
    item: string,
    { max, at, ttlMs, identity }: AppendOptions,
  ): Promise<number | undefined> {
    return this.#step(identity, () => {
      const items = this.#list(key);
      if (at !== undefined && (items.length !== at || at >= max)) return undefined;
      const next = [...items, checkValue(item)].slice(-max);
      this.#write(key, next, ttlMs ?? 'keep');
      return next.length;
    });
  }

  read(key: string, { from = 0, limit = 100 }: ReadOptions = {}): Promise<readonly string[]> {
    return this.#step(undefined, () => this.#list(key).slice(from, from + limit));
  }

  /** Does nothing and never calls the listener, because memory is always available. */
  onAvailability(): () => void {
    return () => undefined;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#entries.clear();
    return Promise.resolve();
  }

  /** Runs one operation. Errors become rejections, as in all stores. */
  #step<T>(identity: string | undefined, operation: () => T): Promise<T> {
    return new Promise((resolve) => {
      if (this.#closed) throw closed();
      if (identity !== undefined && identity !== this.#identity) throw restarted();
      resolve(operation());
    });
  }

  #text(key: string): string | undefined {
    const value = this.#read(key);
    if (typeof value === 'object') throw wrongKind();
    return value;
  }

  #list(key: string): readonly string[] {
    const value = this.#read(key) ?? [];
    if (typeof value === 'string') throw wrongKind();
    return value;
  }

  #read(key: string): Entry['value'] | undefined {
    const entry = this.#entries.get(checkKey(key));
    return entry !== undefined && entry.expiresAt > this.#clock.elapsed() ? entry.value : undefined;
  }

  #write(key: string, value: Entry['value'], ttlMs: number | 'keep' | undefined): void {
    const now = this.#clock.elapsed();
    const before = this.#entries.get(key)?.expiresAt ?? Infinity;
    const kept = before > now ? before : Infinity;
    this.#entries.set(key, {
      value,
      expiresAt: ttlMs === 'keep' ? kept : now + (ttlMs ?? Infinity),
    });
    this.#writesToSweep -= 1;
    if (this.#writesToSweep > 0) return;
    // Removes expired keys, because keys that are never read again would stay in memory forever.
    // The more keys there are, the less often this sweep runs.
    for (const [old, { expiresAt }] of this.#entries)
      if (expiresAt <= now) this.#entries.delete(old);
    this.#writesToSweep = Math.max(SWEEP_EVERY, this.#entries.size);
  }
}
