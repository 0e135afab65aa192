import { ChannelListeners } from '../channel-listeners.js';
import type { RedisConnection } from './redis-connection.js';

/** Channels in one command: a command with all of many thousands would hold up the others. */
const CHANNELS_AT_ONCE = 1_000;

/** Who listens to which channel of Redis, whichever connection the messages come by. */
export class RedisSubscriptions {
  readonly #listeners = new ChannelListeners();
  /** Channels that a connection was asked for, and when it confirmed. */
  readonly #confirmed = new Map<string, Promise<void>>();
  #connection: RedisConnection | undefined;

  /** Asks a new connection for all channels. */
  async attach(connection: RedisConnection): Promise<void> {
    this.#connection = connection;
    this.#confirmed.clear();
    const { channels } = this.#listeners;
    const parts = Array.from({ length: Math.ceil(channels.length / CHANNELS_AT_ONCE) }, (_, index) => channels.slice(index * CHANNELS_AT_ONCE, (index + 1) * CHANNELS_AT_ONCE));
    await Promise.all(parts.map((part) => this.#ask(connection, part)));
  }

  /** @returns `ready`, which settles when the present connection, if any, has confirmed; and how to stop. */
  add(channel: string, listener: (message: string) => void): { readonly ready: Promise<void>; readonly remove: () => Promise<void> } {
    const stop = this.#listeners.add(channel, listener);
    const ready = this.#confirmed.get(channel) ?? (this.#connection === undefined ? Promise.resolve() : this.#ask(this.#connection, [channel]));
    const remove = async () => {
      stop();
      if (this.#listeners.has(channel) || !this.#confirmed.delete(channel)) return;
      // Nobody listens any more, whatever comes of this.
      await this.#connection?.unsubscribe(channel).catch(() => undefined);
    };
    return { ready, remove };
  }

  clear(): void {
    this.#connection = undefined;
    this.#listeners.clear();
    this.#confirmed.clear();
  }

  #ask(connection: RedisConnection, channels: readonly string[]): Promise<void> {
    const confirmed = connection.subscribe(channels, (message, channel) => this.#listeners.tell(channel, message));
    for (const channel of channels) this.#confirmed.set(channel, confirmed);
    confirmed.catch(() => {
      for (const channel of channels) if (this.#confirmed.get(channel) === confirmed) this.#confirmed.delete(channel);
    });
    return confirmed;
  }
}
