import type { Clock } from '../core/clock.js';
import { randomUUID } from '../core/crypto.js';
import { storeKey } from '../state/state-arguments.js';
import type { StateStore } from '../state/state-store.js';
import { ChangeChannel } from './change-channel.js';
import { MOST_RETRY_AFTER_MS } from './run-attempt.js';

/**
 * The state of a provider that processes share; durations count by the store's clock, because their own differ. Each
 * process judges by its own other providers.
 */
export type SharedState =
  | { readonly kind: 'available' }
  | {
      readonly kind: 'backing-off' | 'half-open';
      readonly failures: number;
      /** The duration of the backoff, or of the lease of the call that tries the provider out. */
      readonly durationMs: number;
      readonly binding: boolean;
    };

/** One provider as its state is shared. */
interface SharedProvider {
  /** The name under which its calls are counted, and its state is shared. */
  readonly healthName: string;
  shared: SharedBackoff | undefined;
  /** Returns the state here and now. */
  sharedState(): SharedState;
  /** Takes over a state that another process reported. */
  adopt(state: SharedState): void;
}

/** The time for which a state is remembered without a change; after it the provider counts as available. */
const KEEP_MS = 600_000;
/** The interval at which the state of a provider that is left alone is read. */
const LOOK_MS = 1_000;
/** The attempts at a write. A lost race means that another process was faster, whose state is then taken over. */
const MOST_RACES = 5;

/**
 * Agrees with other processes on the state of one provider, as one text in the store that only changes by
 * `compareAndSet`.
 *
 * Every text is written only once, so that a process that replaces the last one has seen all that happened: if many try
 * to turn the same backoff into a probe, exactly one succeeds. The text of a probe expires by itself, because processes
 * die. A state that the store does not take stays pending; meanwhile this process goes on alone.
 */
export class SharedBackoff {
  readonly #sync: RouterSync;
  readonly #slot: SharedProvider;
  readonly #key: string;
  /** The text that the store is believed to hold. */
  #known: string | undefined;
  #counter = 0;
  #readAt = -Infinity;
  #toWrite = false;
  /** A reading or writing that has not begun. */
  #next: Promise<void> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(sync: RouterSync, slot: SharedProvider, key: string) {
    this.#sync = sync;
    this.#slot = slot;
    this.#key = key;
  }

  /** Writes the changed state to the store, in the background. */
  changed(): void {
    this.#toWrite = true;
    void this.refresh();
  }

  /** Reads the state, which may have changed elsewhere, or writes what is pending when the store is back. Never rejects. */
  refresh(): Promise<void> {
    return (this.#next ??= this.#alone(async () => {
      this.#next = undefined;
      const toWrite = this.#toWrite;
      this.#toWrite = false;
      try {
        await (toWrite ? this.#write() : this.#reread());
      } catch {
        this.#toWrite ||= toWrite;
      }
    }));
  }

  /**
   * Reads if the last second passed without reading: the process that should have announced a change may have died
   * before.
   */
  look(): void {
    const now = this.#sync.clock.elapsed();
    if (now - this.#readAt < LOOK_MS) return;
    this.#readAt = now;
    void this.refresh();
  }

  /** Settles when everything asked for so far is done, or cannot be; never rejects. */
  async settled(): Promise<void> {
    await this.#last;
  }

  /**
   * Asks for the right to try the provider out.
   *
   * Resolves to true if it is granted, or there is no store to ask. Otherwise another process was faster, and its state
   * has been adopted.
   */
  claim(probe: Exclude<SharedState, { kind: 'available' }>): Promise<boolean> {
    return this.#alone(() => this.#claim(probe)).catch(() => true);
  }

  async #claim(probe: Exclude<SharedState, { kind: 'available' }>): Promise<boolean> {
    const next = this.#encode(probe, await timeOf(this.#sync.store));
    for (let race = 0; race < MOST_RACES; race += 1) {
      if (await this.#replace(next, probe.durationMs)) return true;
      const current = await this.#read();
      this.#known = current.text;
      // The state has expired, or the store lost it. The first process to write may try.
      if (current.state === undefined) continue;
      this.#adopt(current.state);
      break;
    }
    return false;
  }

  /** Runs one operation after the other: two that overlap would each undo what the other knows of the store. */
  #alone<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => {});
    return result;
  }

  async #reread(): Promise<void> {
    const { text, state } = await this.#read();
    // A pending write decides itself about the states that others wrote.
    if (this.#toWrite || text === this.#known || state === undefined) return;
    this.#known = text;
    this.#adopt(state);
  }

  async #write(): Promise<void> {
    for (let race = 0; race < MOST_RACES; race += 1) {
      const at = await timeOf(this.#sync.store);
      const own = this.#slot.sharedState();
      if (await this.#replace(this.#encode(own, at), KEEP_MS)) return;
      const { text, state } = await this.#read();
      this.#known = text;
      // Two processes that fail together have seen one failure; a provider that answered here is available, whatever
      // others saw before.
      if (state === undefined || state.kind === 'available' || own.kind === 'available') continue;
      // A backoff that the service asked for outlasts a failure without such a wish.
      if (own.binding && !state.binding) continue;
      this.#adopt(state);
      return;
    }
  }

  /** Takes over a state of others, which makes a pending write obsolete. */
  #adopt(state: SharedState): void {
    this.#toWrite = false;
    this.#slot.adopt(state);
  }

  async #replace(next: string, ttlMs: number): Promise<boolean> {
    if (!(await this.#sync.store.compareAndSet(this.#key, this.#known, next, { ttlMs })))
      return false;
    this.#known = next;
    // A process that misses the message finds out at its next look.
    await this.#sync.channel.announce(this.#key).catch(() => {});
    return true;
  }

  #read(): Promise<StoredState> {
    this.#readAt = this.#sync.clock.elapsed();
    return readProviderState(this.#sync.store, this.#key, this.#sync.mostMs);
  }

  #encode(state: SharedState, at: number | undefined): string {
    return JSON.stringify({
      v: 2,
      by: `${this.#sync.writer}/${(this.#counter += 1)}`,
      at,
      ...state,
    });
  }
}

interface StoredState {
  readonly text: string | undefined;
  /** The state; `undefined` without a text. */
  readonly state: SharedState | undefined;
}

/** The channel on which routers announce the key that has changed. */
export const PROVIDER_CHANNEL = 'providers';

/** Returns the key under which the state of a provider is shared: the one of its health's name. */
export function providerKey(name: string): string {
  return storeKey('provider', name);
}

/** Reads the state of a provider, less the time that has passed since it was written. */
export async function readProviderState(
  store: StateStore,
  key: string,
  mostMs: number,
): Promise<StoredState> {
  const text = await store.get(key);
  if (text === undefined) return { text, state: undefined };
  const { state, at } = decode(text, mostMs);
  if (state.kind === 'available' || at === undefined) return { text, state };
  const passedMs = Math.max(0, ((await timeOf(store)) ?? at) - at);
  return { text, state: { ...state, durationMs: Math.max(0, state.durationMs - passedMs) } };
}

/** Returns the store's time; `undefined` if it does not tell: durations then count from when they are read. */
async function timeOf(store: StateStore): Promise<number | undefined> {
  try {
    return (await store.now()).time;
  } catch {
    return undefined;
  }
}

/**
 * Returns the state in a text; an unreadable one, of another version or damaged, counts as available, so that it locks
 * no call out.
 */
function decode(
  text: string,
  mostMs: number,
): { readonly state: SharedState; readonly at?: number } {
  try {
    const { v, kind, failures, durationMs, binding, at } = JSON.parse(text) as Record<
      string,
      unknown
    >;
    if (
      v === 2 &&
      (kind === 'backing-off' || kind === 'half-open') &&
      Number.isSafeInteger(failures) &&
      (failures as number) >= 0 &&
      typeof durationMs === 'number' &&
      durationMs >= 0
    ) {
      const most =
        binding === true && kind === 'backing-off' ? Math.max(mostMs, MOST_RETRY_AFTER_MS) : mostMs;
      const state = {
        kind,
        failures: failures as number,
        durationMs: Math.min(durationMs, most),
        binding: binding === true,
      } as const;
      return typeof at === 'number' ? { state, at } : { state };
    }
  } catch {
    // An unreadable state counts as available.
  }
  return { state: { kind: 'available' } };
}

/** The interval at which a refused subscription is tried again. */
const LISTEN_AGAIN_MS = 1_000;

/** Joins the providers of one tool with those of the same tool in other processes. */
export class RouterSync {
  readonly store: StateStore;
  readonly clock: Clock;
  /** The upper bound of every backoff and lease in milliseconds, whatever the store says; a service may ask for more. */
  readonly mostMs: number;
  /** The name that tells this process from all others. */
  readonly writer = randomUUID();
  readonly channel: ChangeChannel;
  /** The shared states, by the keys of the store. */
  readonly #parts: ReadonlyMap<string, SharedBackoff>;
  #ready: Promise<void> | undefined;
  #stopWatching = () => {};
  #triedAt = 0;
  #closed = false;

  constructor(store: StateStore, clock: Clock, mostMs: number, slots: readonly SharedProvider[]) {
    this.store = store;
    this.clock = clock;
    this.mostMs = mostMs;
    this.channel = new ChangeChannel(
      store,
      PROVIDER_CHANNEL,
      this.writer,
      (key) => void this.#parts.get(key)?.refresh(),
    );
    this.#parts = new Map(
      slots.map((slot) => {
        const key = providerKey(slot.healthName);
        return [key, (slot.shared = new SharedBackoff(this, slot, key))];
      }),
    );
  }

  /** Settles when other processes have been heard once, or cannot be; never rejects. */
  ready(): Promise<void> {
    if (this.#ready === undefined) return (this.#ready = this.#start());
    // A store can refuse a subscription for a moment without ever calling itself unavailable.
    if (!this.channel.isListening && this.clock.elapsed() - this.#triedAt >= LISTEN_AGAIN_MS)
      void this.#refresh();
    return this.#ready;
  }

  /** Writes what is still pending, and stops listening. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#parts.values()].map((part) => part.settled()));
    this.#stopWatching();
    await this.channel.close();
  }

  async #start(): Promise<void> {
    if (this.#closed) return;
    this.#stopWatching = this.store.onAvailability(
      (available) => void (available && this.#refresh()),
    );
    await this.#refresh();
  }

  /** Listens first and then reads, so that no change between the two is missed. */
  async #refresh(): Promise<void> {
    if (!this.#closed) {
      this.#triedAt = this.clock.elapsed();
      // The next attempt comes when the store is back, and with later calls.
      await this.channel.listen().catch(() => {});
    }
    await Promise.all([...this.#parts.values()].map((part) => part.refresh()));
  }
}
