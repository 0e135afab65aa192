import { z } from 'zod';
import { randomUUID } from '../core/crypto.js';
import { anObject, checkOptions, once, type FieldsOf } from '../core/options.js';
import type { StateStore } from '../state/state-store.js';
import {
  healthFields,
  RollingHealth,
  type Backoff,
  type HealthCalls,
  type HealthRecord,
  type RollingHealthOptions,
} from './rolling-health.js';

/** The options of `PublishedHealth`. */
interface PublishedHealthOptions extends RollingHealthOptions {
  /** The store to which all processes publish their health. */
  readonly store: StateStore;
}

/**
 * The delay before a change is written, and the interval between reads of other processes' records,
 * in milliseconds.
 */
const WRITE_MS = 1_000;
const READ_MS = 2_000;
/**
 * The time in milliseconds for which a process's records are kept after its last call, and the
 * maximum number of processes whose records are read.
 */
const KEEP_MS = 24 * 3_600_000;
const MOST_PROCESSES = 256;
/**
 * The maximum number of samples written per process. If a process has more samples, only the
 * samples of the names recorded last are written.
 */
const MOST_SAMPLES = 2_000;
/**
 * The key of the list of processes that have written records, and the time in milliseconds after
 * which a process adds itself to this list again.
 */
export const PROCESSES = 'health:processes';
const ENTER_MS = 3_600_000;

const optionsSchema = once(() =>
  z.strictObject({
    ...healthFields(),
    store: anObject<StateStore>('a StateStore'),
  } satisfies FieldsOf<PublishedHealthOptions>),
);

/** The record of one process: its calls by kind and name, and the backoffs of its providers. */
const publishedSchema = once(() =>
  z.object({
    calls: z.record(
      z.string(),
      z.object({
        total: z.int().min(0),
        success: z.int().min(0),
        provider: z.tuple([z.string(), z.number()]).nullable(),
        samples: z.array(
          z.object({
            success: z.boolean(),
            latencyMs: z.number(),
            at: z.number(),
            abandoned: z.literal(true).exactOptional(),
          }),
        ),
      }),
    ),
    backoffs: z.record(z.string(), z.object({ failures: z.number(), until: z.number() })),
  }),
);

type Published = z.output<ReturnType<typeof publishedSchema>>;

/**
 * A health log that several processes share through a `StateStore`.
 *
 * Each process writes its own calls and backoffs under a separate key, at most once a second and on
 * `close()`. Records are kept for a day. After `load()`, the log covers all processes, and reads
 * the records of other processes every two seconds. A `CapabilityRegistry` calls `load()`. Times
 * come from the clock of the process that made the call. While the store is unavailable, the log
 * uses the records that it has. The log is written again once the store is available.
 */
export class PublishedHealth extends RollingHealth {
  readonly #options: z.output<ReturnType<typeof optionsSchema>>;
  readonly #id = randomUUID();
  readonly #stopWatching: () => void;
  #others: readonly Published[] = [];
  #enteredAt = -Infinity;
  #stopWriting: (() => void) | undefined;
  #stopReading: (() => void) | undefined;
  #hasNews = false;
  #closed = false;

  constructor(options: PublishedHealthOptions) {
    const checked = checkOptions(optionsSchema, options, 'options of PublishedHealth');
    const { store, ...rest } = checked;
    super(rest);
    this.#options = checked;
    this.#stopWatching = store.onAvailability((available) => {
      if (!available || this.own.size === 0) return;
      // Everything is written again, because the store may have lost its content.
      this.#enteredAt = -Infinity;
      this.#hasNews = true;
      this.#writeSoon();
    });
  }

  override record(record: HealthRecord): void {
    super.record(record);
    this.#hasNews = true;
    this.#writeSoon();
  }

  override backedOff(provider: string, backoff: Backoff): void {
    super.backedOff(provider, backoff);
    this.#hasNews = true;
    this.#writeSoon();
  }

  override backoff(provider: string): Backoff | null {
    const now = this.#options.clock.now();
    return this.#others
      .flatMap(({ backoffs }) => backoffs[provider] ?? [])
      .filter(({ until }) => until > now)
      .reduce<Backoff | null>(
        (latest, other) => (latest === null || other.until > latest.until ? other : latest),
        super.backoff(provider),
      );
  }

  /** Reads the records of other processes, and keeps reading them periodically. Never rejects. */
  async load(): Promise<void> {
    const { store, clock } = this.#options;
    try {
      const ids = new Set(await store.read(PROCESSES, { limit: MOST_PROCESSES }));
      ids.delete(this.#id);
      const texts = await Promise.all([...ids].map((id) => store.read(keyOf(id), { limit: 1 })));
      this.#others = texts.flatMap(([text]) => published(text) ?? []);
    } catch {
      // The store is unavailable, so the last records read are still used.
    }
    if (this.#closed) return;
    this.#stopReading?.();
    this.#stopReading = clock.after(READ_MS, () => void this.load(), { background: true });
  }

  /** Writes the changes. Never rejects: if the store is unavailable, the next flush tries again. */
  async flush(): Promise<void> {
    const { store, clock } = this.#options;
    this.#hasNews = false;
    try {
      await store.append(keyOf(this.#id), this.#text(), { max: 1, ttlMs: KEEP_MS });
      if (clock.elapsed() - this.#enteredAt < ENTER_MS) return;
      await store.append(PROCESSES, this.#id, { max: MOST_PROCESSES, ttlMs: KEEP_MS });
      this.#enteredAt = clock.elapsed();
    } catch {
      this.#hasNews = true;
      this.#writeSoon();
    }
  }

  /** Writes the remaining changes, and stops reading. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopWatching();
    this.#stopReading?.();
    this.#stopWriting?.();
    if (this.#hasNews) await this.flush();
  }

  /** Returns the calls of all processes. */
  protected override calls(key: string): HealthCalls {
    const all = [super.calls(key), ...this.#others.flatMap(({ calls }) => calls[key] ?? [])];
    if (all.length === 1) return all[0]!;
    return {
      total: all.reduce((sum, { total }) => sum + total, 0),
      success: all.reduce((sum, { success }) => sum + success, 0),
      provider: all
        .flatMap(({ provider }) => (provider === null ? [] : [provider]))
        .reduce<HealthCalls['provider']>(
          (last, provider) => (last === null || provider[1] > last[1] ? provider : last),
          null,
        ),
      samples: all
        .flatMap(({ samples }) => samples)
        .sort((a, b) => a.at - b.at)
        .slice(-this.#options.size),
    };
  }

  #text(): string {
    const calls: [string, HealthCalls][] = [];
    let samples = 0;
    for (const entry of [...this.own].reverse()) {
      samples += entry[1].samples.length;
      if (samples > MOST_SAMPLES) break;
      calls.push(entry);
    }
    return JSON.stringify({
      calls: Object.fromEntries(calls),
      backoffs: Object.fromEntries(this.backoffs),
    });
  }

  #writeSoon(): void {
    if (this.#closed) return;
    this.#stopWriting ??= this.#options.clock.after(
      WRITE_MS,
      () => {
        this.#stopWriting = undefined;
        void this.flush();
      },
      { background: true },
    );
  }
}

/**
 * Parses the record of a process. Returns `undefined` if the record is damaged or comes from
 * another version.
 */
function published(text: string | undefined): Published | undefined {
  try {
    return publishedSchema().parse(JSON.parse(text ?? ''));
  } catch {
    return undefined;
  }
}

function keyOf(id: string): string {
  return `health:${id}`;
}
