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
  IndexOptions,
  IndexPage,
  LifetimeOptions,
  ReadOptions,
  StateStore,
  StoreMoment,
} from './state-store.js';

interface Entry {
  readonly value: string | readonly string[] | SortedSet;
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
    { max = Infinity, windowMs, ttlMs = windowMs, identity }: IncrementOptions = {},
  ): Promise<Increment> {
    return this.#step(identity, () => {
      const text = this.#text(key);
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

  append(key: string, item: string, { max, ttlMs }: AppendOptions): Promise<void> {
    return this.#step(undefined, () => {
      const items = [...this.#list(key), checkValue(item)];
      this.#write(key, items.slice(-max), ttlMs ?? 'keep');
    });
  }

  read(key: string, { from = 0, limit = 100 }: ReadOptions = {}): Promise<readonly string[]> {
    return this.#step(undefined, () => this.#list(key).slice(from, from + limit));
  }

  addToIndex(
    key: string,
    member: string,
    { max = Infinity, ttlMs }: IndexOptions = {},
  ): Promise<boolean> {
    return this.#step(undefined, () => {
      const index = this.#index(key) ?? new SortedSet();
      if (!index.has(checkValue(member)) && index.size >= max) return false;
      index.add(member);
      this.#write(key, index, ttlMs ?? 'keep');
      return true;
    });
  }

  removeFromIndex(key: string, member: string): Promise<boolean> {
    return this.#step(undefined, () => {
      const index = this.#index(key);
      const isRemoved = index?.delete(member) ?? false;
      if (index?.size === 0) this.#entries.delete(key);
      return isRemoved;
    });
  }

  pageOfIndex(key: string, page: IndexPage = {}): Promise<readonly string[]> {
    return this.#step(undefined, () => this.#index(key)?.page(page) ?? []);
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
    if (!Array.isArray(value)) throw wrongKind();
    return value as readonly string[];
  }

  #index(key: string): SortedSet | undefined {
    const value = this.#read(key);
    if (value !== undefined && !(value instanceof SortedSet)) throw wrongKind();
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

/** Texts in order. New texts usually come last, so adding one is fast. */
class SortedSet {
  readonly #members: string[] = [];

  get size(): number {
    return this.#members.length;
  }

  has(member: string): boolean {
    return this.#members[this.#placeOf(member)] === member;
  }

  add(member: string): void {
    if (!this.has(member)) this.#members.splice(this.#placeOf(member), 0, member);
  }

  delete(member: string): boolean {
    return this.has(member) && this.#members.splice(this.#placeOf(member), 1).length > 0;
  }

  page({ reverse = false, after, limit = 100 }: IndexPage): readonly string[] {
    const place = after === undefined ? 0 : this.#placeOf(after);
    if (reverse) {
      const end = after === undefined ? this.size : place;
      return this.#members.slice(Math.max(0, end - limit), end).reverse();
    }
    const start = place + Number(after !== undefined && this.has(after));
    return this.#members.slice(start, start + limit);
  }

  /** Returns the index of the first member that isn't before this text. */
  #placeOf(member: string): number {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#members[middle]! < member) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
