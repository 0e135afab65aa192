import type { Clock } from '../core/clock.js';
import type { StateStore } from '../state/state-store.js';
import type { ProviderSlot } from './provider-slot.js';
import { SharedBackoff } from './shared-backoff.js';
import { storeKey } from './store-key.js';

export interface RouterSyncOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly toolName: string;
  readonly slots: readonly ProviderSlot[];
  readonly writer: string;
  readonly mostMs: number;
}

/** How often listening is tried that was refused. */
const RETRY_MS = 1_000;

/** Joins the providers of one tool with those of the same tool in other processes. */
export class RouterSync {
  readonly #options: RouterSyncOptions;
  readonly #channel: string;
  readonly #parts: ReadonlyMap<string, SharedBackoff>;
  #ready: Promise<void> | undefined;
  #ends: (() => void | Promise<void>)[] = [];
  #subscribing = false;
  #triedAt = 0;
  #subscribed = false;
  #closed = false;

  constructor(options: RouterSyncOptions) {
    const { store, clock, toolName, slots, writer, mostMs } = options;
    this.#options = options;
    this.#channel = storeKey('providers', toolName);
    // With the tool's name: providers of two tools that happen to be called alike are not one service.
    const parts = slots.map((slot): [string, SharedBackoff] => {
      const announce = () => store.publish(this.#channel, JSON.stringify([writer, slot.identity]));
      const key = storeKey('provider', `${toolName}/${slot.identity}`);
      slot.shared = new SharedBackoff({ store, clock, key, writer, mostMs, current: () => slot.sharedState(), adopt: (state) => slot.adopt(state), announce });
      return [slot.identity, slot.shared];
    });
    this.#parts = new Map(parts);
  }

  /** Settles when other processes have been heard once, or cannot be; never rejects. */
  ready(): Promise<void> {
    if (this.#ready === undefined) return (this.#ready = this.#start());
    // A store can refuse to be listened to for a moment without ever calling itself unavailable.
    if (!this.#subscribed && this.#options.clock.elapsed() - this.#triedAt >= RETRY_MS) void this.#refresh();
    return this.#ready;
  }

  /** Tells what is still to be told, and stops listening. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#parts.values()].map((part) => part.settled()));
    await Promise.allSettled(this.#ends.splice(0).map(async (end) => end()));
  }

  async #start(): Promise<void> {
    if (this.#closed) return;
    this.#ends.push(this.#options.store.onAvailability((available) => void (available && this.#refresh())));
    await this.#refresh();
  }

  /** Listens, and only then reads: what changes between the two is heard. */
  async #refresh(): Promise<void> {
    await this.#listen();
    await Promise.all([...this.#parts.values()].map((part) => part.refresh()));
  }

  async #listen(): Promise<void> {
    if (this.#subscribed || this.#subscribing || this.#closed) return;
    this.#subscribing = true;
    this.#triedAt = this.#options.clock.elapsed();
    try {
      const end = await this.#options.store.subscribe(this.#channel, (message) => this.#hear(message));
      this.#subscribed = true;
      this.#ends.push(end);
      if (this.#closed) await this.close();
    } catch {
      // Tried again when the store is back, and with later calls.
    }
    this.#subscribing = false;
  }

  #hear(message: string): void {
    try {
      const [writer, identity] = JSON.parse(message) as readonly unknown[];
      if (writer !== this.#options.writer) void this.#parts.get(String(identity))?.refresh();
    } catch {
      // A message of somebody else.
    }
  }
}
