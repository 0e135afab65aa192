import { Listeners } from '../core/listeners.js';

interface Channel {
  readonly listeners: Listeners<string>;
  count: number;
}

/** The listeners of each channel. */
export class ChannelListeners {
  readonly #channels = new Map<string, Channel>();

  /** The channels that have listeners. */
  get channels(): readonly string[] {
    return [...this.#channels.keys()];
  }

  has(channel: string): boolean {
    return this.#channels.has(channel);
  }

  /** Adds a listener. @returns a function that removes it; calling it again changes nothing. */
  add(name: string, listener: (message: string) => void): () => void {
    const channel = this.#channels.get(name) ?? { listeners: new Listeners<string>(), count: 0 };
    this.#channels.set(name, channel);
    channel.count += 1;
    const remove = channel.listeners.add(listener);
    let listens = true;
    return () => {
      if (!listens) return;
      listens = false;
      remove();
      channel.count -= 1;
      if (channel.count === 0 && this.#channels.get(name) === channel) this.#channels.delete(name);
    };
  }

  tell(channel: string, message: string): void {
    this.#channels.get(channel)?.listeners.tell(message);
  }

  clear(): void {
    this.#channels.clear();
  }
}
