import { z } from 'zod';
import { randomUUID } from 'node:crypto';
import { systemClock, type Clock } from '../../core/clock.js';
import { storeKey } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import { anObject, checkOptions, text, wholeBetween, type FieldsOf } from '../../core/options.js';
import { HEALTH_KEYS, HEALTH_WINDOW, healthKey, requireRecord, sampleOf, summarizeSamples, type HealthKind, type HealthLog, type HealthRecord, type HealthSummary, type LifetimeCounts, type Sample } from './health-samples.js';

export interface SharedHealthOptions {
  readonly store: StateStore;
  /** How many calls a window holds, at most 10,000. @default 100 */
  readonly size?: number;
  /** How many names are kept here; the least recently used give way. @default 10_000 */
  readonly maxKeys?: number;
  readonly clock?: Clock;
  /** What tells this process from all others. @default a random UUID */
  readonly writer?: string;
}

/** Calls of one process that were not yet, or may not yet have been, written. */
interface Batch {
  /** Rises with every batch of a process for one key. */
  readonly sequence: number;
  readonly samples: readonly Sample[];
  readonly total: number;
  readonly success: number;
  readonly lastProvider: string | null;
}

/** What all processes together know of one name. */
interface StoredHealth extends Omit<Batch, 'sequence'> {
  /** The last batch that counts of each process, the least recent process first. */
  readonly writers: ReadonlyMap<string, number>;
}

/** Processes that are remembered. One that is forgotten and repeats a batch after that would be counted twice. */
const MOST_WRITERS = 256;

const NO_HEALTH: StoredHealth = Object.freeze({ samples: [], total: 0, success: 0, lastProvider: null, writers: new Map() });

interface Entry {
  readonly key: string;
  /** What all processes knew when it was last read or written. */
  shared: StoredHealth;
  /** A batch on its way. It does not change until it is known to count, so that it can be sent again. */
  sent: Batch | undefined;
  /** What was recorded since. */
  pending: Batch | undefined;
  /** Whether another process has written since. */
  stale: boolean;
}

/** How often what was recorded is written, per name at most once: traffic does not grow with the calls. */
const FLUSH_MS = 1_000;
/** How long the store keeps the health of a name that nobody calls. */
const KEEP_MS = 7 * 24 * 3_600_000;
/** Every lost race was won by another process, so that this many in a row need as many processes. */
const MOST_RACES = 100;
const CHANNEL = 'health';

const optionsSchema = z.strictObject({ store: anObject<StateStore>('a StateStore'), size: wholeBetween(1, 10_000).default(HEALTH_WINDOW), maxKeys: wholeBetween(1, 1_000_000).default(HEALTH_KEYS), clock: anObject<Clock>('a clock').default(systemClock), writer: text.optional() } satisfies FieldsOf<SharedHealthOptions>);

/**
 * Keeps the health of every tool, provider and job of several processes together in a `StateStore`.
 *
 * Recording never waits: calls are written in batches, at most once a second for each name, and on `close()`. Every
 * batch counts exactly once, also when its write was answered by an error and is repeated. Without the store the
 * process goes on with what it knows, and writes it when the store is back; when the store lost its data, what the
 * processes knew last is restored. Summaries are of the last calls of all processes, as far as this one has heard.
 *
 * Call `close()` at the end: it writes what is left. The timer that writes keeps no process alive, because without the store
 * it would do so for ever.
 */
export class SharedHealth implements HealthLog {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #size: number;
  readonly #maxKeys: number;
  readonly #writer: string;
  readonly #entries = new Map<string, Entry>();
  #listening: Promise<void> | undefined;
  #ends: (() => void | Promise<void>)[] = [];
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

  /** Adds one call. @throws ToolError `INVALID_ARGUMENT` for what is no record. */
  record(record: HealthRecord): void {
    requireRecord(record);
    const entry = this.#entryOf(healthKey(record.kind, record.name));
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

  /** All calls of all processes since the store holds data. */
  lifetime(kind: HealthKind, name: string): LifetimeCounts {
    return countsOf(this.#view(kind, name));
  }

  lastCall(kind: HealthKind, name: string): Sample | null {
    return this.#view(kind, name).samples.at(-1) ?? null;
  }

  lastProvider(toolName: string): string | null {
    return this.#view('tool', toolName).lastProvider;
  }

  /** Reads what all processes know of a name now, also of one that this process never recorded; without the store nothing changes. */
  async refresh(kind: HealthKind, name: string): Promise<void> {
    this.#entryOf(healthKey(kind, name)).stale = true;
    await this.flush();
  }

  /** Writes what is to be written, and reads what others wrote; without the store it stays to be done. Never rejects. */
  async flush(): Promise<void> {
    // One after the other: a batch must not be sent twice at the same time.
    const before = this.#flushing;
    const flushing = (before ?? Promise.resolve()).then(() => this.#flushAll());
    this.#flushing = flushing;
    await flushing;
    if (this.#flushing === flushing) this.#flushing = undefined;
  }

  /** Writes what is left and stops listening; what is recorded after it stays in this process. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopTimer?.();
    await this.flush();
    await Promise.allSettled(this.#ends.map(async (end) => end()));
  }

  #entryOf(key: string): Entry {
    const entry = this.#entries.get(key) ?? { key, shared: NO_HEALTH, sent: undefined, pending: undefined, stale: true };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > this.#maxKeys) this.#entries.delete(this.#entries.keys().next().value!);
    return entry;
  }

  /** What is known of a name here: what all processes wrote, and what this one has still to write. */
  #view(kind: HealthKind, name: string): StoredHealth {
    const entry = this.#entries.get(healthKey(kind, name));
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
      if (!this.#closed) await (this.#listening ??= this.#listen());
      for (const entry of [...this.#entries.values()]) {
        // What an error held up first, then what was recorded since.
        if (entry.sent !== undefined) await this.#write(entry);
        if (entry.pending !== undefined) await this.#write(entry);
        if (entry.stale) this.#adopt(entry, await this.#store.get(keyOf(entry)));
      }
    } catch {
      // The store is gone: everything stays as it is, and is tried again, not all names one by one.
      this.#flushSoon();
    }
  }

  async #write(entry: Entry): Promise<void> {
    if (entry.sent === undefined) {
      entry.sent = entry.pending!;
      entry.pending = undefined;
    }
    for (let race = 0; race < MOST_RACES; race += 1) {
      const text = await this.#store.get(keyOf(entry));
      this.#adopt(entry, text);
      const merged = mergeBatch(entry.shared, this.#writer, entry.sent, this.#size);
      const counts = merged === entry.shared || (await this.#store.compareAndSet(keyOf(entry), text, encodeHealth(merged), { ttlMs: KEEP_MS }));
      if (!counts) continue;
      entry.shared = merged;
      entry.sent = undefined;
      await this.#store.publish(CHANNEL, JSON.stringify([this.#writer, entry.key]));
      return;
    }
    this.#flushSoon();
  }

  /** Takes over what is stored. A store that lost it is given what was known here last. */
  #adopt(entry: Entry, text: string | undefined): void {
    entry.shared = decodeHealth(text) ?? entry.shared;
    entry.stale = false;
  }

  async #listen(): Promise<void> {
    try {
      this.#ends.push(await this.#store.subscribe(CHANNEL, (message) => this.#hear(message)));
      this.#ends.push(this.#store.onAvailability((available) => available && this.#flushSoon()));
    } catch (error) {
      this.#listening = undefined;
      throw error;
    }
  }

  #hear(message: string): void {
    const [writer, key] = parseList(message);
    const entry = typeof key === 'string' ? this.#entries.get(key) : undefined;
    if (entry === undefined || writer === this.#writer) return;
    entry.stale = true;
    this.#flushSoon();
  }
}

function keyOf({ key }: Entry): string {
  return storeKey('health', key);
}

function parseList(message: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(message);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** Adds a batch; the window keeps the last `size` samples by their dates. The same object when the batch counts already. */
function mergeBatch(stored: StoredHealth, writer: string, batch: Batch, size: number): StoredHealth {
  // Its write was answered by an error, and happened all the same.
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

/** Lists instead of objects: a window of 100 calls is some 3 KB. Each begins with 1 for success, 0 for failure, 2 for an abandoned call. */
function encodeHealth({ samples, total, success, lastProvider, writers }: StoredHealth): string {
  return JSON.stringify({ v: 1, samples: samples.map(({ success, latencyMs, at, abandoned }) => [success ? 1 : abandoned ? 2 : 0, latencyMs, at]), total, success, lastProvider, writers: [...writers] });
}

/** The stored health of a text; none for a text of another version or that is damaged. */
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
