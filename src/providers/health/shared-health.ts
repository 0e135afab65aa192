import { z } from 'zod';
import { randomUUID } from '../../core/crypto.js';
import { systemClock, type Clock } from '../../core/clock.js';
import { isToolError } from '../../core/errors.js';
import { anObject, checkOptions, text, wholeBetween, type FieldsOf } from '../../core/options.js';
import { storeKey } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import { MOST_RETRY_AFTER_MS } from '../run-attempt.js';
import { PROVIDER_CHANNEL, providerKey, readProviderState, type SharedState } from '../shared-backoff.js';
import { HEALTH_KEYS, HEALTH_WINDOW, healthKey, requireRecord, sampleOf, summarizeSamples, type Backoff, type HealthKind, type HealthLog, type HealthRecord, type HealthSummary, type LifetimeCounts, type Sample } from './health-samples.js';

export interface SharedHealthOptions {
  readonly store: StateStore;
  /** The number of calls in a window, at most 10,000. @default 100 */
  readonly size?: number;
  /** The number of names that are kept here; the least recently used give way. @default 10_000 */
  readonly maxKeys?: number;
  readonly clock?: Clock;
  /** A name that tells this process from all others. @default a random UUID */
  readonly writer?: string;
}

/** The calls of one process that are not yet known to be written. */
interface Batch {
  /** The number of the batch, which rises for each key of a process. */
  readonly sequence: number;
  readonly samples: readonly Sample[];
  readonly total: number;
  readonly success: number;
  readonly lastProvider: string | null;
}

/** The health of one name over all processes. */
interface StoredHealth extends Omit<Batch, 'sequence'> {
  /** The last batch that counts of each process, the least recent process first. */
  readonly writers: ReadonlyMap<string, number>;
}

/** The number of processes that are remembered. One that is forgotten and repeats a batch after that is counted twice. */
const MOST_WRITERS = 256;

const NO_HEALTH: StoredHealth = Object.freeze({ samples: [], total: 0, success: 0, lastProvider: null, writers: new Map() });

interface Entry {
  /** The stored health when it was last read or written. */
  shared: StoredHealth;
  /** A batch on its way. It does not change until it is known to count, so that it can be sent again. */
  sent: Batch | undefined;
  /** The calls recorded since. */
  pending: Batch | undefined;
}

/** The interval at which records are written, at most once per name: traffic does not grow with the calls. */
const FLUSH_MS = 1_000;
/** The time for which the store keeps the health of a name without calls. */
const KEEP_MS = 7 * 24 * 3_600_000;
/** The attempts at a write. Every lost race was won by another process, so that this many in a row need as many processes. */
const MOST_RACES = 100;
/** Names that are listed in one step, and read at the same time. */
const MOST_LISTED = 10_000;
const READS_AT_ONCE = 100;
/** The time that `load` waits for a store that does not answer. */
const LOAD_MS = 2_000;
const CHANNEL = 'health';

const optionsSchema = z.strictObject({ store: anObject<StateStore>('a StateStore'), size: wholeBetween(1, 10_000).default(HEALTH_WINDOW), maxKeys: wholeBetween(1, 1_000_000).default(HEALTH_KEYS), clock: anObject<Clock>('a clock').default(systemClock), writer: text.optional() } satisfies FieldsOf<SharedHealthOptions>);

/**
 * Keeps the health of every tool, provider and job of several processes together in a `StateStore`.
 *
 * Recording never waits: calls are written in batches, at most once a second for each name, and on `close()`. Every
 * batch counts exactly once, also when its write was answered by an error and is repeated. Without the store the
 * process goes on with what it knows, and writes it when the store is back; when the store lost its data, what the
 * processes knew last is restored. Summaries are of the last calls of all processes, as far as this one has heard: of
 * the names that it records itself, and after `load()`, which a `CapabilityRegistry` calls, of all names.
 *
 * Call `close()` at the end: it writes what is left. The timer that writes keeps no process alive, because without the
 * store it would do so for ever.
 */
export class SharedHealth implements HealthLog {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #size: number;
  readonly #maxKeys: number;
  readonly #writer: string;
  /** The entries by the keys of the store, like the backoffs and the keys that are still to be read. */
  readonly #entries = new Map<string, Entry>();
  readonly #backoffs = new Map<string, Backoff>();
  readonly #toRead = new Set<string>();
  /** Says that names recorded only by others are kept, too, and that the store is still to be asked for its names. */
  #followsAll = false;
  #toList = false;
  readonly #channels = new Map<string, Promise<void>>();
  readonly #ends: (() => void | Promise<void>)[] = [];
  /** One count for all names: a name that was given up and comes back must not repeat a number. */
  #sequence = 0;
  #stopTimer: (() => void) | undefined;
  #flushing: Promise<void> | undefined;
  #closed = false;

  constructor(options: SharedHealthOptions) {
    const { store, size, maxKeys, clock, writer = randomUUID() } = checkOptions(optionsSchema, options, 'options of SharedHealth');
    this.#store = store;
    this.#clock = clock;
    this.#size = size;
    this.#maxKeys = maxKeys;
    this.#writer = writer;
  }

  /** Adds one call. @throws ToolError `INVALID_ARGUMENT` for a wrong record. */
  record(record: HealthRecord): void {
    requireRecord(record);
    const key = keyOf(record.kind, record.name);
    const entry = this.#entries.get(key) ?? { shared: NO_HEALTH, sent: undefined, pending: undefined };
    this.#keep(key, entry);
    const pending = entry.pending ?? { sequence: (this.#sequence += 1), samples: [], total: 0, success: 0, lastProvider: null };
    const sample = sampleOf(record, this.#clock.now());
    const samples = pending.samples as Sample[];
    samples.push(sample);
    if (samples.length > this.#size) samples.shift();
    const lastProvider = record.success ? (record.provider ?? pending.lastProvider) : pending.lastProvider;
    entry.pending = { ...pending, total: pending.total + 1, success: pending.success + (record.success ? 1 : 0), lastProvider };
    this.#flushSoon();
  }

  summary(kind: HealthKind, name: string): HealthSummary {
    return summarizeSamples(this.#view(kind, name).samples);
  }

  samples(kind: HealthKind, name: string): readonly Sample[] {
    return Object.freeze([...this.#view(kind, name).samples]);
  }

  /** Returns the number of all calls of all processes since the store holds data. */
  lifetime(kind: HealthKind, name: string): LifetimeCounts {
    return countsOf(this.#view(kind, name));
  }

  lastCall(kind: HealthKind, name: string): Sample | null {
    return this.#view(kind, name).samples.at(-1) ?? null;
  }

  lastProvider(toolName: string): string | null {
    return this.#view('tool', toolName).lastProvider;
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
    this.#toRead.add(keyOf(kind, name));
    await this.flush();
  }

  /** Writes the pending records, and reads those of others; without the store they stay pending. Never rejects. */
  async flush(): Promise<void> {
    // One after the other: a batch must not be sent twice at the same time.
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
    for (const [oldest, { sent, pending }] of this.#entries) if (sent === undefined && pending === undefined) return void this.#entries.delete(oldest);
    this.#entries.delete(this.#entries.keys().next().value!);
  }

  /** Returns the health of a name as known here: the stored one, and the records still to be written. */
  #view(kind: HealthKind, name: string): StoredHealth {
    const entry = this.#entries.get(keyOf(kind, name));
    if (entry === undefined) return NO_HEALTH;
    return [entry.sent, entry.pending].reduce<StoredHealth>((view, batch) => (batch === undefined ? view : mergeBatch(view, this.#writer, batch, this.#size)), entry.shared);
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
      for (const [key, entry] of [...this.#entries]) {
        // First the batch that an error held up, then the later records.
        if (entry.sent !== undefined) await this.#write(key, entry);
        if (entry.pending !== undefined) await this.#write(key, entry);
      }
      if (this.#toList) await this.#list();
      const keys = [...this.#toRead];
      for (let index = 0; index < keys.length; index += READS_AT_ONCE) {
        const reads = await Promise.allSettled(keys.slice(index, index + READS_AT_ONCE).map((key) => this.#read(key)));
        for (const read of reads) if (read.status === 'rejected') throw read.reason;
      }
    } catch {
      // The store is gone: everything stays as it is and is tried again, not name by name.
      this.#flushSoon();
    }
  }

  async #write(key: string, entry: Entry): Promise<void> {
    if (entry.sent === undefined) {
      entry.sent = entry.pending!;
      entry.pending = undefined;
    }
    for (let race = 0; race < MOST_RACES; race += 1) {
      this.#toRead.delete(key);
      const text = await this.#store.get(key);
      // A store that lost the health is given what was known here last.
      entry.shared = decodeHealth(text) ?? entry.shared;
      const merged = mergeBatch(entry.shared, this.#writer, entry.sent, this.#size);
      const counts = merged === entry.shared || (await this.#store.compareAndSet(key, text, encodeHealth(merged), { ttlMs: KEEP_MS }));
      if (!counts) continue;
      entry.shared = merged;
      entry.sent = undefined;
      await this.#store.publish(CHANNEL, JSON.stringify([this.#writer, key]));
      return;
    }
    this.#flushSoon();
  }

  async #list(): Promise<void> {
    for (const prefix of ['health:', 'provider:']) for (const key of await this.#store.list(prefix, Math.min(this.#maxKeys, MOST_LISTED))) this.#toRead.add(key);
    this.#toList = false;
  }

  async #read(key: string): Promise<void> {
    // Before reading: a change during it is read again.
    this.#toRead.delete(key);
    try {
      if (key.startsWith('provider:')) return this.#leaveAlone(key, (await readProviderState(this.#store, key, MOST_RETRY_AFTER_MS)).state);
      const shared = decodeHealth(await this.#store.get(key));
      if (shared !== undefined) this.#keep(key, Object.assign(this.#entries.get(key) ?? { sent: undefined, pending: undefined }, { shared }));
    } catch (error) {
      // A key that stores refuse, or that holds something else, will not get better.
      if (isToolError(error, 'INVALID_ARGUMENT') || isToolError(error, 'LIMIT_EXCEEDED')) return;
      this.#toRead.add(key);
      throw error;
    }
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
    for (const key of [...this.#entries.keys(), ...this.#backoffs.keys()]) this.#toRead.add(key);
    this.#flushSoon();
  }

  #hear(message: string): void {
    const [writer, key] = parseList(message);
    if (typeof key !== 'string' || writer === this.#writer) return;
    if (!this.#entries.has(key) && !(this.#followsAll && /^(?:health|provider):/.test(key))) return;
    this.#toRead.add(key);
    this.#flushSoon();
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

/**
 * Adds a batch; the window keeps the last `size` samples by their dates. Returns the same object if the batch counts
 * already.
 */
function mergeBatch(stored: StoredHealth, writer: string, batch: Batch, size: number): StoredHealth {
  // Its write was answered by an error, but happened all the same.
  if ((stored.writers.get(writer) ?? 0) >= batch.sequence) return stored;
  const writers = new Map(stored.writers);
  writers.delete(writer);
  writers.set(writer, batch.sequence);
  if (writers.size > MOST_WRITERS) writers.delete(writers.keys().next().value!);
  return {
    samples: [...stored.samples, ...batch.samples].sort((a, b) => a.at - b.at).slice(-size),
    total: stored.total + batch.total,
    success: stored.success + batch.success,
    lastProvider: batch.lastProvider ?? stored.lastProvider,
    writers,
  };
}

function countsOf({ total, success }: { readonly total: number; readonly success: number }): LifetimeCounts {
  return Object.freeze({ total, success, failure: total - success });
}

/**
 * Writes health as lists instead of objects: a window of 100 calls is some 3 KB. Each begins with 1 for success, 0 for
 * failure, 2 for an abandoned call.
 */
function encodeHealth({ samples, total, success, lastProvider, writers }: StoredHealth): string {
  return JSON.stringify({ v: 1, samples: samples.map(({ success, latencyMs, at, abandoned }) => [success ? 1 : abandoned ? 2 : 0, latencyMs, at]), total, success, lastProvider, writers: [...writers] });
}

/** Reads the health in a text; nothing from a text of another version or a damaged one. */
function decodeHealth(text: string | undefined): StoredHealth | undefined {
  if (text === undefined) return undefined;
  try {
    const { v, samples, total, success, lastProvider, writers } = JSON.parse(text) as Record<string, unknown>;
    if (v !== 1 || !isCount(total) || !isCount(success) || success > total) return undefined;
    if (!Array.isArray(samples) || !samples.every(isTriple) || !Array.isArray(writers) || !writers.every(isWriter)) return undefined;
    return {
      samples: samples.map(([ended, latencyMs, at]) => sampleOf({ success: ended === 1, latencyMs, abandoned: ended === 2 }, at)),
      total,
      success,
      lastProvider: typeof lastProvider === 'string' ? lastProvider : null,
      writers: new Map(writers),
    };
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTriple(value: unknown): value is [number, number, number] {
  return Array.isArray(value) && value.length === 3 && value.every((item) => Number.isFinite(item));
}

function isWriter(value: unknown): value is [string, number] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && isCount(value[1]);
}
