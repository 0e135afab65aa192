import { z } from 'zod';
import { randomUUID } from '../core/crypto.js';
import { isToolError } from '../core/errors.js';
import { anObject, checkOptions, once, text, type FieldsOf } from '../core/options.js';
import { storeKey } from '../state/state-arguments.js';
import type { StateStore } from '../state/state-store.js';
import { ChangeChannel } from './change-channel.js';
import {
  addedTo,
  boundedParts,
  callsSince,
  datedBy,
  decodeParts,
  encodeParts,
  hasMore,
  joinedParts,
  laterThan,
  NO_PART,
  windowOf,
  type HealthPart,
  type HealthParts,
} from './health-parts.js';
import {
  healthFields,
  healthKey,
  HealthReader,
  NO_CALLS,
  requireRecord,
  withCall,
  type HealthCalls,
  type HealthLog,
  type HealthRecord,
  type RollingHealthOptions,
} from './rolling-health.js';
import { MOST_RETRY_AFTER_MS } from './run-attempt.js';
import { PROVIDER_CHANNEL, providerKey, readProviderState } from './shared-backoff.js';

/** The options of a shared health log. */
interface SharedHealthOptions extends RollingHealthOptions {
  /** The store of all processes that share the log. */
  readonly store: StateStore;
  /** A name for what this process writes, for operators who read the store; several processes may have the same. @default none */
  readonly writer?: string;
}

type Backoff = NonNullable<ReturnType<NonNullable<HealthLog['backoff']>>>;

interface Entry {
  /** The parts of all processes as known here, with the calls that this one is about to write. */
  parts: HealthParts;
  /** All parts as one, dated by this process's clock. */
  window: HealthCalls;
  /** The part that this process adds to, and what the store is known to have of it. */
  id: string;
  written: HealthPart;
  /** The calls recorded since, dated by this process's clock. */
  fresh: HealthCalls;
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

const optionsSchema = once(() =>
  z.strictObject({
    ...healthFields(),
    store: anObject<StateStore>('a StateStore'),
    writer: text().optional(),
  } satisfies FieldsOf<SharedHealthOptions>),
);

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
export class SharedHealth extends HealthReader implements HealthLog {
  readonly #options: z.output<ReturnType<typeof optionsSchema>>;
  readonly #label: string;
  readonly #channel: ChangeChannel;
  /** Hears of the backoffs of providers. */
  readonly #providers: ChangeChannel;
  /** The entries by the keys of the store, like the backoffs and the keys that are still to be read or written. */
  readonly #entries = new Map<string, Entry>();
  readonly #backoffs = new Map<string, Backoff>();
  readonly #toSync = new Set<string>();
  /** Says that names recorded only by others are kept, too, and that the store is still to be asked for its names. */
  #followsAll = false;
  #toList = false;
  #stopWatching: (() => void) | undefined;
  /** The time by which the store's clock is ahead, and a sign that it is to be asked before the next write. */
  #skewMs = 0;
  #isSkewOld = true;
  #stopTimer: (() => void) | undefined;
  #flushing: Promise<void> | undefined;
  #closed = false;

  constructor(options: SharedHealthOptions) {
    super();
    this.#options = checkOptions(optionsSchema, options, 'options of SharedHealth');
    const { store, writer } = this.#options;
    this.#label = writer === undefined ? '' : `${writer.slice(0, LONGEST_LABEL)} `;
    const [process, hear] = [randomUUID(), (key: string) => this.#hear(key)];
    this.#channel = new ChangeChannel(store, CHANNEL, process, hear);
    this.#providers = new ChangeChannel(store, PROVIDER_CHANNEL, process, hear);
  }

  /** Adds one call. @throws ToolError `INVALID_ARGUMENT` for a wrong record. */
  record(record: HealthRecord): void {
    requireRecord(record);
    const key = keyOf(record.kind, record.name);
    const entry = this.#entries.get(key) ?? this.#newEntry();
    this.#keep(key, entry);
    entry.fresh = withCall(entry.fresh, record, this.#options.clock.now(), this.#options.size);
    this.#isSkewOld = true;
    this.#syncSoon(key);
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
    const waited = new Promise<void>(
      (resolve) => (stopTimer = this.#options.clock.after(LOAD_MS, resolve)),
    );
    await Promise.race([this.flush(), waited]);
    stopTimer?.();
  }

  /** Reads the stored health of a name now, even if this process never recorded it; without the store nothing changes. */
  async refresh(kind: HealthRecord['kind'], name: string): Promise<void> {
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
    this.#stopWatching?.();
    await Promise.all([this.#channel.close(), this.#providers.close()]);
  }

  /** Keeps an entry as the one used last; if there are too many, one without calls to write gives way, if there is one. */
  #keep(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= this.#options.maxKeys) return;
    for (const [oldest, { fresh, parts, id, written }] of this.#entries)
      if (fresh === NO_CALLS && (parts.get(id) ?? NO_PART).total <= written.total)
        return void this.#entries.delete(oldest);
    this.#entries.delete(this.#entries.keys().next().value!);
  }

  #newEntry(): Entry {
    return {
      parts: new Map(),
      window: NO_CALLS,
      id: this.#newId(),
      written: NO_PART,
      fresh: NO_CALLS,
    };
  }

  /** An id for a part; no two parts ever have the same. */
  #newId(): string {
    return `${this.#label}${randomUUID()}`;
  }

  protected calls(kind: HealthRecord['kind'], name: string): HealthCalls {
    const entry = this.#entries.get(keyOf(kind, name));
    if (entry === undefined || entry.fresh === NO_CALLS) return entry?.window ?? NO_CALLS;
    const calls = addedTo({ ...NO_PART, ...entry.window }, entry.fresh);
    return { ...calls, samples: calls.samples.slice(-this.#options.size) };
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
    this.#stopTimer ??= this.#options.clock.after(FLUSH_MS, flush, { background: true });
  }

  async #flushAll(): Promise<void> {
    try {
      if (!this.#closed) await this.#listen();
      if (this.#isSkewOld) await this.#compareClocks();
      if (this.#toList) await this.#list();
      const keys = [...this.#toSync];
      for (let index = 0; index < keys.length; index += SYNCED_AT_ONCE) {
        const ends = await Promise.allSettled(
          keys.slice(index, index + SYNCED_AT_ONCE).map((key) => this.#sync(key)),
        );
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
      }
    } catch {
      // The store is gone: everything stays as it is and is tried again, not name by name.
      this.#flushSoon();
    }
  }

  async #compareClocks(): Promise<void> {
    try {
      const { time } = await this.#options.store.now();
      const skewMs = Math.round(time - this.#options.clock.now());
      if (Math.abs(skewMs - this.#skewMs) > TRAVEL_MS) this.#skewMs = skewMs;
    } catch (error) {
      // A Redis that does not tell its identity has a time, but does not tell that either: this process's has to do.
      if (!isToolError(error, 'STATE_UNAVAILABLE') || error.details['reason'] !== 'no_identity')
        throw error;
    }
    this.#isSkewOld = false;
  }

  async #list(): Promise<void> {
    for (const prefix of ['health:', 'provider:'])
      for (const key of await this.#options.store.list(
        prefix,
        Math.min(this.#options.maxKeys, MOST_LISTED),
      ))
        this.#toSync.add(key);
    this.#toList = false;
  }

  async #sync(key: string): Promise<void> {
    // Before reading: a change during it is read again.
    this.#toSync.delete(key);
    try {
      if (key.startsWith('provider:'))
        return this.#leaveAlone(
          key,
          (await readProviderState(this.#options.store, key, MOST_RETRY_AFTER_MS)).state,
        );
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
    const text = await this.#options.store.get(key);
    const stored = decodeParts(text);
    if (stored.size === 0 && !this.#entries.has(key)) return true;
    const entry = this.#entries.get(key) ?? this.#newEntry();
    this.#merge(entry, stored);
    this.#keep(key, entry);
    const { parts } = entry;
    if (!hasMore(parts, stored)) return true;
    if (
      !(await this.#options.store.compareAndSet(key, text, encodeParts(parts), { ttlMs: KEEP_MS }))
    )
      return false;
    entry.written = parts.get(entry.id) ?? NO_PART;
    await this.#channel.announce(key);
    return true;
  }

  /** Joins the stored parts with those known here and the calls recorded since. */
  #merge(entry: Entry, stored: HealthParts): void {
    const own = entry.parts.get(entry.id);
    const parts = joinedParts(entry.parts, stored);
    entry.written = stored.get(entry.id) ?? entry.written;
    let added: HealthCalls = datedBy(entry.fresh, this.#skewMs);
    if (own === undefined || !parts.has(entry.id)) {
      // Not begun yet, or folded since: what was not written by then begins another part.
      if (own !== undefined) added = addedTo(callsSince(own, entry.written), added);
      Object.assign(entry, { id: this.#newId(), written: NO_PART });
    }
    const before = parts.get(entry.id) ?? NO_PART;
    const next = addedTo(before, added);
    if (next.total > entry.written.total)
      parts.set(entry.id, {
        ...next,
        seen: laterThan(parts, this.#options.clock.now() + this.#skewMs),
      });
    entry.parts = boundedParts(parts, this.#options.size);
    entry.window = datedBy(windowOf(entry.parts, this.#options.size), -this.#skewMs);
    entry.fresh = NO_CALLS;
  }

  #leaveAlone(key: string, state: Awaited<ReturnType<typeof readProviderState>>['state']): void {
    this.#backoffs.delete(key);
    if (
      state === undefined ||
      state.kind === 'available' ||
      this.#backoffs.size >= this.#options.maxKeys
    )
      return;
    this.#backoffs.set(
      key,
      Object.freeze({
        failures: state.failures,
        until: state.kind === 'backing-off' ? this.#options.clock.now() + state.durationMs : null,
      }),
    );
  }

  /** Listens first and then reads, so that no change between the two is missed. */
  async #listen(): Promise<void> {
    this.#stopWatching ??= this.#options.store.onAvailability(
      (available) => available && this.#readAgain(),
    );
    await this.#channel.listen();
    if (this.#followsAll) await this.#providers.listen();
  }

  /** Marks all names as unread: no change was heard while the store was away. */
  #readAgain(): void {
    this.#toList = this.#followsAll;
    this.#isSkewOld = true;
    for (const key of [...this.#entries.keys(), ...this.#backoffs.keys()]) this.#toSync.add(key);
    this.#flushSoon();
  }

  #hear(key: string): void {
    if (this.#entries.has(key) || (this.#followsAll && /^(?:health|provider):/.test(key)))
      this.#syncSoon(key);
  }
}

function keyOf(kind: HealthRecord['kind'], name: string): string {
  return storeKey('health', healthKey(kind, name));
}
