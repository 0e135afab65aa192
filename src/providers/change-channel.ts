import type { StateStore } from '../state/state-store.js';

/** Tells other processes which key of a store has changed, and hears of the keys that they change. */
export class ChangeChannel {
  readonly #store: StateStore;
  readonly #name: string;
  readonly #writer: string;
  readonly #onChange: (key: string) => void;
  #listening: Promise<() => Promise<void>> | undefined;

  /** @param writer tells this process from all others: it does not hear of its own changes. */
  constructor(store: StateStore, name: string, writer: string, onChange: (key: string) => void) {
    this.#store = store;
    this.#name = name;
    this.#writer = writer;
    this.#onChange = onChange;
  }

  get isListening(): boolean {
    return this.#listening !== undefined;
  }

  /** Listens from now on. Rejects if the store refuses that, which it can for a moment: the next call tries again. */
  async listen(): Promise<void> {
    this.#listening ??= this.#store.subscribe(this.#name, (message) => this.#hear(message));
    await this.#listening.catch((error: unknown) => {
      this.#listening = undefined;
      throw error;
    });
  }

  async announce(key: string): Promise<void> {
    await this.#store.publish(this.#name, JSON.stringify([this.#writer, key]));
  }

  /** Stops listening. Never rejects. */
  async close(): Promise<void> {
    await this.#listening?.then((end) => end()).catch(() => undefined);
  }

  #hear(message: string): void {
    try {
      const [writer, key] = JSON.parse(message) as readonly unknown[];
      if (writer !== this.#writer && typeof key === 'string') this.#onChange(key);
    } catch {
      // The message came from another program.
    }
  }
}
