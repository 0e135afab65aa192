import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { randomUUID } from '../core/crypto.js';
import { ChannelListeners } from '../core/listeners.js';
import { anObject, checkOptions, once, type FieldsOf } from '../core/options.js';
import {
  checkAppend,
  checkIncrement,
  checkKey,
  checkLifetime,
  checkLimit,
  checkListener,
  checkNumber,
  checkOptionalValue,
  checkRead,
  checkTtl,
  checkValue,
  closed,
  notAList,
  notANumber,
  notAText,
  numberOf,
  restarted,
  WINDOW_STEPS,
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
  readonly value: string | List | Window;
  /** The moment when the key expires, in milliseconds of `clock.elapsed()`. */
  readonly expiresAt: number;
}

type List = readonly string[];

/** The sums added in each step of a sliding window, by the number of the step. */
interface Window {
  readonly born: string;
  readonly steps: ReadonlyMap<number, number>;
}

interface MemoryStateStoreOptions {
  /** The clock by which lifetimes end. @default the time of this machine */
  readonly clock?: Clock;
}

const optionsSchema = once(() =>
  z.strictObject({
    clock: anObject<Clock>('a clock').default(systemClock),
  } satisfies FieldsOf<MemoryStateStoreOptions>),
);

/** The least number of writes between two searches for expired keys. */
const SWEEP_EVERY = 1_000;

/** State of this process alone: always available, gone with the process. */
export class MemoryStateStore implements StateStore {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new ChannelListeners();
  readonly #identity = randomUUID();
  /** Counts the windows that began. */
  #windows = 0;
  #writesToSweep = SWEEP_EVERY;
  #closed = false;

  /** Creates an empty store. @throws ToolError INVALID_ARGUMENT for unknown options. */
  constructor(options: MemoryStateStoreOptions = {}) {
    this.#clock = checkOptions(optionsSchema, options, 'options of MemoryStateStore').clock;
  }

  /** The number of keys in memory: living ones, and expired ones that were not cleared away yet. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Promise<string | undefined> {
    return this.#step(() => this.#text(checkKey(key)));
  }

  compareAndSet(
    key: string,
    expected: string | undefined,
    next: string | undefined,
    options?: LifetimeOptions,
  ): Promise<boolean> {
    return this.#step(() => {
      const { ttlMs, identity } = checkLifetime(options);
      checkKey(key);
      checkOptionalValue(expected, 'value expected');
      checkOptionalValue(next, 'value');
      this.#assertIdentity(identity);
      if (this.#text(key) !== expected) return false;
      if (next === undefined) this.#entries.delete(key);
      else this.#write(key, next, ttlMs === 'keep' ? this.#kept(key) : this.#expiry(ttlMs));
      return true;
    });
  }

  increment(key: string, by: number, options?: IncrementOptions): Promise<Increment> {
    return this.#step(() => {
      checkNumber(by);
      const { max, ttlMs, mustExist, identity, windowMs } = checkIncrement(options);
      checkKey(key);
      this.#assertIdentity(identity);
      if (windowMs !== undefined) return this.#incrementWindow(key, by, windowMs, max, mustExist);
      const text = this.#text(key);
      if (text === undefined && mustExist)
        return Object.freeze({ applied: false, value: undefined });
      const value = text === undefined ? undefined : numberOf(text);
      if (text !== undefined && value === undefined) throw notANumber();
      const sum = (value ?? 0) + by;
      if (!Number.isFinite(sum) || sum > max) return Object.freeze({ applied: false, value });
      this.#write(key, String(sum), text === undefined ? this.#expiry(ttlMs) : this.#kept(key));
      return Object.freeze({ applied: true, value: sum });
    });
  }

  expire(key: string, ttlMs: number): Promise<boolean> {
    return this.#step(() => {
      const expiresAt = this.#expiry(checkTtl(ttlMs));
      const entry = this.#read(checkKey(key));
      if (entry === undefined) return false;
      this.#write(key, entry.value, expiresAt);
      return true;
    });
  }

  now(): Promise<StoreMoment> {
    return this.#step(() => Object.freeze({ time: this.#clock.now(), identity: this.#identity }));
  }

  list(prefix: string, limit?: number): Promise<readonly string[]> {
    return this.#step(() => {
      const most = checkLimit(limit);
      checkKey(prefix, 'prefix');
      const keys = [...this.#entries.keys()].filter(
        (key) => key.startsWith(prefix) && this.#read(key) !== undefined,
      );
      return Object.freeze(keys.sort().slice(0, most));
    });
  }

  append(key: string, item: string, options: AppendOptions): Promise<number | undefined> {
    return this.#step(() => {
      const { at, max, ttlMs, identity } = checkAppend(options);
      checkKey(key);
      checkValue(item, 'item');
      this.#assertIdentity(identity);
      const items = this.#list(key) ?? [];
      if ((at !== undefined && items.length !== at) || items.length >= max) return undefined;
      this.#write(
        key,
        [...items, item],
        ttlMs === undefined ? this.#kept(key) : this.#expiry(ttlMs),
      );
      return items.length + 1;
    });
  }

  read(key: string, options?: ReadOptions): Promise<readonly string[]> {
    return this.#step(() => {
      const { from, limit } = checkRead(options);
      return Object.freeze(this.#list(checkKey(key))?.slice(from, from + limit) ?? []);
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

  /** Returns at once and never calls the listener: memory is always available. */
  onAvailability(listener: (available: boolean) => void): () => void {
    checkListener(listener);
    return () => undefined;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    this.#entries.clear();
    return Promise.resolve();
  }

  /** Runs one operation, whose errors are rejections as in every store. */
  #step<T>(operation: () => T): Promise<T> {
    return new Promise((resolve) => {
      if (this.#closed) throw closed();
      resolve(operation());
    });
  }

  #assertIdentity(identity: string | undefined): void {
    if (identity !== undefined && identity !== this.#identity) throw restarted();
  }

  #incrementWindow(
    key: string,
    by: number,
    windowMs: number,
    max: number,
    mustExist: boolean,
  ): Increment {
    const entry = this.#read(key)?.value;
    if (entry !== undefined && (typeof entry === 'string' || !('steps' in entry)))
      throw notANumber();
    if (entry === undefined && mustExist)
      return Object.freeze({ applied: false, value: undefined });
    const stepMs = windowMs / WINDOW_STEPS;
    const now = Math.floor(this.#clock.elapsed() / stepMs);
    const steps = new Map([...(entry?.steps ?? [])].filter(([step]) => step >= now - WINDOW_STEPS));
    const value = [...steps.values()].reduce((sum, added) => sum + added, 0);
    const sum = value + by;
    if (!Number.isFinite(sum) || sum > max)
      return Object.freeze({
        applied: false,
        ...(entry === undefined ? { value: undefined } : { value, born: entry.born }),
      });
    steps.set(now, (steps.get(now) ?? 0) + by);
    const born = entry?.born ?? String((this.#windows += 1));
    this.#write(key, { born, steps }, this.#expiry(windowMs + stepMs));
    return Object.freeze({ applied: true, value: sum, born });
  }

  #expiry(ttlMs: number | undefined): number {
    return ttlMs === undefined ? Infinity : this.#clock.elapsed() + ttlMs;
  }

  #kept(key: string): number {
    return this.#entries.get(key)?.expiresAt ?? Infinity;
  }

  #text(key: string): string | undefined {
    const value = this.#read(key)?.value;
    if (typeof value === 'object' && !('steps' in value)) throw notAText();
    return typeof value === 'object' ? JSON.stringify([...value.steps]) : value;
  }

  #list(key: string): List | undefined {
    const value = this.#read(key)?.value;
    if (value !== undefined && (typeof value === 'string' || 'steps' in value)) throw notAList();
    return value;
  }

  #read(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAt > this.#clock.elapsed()) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  #write(key: string, value: Entry['value'], expiresAt: number): void {
    this.#entries.set(key, Object.freeze({ value, expiresAt }));
    this.#writesToSweep -= 1;
    if (this.#writesToSweep <= 0) this.#sweep();
  }

  /** Removes expired keys: those that are never read again would stay for good. */
  #sweep(): void {
    const now = this.#clock.elapsed();
    for (const [key, entry] of this.#entries) if (entry.expiresAt <= now) this.#entries.delete(key);
    // The more keys live, the more rarely: so a write costs the same however many there are.
    this.#writesToSweep = Math.max(SWEEP_EVERY, this.#entries.size);
  }
}
