import { z } from 'zod';
import { randomUUID } from '../../core/crypto.js';
import { systemClock, type Clock } from '../../core/clock.js';
import { isToolError } from '../../core/errors.js';
import { anObject, checkOptions, once, text, wholeBetween, type FieldsOf } from '../../core/options.js';
import { storeKey } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import { MOST_RETRY_AFTER_MS } from '../run-attempt.js';
import { PROVIDER_CHANNEL, providerKey, readProviderState, type SharedState } from '../shared-backoff.js';
import { addedTo, boundedParts, callsSince, datedBy, decodeParts, encodeParts, hasMore, joinedParts, laterThan, NO_CALLS, windowOf, type HealthPart, type HealthParts } from './health-parts.js';
import { HEALTH_KEYS, HEALTH_WINDOW, healthKey, requireRecord, sampleOf, summarizeSamples, type Backoff, type HealthKind, type HealthLog, type HealthRecord, type HealthSummary, type LifetimeCounts, type Sample } from './health-samples.js';

export interface SharedHealthOptions {
  readonly store: StateStore;
  /** The number of calls in a window, at most 10,000. @default 100 */
  readonly size?: number;
  /** The number of names that are kept here; the least recently used give way. @default 10_000 */
  readonly maxKeys?: number;
  readonly clock?: Clock;
  /** A name for what this process writes, for operators who read the store; several processes may have the same. @default none */
  readonly writer?: string;
}

interface Entry {
  /** The parts of all processes as known here, with the calls that this one is about to write. */
  parts: HealthParts;
  /** All parts as one, dated by this process's clock. */
  window: HealthPart;
  /** The part that this process adds to, and what the store is known to have of it. */
  id: string;
  written: HealthPart;
  /** The calls recorded since, dated by this process's clock. */
  fresh: HealthPart;
}

/** The interval at which records are written, at most once per name: traffic does not grow with the calls. */
const FLUSH_MS = 1_000;
/** The time for which the store keeps the health of a name without calls. */
const KEEP_MS = 7 * 24 * 3_600_000;
/** The attempts at a write. Every lost race was won by another process, so that this many in a row need as many processes. */
const MOST_RACES = 100;
/** Names that are listed in one step, and read or written at the same time. */
const MOST_LISTED = 10_000;
const SYNCED_AT_ONCE = 100;
/** The time that `load` waits for a store that does not answer. */
const LOAD_MS = 2_000;
/** Differences between two clocks that may be the travel of the answer; dates that have gone there and back stay the same. */
const TRAVEL_MS = 500;
/** Characters of the name of a process that are written: each part of each text has it. */
const LONGEST_LABEL = 64;
const CHANNEL = 'health';

const optionsSchema = once(() => z.strictObject({ store: anObject<StateStore>('a StateStore'), size: wholeBetween(1, 10_000).default(HEALTH_WINDOW), maxKeys: wholeBetween(1, 1_000_000).default(HEALTH_KEYS), clock: anObject<Clock>('a clock').default(systemClock), writer: text().optional() } satisfies FieldsOf<SharedHealthOptions>));

/**
 * Keeps the health of every tool, provider and job of several processes together in a `StateStore`.
 *
 * Recording never waits: calls are written at most once a second for each name, and on `close()`. Each process writes a part of
 * its own, which only grows: a write whose answer was lost counts once, and a text that has less than this process knows, of a
 * store that lost data, is completed. Without the store the process goes on with what it knows, and writes it when the store is
 * back. Summaries are of the last calls of all processes, whatever their clocks say, with dates by the clock of this one. It hears
 * of the names that it records itself, and after `load()`, which a `CapabilityRegistry` calls, of all names.
 *
 * Call `close()` at the end: it writes what is left. The timer that writes keeps no process alive, because without the store
 * it would do so for ever.
 */
export class SharedHealth implements HealthLog {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #size: number;
  readonly #maxKeys: number;
  readonly #label: string;
  /** A text that tells this process from all others. */
  readonly #process = randomUUID();
  /** The entries by the keys of the store, like the backoffs and the keys that are still to be read or written. */
  readonly #entries = new Map<string, Entry>();
  readonly #backoffs = new Map<string, Backoff>();
  readonly #toSync = new Set<string>();
  /** Says that names recorded only by others are kept, too, and that the store is still to be asked for its names. */
  #followsAll = false;
  #toList = false;
  readonly #channels = new Map<string, Promise<void>>();
  readonly #ends: (() => void | Promise<void>)[] = [];
  /** The time by which the store's clock is ahead, and a sign that it is to be asked before the next write. */
  #skewMs = 0;
  #isSkewOld = true;
  #stopTimer: (() => void) | undefined;
  #flushing: Promise<void> | undefined;
  #closed = false;

  constructor(options: SharedHealthOptions) {
    const { store, size, maxKeys, clock, writer } = checkOptions(optionsSchema, options, 'options of SharedHealth');
    this.#store = store;
    this.#clock = clock;
    this.#size = size;
    this.#maxKeys = maxKeys;
    this.#label = writer === undefined ? '' : `${writer.slice(0, LONGEST_LABEL)} `;
  }

  /** Adds one call. @throws ToolError `INVALID_ARGUMENT` for a wrong record. */
  record(record: HealthRecord): void {
    requireRecord(record);
    const key = keyOf(record.kind, record.name);
    const entry = this.#entries.get(key) ?? this.#newEntry();
    this.#keep(key, entry);
    const at = this.#clock.now();
    const samples = entry.fresh === NO_CALLS ? [] : (entry.fresh.samples as Sample[]);
    samples.push(sampleOf(record, at));
    if (samples.length > this.#size) samples.shift();
    const { total, success, provider } = entry.fresh;
    entry.fresh = { seen: 0, total: total + 1, success: success + (record.success ? 1 : 0), samples, provider: record.success && record.provider !== undefined ? [record.provider, at] : provider };
    this.#isSkewOld = true;
    this.#syncSoon(key);
  }

  summary(kind: HealthKind, name: string): HealthSummary {
    return summarizeSamples(this.#view(kind, name).samples);
  }

  samples(kind: HealthKind, name: string): readonly Sample[] {
    return Object.freeze([...this.#view(kind, name).samples]);
  }

  /** Returns the number of all calls that any process still knows. */
  lifetime(kind: HealthKind, name: string): LifetimeCounts {
    const { total, success } = this.#view(kind, name);
    return Object.freeze({ total, success, failure: total - success });
  }

  lastCall(kind: HealthKind, name: string): Sample | null {
    return this.#view(kind, name).samples.at(-1) ?? null;
  }

  lastProvider(toolName: string): string | null {
    return this.#view('tool', toolName).provider?.[0] ?? null;
  }

  backoff(provider: string): Backoff | null {
    return this.#backoffs.get(providerKey(provider)) ?? null;
  }

  /**
   * Reads the stored health of all names, at most `maxKeys`, and follows from then on the names that other processes
   * call.
   *
   * It settles after at most two seconds; without the store it goes on when the store is back. Never rejects.
   */
  async load(): Promise<void> {
    this.#followsAll = this.#toList = true;
    let stopTimer: (() => void) | undefined;
    const waited = new Promise<void>((resolve) => (stopTimer = this.#clock.after(LOAD_MS, resolve)));
    await Promise.race([this.flush(), waited]);
    stopTimer?.();
  }

  /** Reads the stored health of a name now, even if this process never recorded it; without the store nothing changes. */
  async refresh(kind: HealthKind, name: string): Promise<void> {
    this.#toSync.add(keyOf(kind, name));
    await this.flush();
  }

  /** Writes the pending records, and reads those of others; without the store they stay pending. Never rejects. */
  async flush(): Promise<void> {
    const before = this.#flushing;
    const flushing = (before ?? Promise.resolve()).then(() => this.#flushAll());
    this.#flushing = flushing;
    await flushing;
    if (this.#flushing === flushing) this.#flushing = undefined;
  }

  /** Writes the remaining records and stops listening; later ones stay in this process. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopTimer?.();
    await this.flush();
    await Promise.allSettled(this.#ends.map(async (end) => end()));
  }

  /** Keeps an entry as the one used last; if there are too many, one without calls to write gives way, if there is one. */
  #keep(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= this.#maxKeys) return;
    for (const [oldest, { fresh, parts, id, written }] of this.#entries) if (fresh === NO_CALLS && (parts.get(id) ?? NO_CALLS).total <= written.total) return void this.#entries.delete(oldest);
    this.#entries.delete(this.#entries.keys().next().value!);
  }

  #newEntry(): Entry {
    return { parts: new Map(), window: NO_CALLS, id: this.#newId(), written: NO_CALLS, fresh: NO_CALLS };
  }

  /** An id for a part; no two parts ever have the same. */
  #newId(): string {
    return `${this.#label}${randomUUID()}`;
  }

  /** Returns the health of a name as known here: the stored one, and the records still to be written. */
  #view(kind: HealthKind, name: string): HealthPart {
    const { window, fresh } = this.#entries.get(keyOf(kind, name)) ?? { window: NO_CALLS, fresh: NO_CALLS };
    if (fresh === NO_CALLS) return window;
    const view = addedTo(window, fresh);
    return { ...view, samples: view.samples.slice(-this.#size) };
  }

  #syncSoon(key: string): void {
    this.#toSync.add(key);
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#closed) return;
    const flush = () => {
      this.#stopTimer = undefined;
      void this.flush();
    };
    this.#stopTimer ??= this.#clock.after(FLUSH_MS, flush, { background: true });
  }

  async #flushAll(): Promise<void> {
    try {
      if (!this.#closed) await this.#listen();
      if (this.#isSkewOld) await this.#compareClocks();
      if (this.#toList) await this.#list();
      const keys = [...this.#toSync];
      for (let index = 0; index < keys.length; index += SYNCED_AT_ONCE) {
        const ends = await Promise.allSettled(keys.slice(index, index + SYNCED_AT_ONCE).map((key) => this.#sync(key)));
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
      }
    } catch {
      // The store is gone: everything stays as it is and is tried again, not name by name.
      this.#flushSoon();
    }
  }

  async #compareClocks(): Promise<void> {
    try {
      const { time } = await this.#store.now();
      const skewMs = Math.round(time - this.#clock.now());
      if (Math.abs(skewMs - this.#skewMs) > TRAVEL_MS) this.#skewMs = skewMs;
    } catch (error) {
      // A Redis that does not tell its identity has a time, but does not tell that either: this process's has to do.
      if (!isToolError(error, 'STATE_UNAVAILABLE') || error.details['reason'] !== 'no_identity') throw error;
    }
    this.#isSkewOld = false;
  }

  async #list(): Promise<void> {
    for (const prefix of ['health:', 'provider:']) for (const key of await this.#store.list(prefix, Math.min(this.#maxKeys, MOST_LISTED))) this.#toSync.add(key);
    this.#toList = false;
  }

  async #sync(key: string): Promise<void> {
    // Before reading: a change during it is read again.
    this.#toSync.delete(key);
    try {
      if (key.startsWith('provider:')) return this.#leaveAlone(key, (await readProviderState(this.#store, key, MOST_RETRY_AFTER_MS)).state);
      for (let race = 0; race < MOST_RACES; race += 1) if (await this.#join(key)) return;
      this.#syncSoon(key);
    } catch (error) {
      // A key that stores refuse, or that holds something else, will not get better.
      if (isToolError(error, 'INVALID_ARGUMENT') || isToolError(error, 'LIMIT_EXCEEDED')) return;
      this.#toSync.add(key);
      throw error;
    }
  }

  /** Reads a name's parts from the store, and writes those that it lacks. @returns false when another process wrote meanwhile. */
  async #join(key: string): Promise<boolean> {
    const text = await this.#store.get(key);
    const stored = decodeParts(text);
    if (stored.size === 0 && !this.#entries.has(key)) return true;
    const entry = this.#entries.get(key) ?? this.#newEntry();
    this.#merge(entry, stored);
    this.#keep(key, entry);
    const { parts } = entry;
    if (!hasMore(parts, stored)) return true;
    if (!(await this.#store.compareAndSet(key, text, encodeParts(parts), { ttlMs: KEEP_MS }))) return false;
    entry.written = parts.get(entry.id) ?? NO_CALLS;
    await this.#store.publish(CHANNEL, JSON.stringify([this.#process, key]));
    return true;
  }

  /** Joins the stored parts with those known here and the calls recorded since. */
  #merge(entry: Entry, stored: HealthParts): void {
    const own = entry.parts.get(entry.id);
    const parts = joinedParts(entry.parts, stored);
    entry.written = stored.get(entry.id) ?? entry.written;
    let added = datedBy(entry.fresh, this.#skewMs);
    if (own === undefined || !parts.has(entry.id)) {
      // Not begun yet, or folded since: what was not written by then begins another part.
      if (own !== undefined) added = addedTo(callsSince(own, entry.written), added);
      Object.assign(entry, { id: this.#newId(), written: NO_CALLS });
    }
    const before = parts.get(entry.id) ?? NO_CALLS;
    const next = addedTo(before, added);
    if (next.total > entry.written.total) parts.set(entry.id, { ...next, seen: laterThan(parts, this.#clock.now() + this.#skewMs) });
    entry.parts = boundedParts(parts, this.#size);
    entry.window = datedBy(windowOf(entry.parts, this.#size), -this.#skewMs);
    entry.fresh = NO_CALLS;
  }

  #leaveAlone(key: string, state: SharedState | undefined): void {
    this.#backoffs.delete(key);
    if (state === undefined || state.kind === 'available' || this.#backoffs.size >= this.#maxKeys) return;
    this.#backoffs.set(key, Object.freeze({ failures: state.failures, until: state.kind === 'backing-off' ? this.#clock.now() + state.durationMs : null }));
  }

  /** Listens first and then reads, so that no change between the two is missed. */
  async #listen(): Promise<void> {
    if (this.#ends.length === 0) this.#ends.push(this.#store.onAvailability((available) => available && this.#readAgain()));
    for (const channel of this.#followsAll ? [CHANNEL, PROVIDER_CHANNEL] : [CHANNEL]) {
      const listening = this.#channels.get(channel) ?? this.#store.subscribe(channel, (message) => this.#hear(message)).then((end) => void this.#ends.push(end));
      this.#channels.set(channel, listening);
      await listening.catch((error: unknown) => {
        this.#channels.delete(channel);
        throw error;
      });
    }
  }

  /** Marks all names as unread: no change was heard while the store was away. */
  #readAgain(): void {
    this.#toList = this.#followsAll;
    this.#isSkewOld = true;
    for (const key of [...this.#entries.keys(), ...this.#backoffs.keys()]) this.#toSync.add(key);
    this.#flushSoon();
  }

  #hear(message: string): void {
    const [writer, key] = parseList(message);
    if (typeof key !== 'string' || writer === this.#process) return;
    if (!this.#entries.has(key) && !(this.#followsAll && /^(?:health|provider):/.test(key))) return;
    this.#syncSoon(key);
  }
}

function keyOf(kind: HealthKind, name: string): string {
  return storeKey('health', healthKey(kind, name));
}

function parseList(message: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(message);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}
