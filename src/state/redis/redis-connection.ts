/** What is used of a client of the package `redis` 5. */
export interface RedisClient {
  on(event: string, listener: (...args: never[]) => void): unknown;
  connect(): Promise<unknown>;
  destroy(): void;
  ref(): void;
  unref(): void;
  sendCommand(args: readonly string[]): Promise<unknown>;
  subscribe(channels: readonly string[], listener: (message: string, channel: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
}

/** Makes a client that is not yet connected, with these settings put over its own. */
export type MakeRedisClient = (settings: RedisClientSettings) => RedisClient;

export interface RedisClientSettings {
  readonly connectTimeout: number;
  readonly reconnectStrategy: (retries: number, cause: Error) => false;
}

/**
 * One life of a connection: it opens once, and when it is lost or ended it is never used again.
 *
 * The client's own reconnection is switched off: it keeps waiting on a server that accepts connections and then says
 * nothing, holds the process alive between attempts, and cannot be told to give up a connection that fell silent.
 */
export class RedisConnection {
  readonly #client: RedisClient;
  #phase: 'new' | 'dialling' | 'open' | 'ended' = 'new';

  /** @param onLost is called once, with the cause, when the connection breaks by itself. */
  constructor(make: MakeRedisClient, dialTimeoutMs: number, onLost: (cause: unknown) => void) {
    const lost = (cause: unknown) => {
      if (this.#phase === 'ended') return;
      this.end();
      onLost(cause);
    };
    this.#client = make({
      connectTimeout: dialTimeoutMs,
      reconnectStrategy: (_, cause) => {
        // The client lets go of everything only if it is destroyed before it considers itself closed: that is now.
        this.#phase = this.#phase === 'dialling' ? 'open' : this.#phase;
        lost(cause);
        return false;
      },
    });
    this.#client.on('error', lost);
    this.#client.on('end', () => lost(undefined));
    this.#client.on('connect', () => {
      if (this.#phase === 'dialling') this.#phase = 'open';
      if (this.#phase === 'open') this.#client.ref();
      else this.#destroy();
    });
  }

  /** @throws what kept it from connecting. */
  async open(): Promise<void> {
    this.#phase = 'dialling';
    // An attempt alone does not keep the process from exiting.
    this.#client.unref();
    await this.#client.connect();
  }

  send(args: readonly string[]): Promise<unknown> {
    return this.#client.sendCommand(args);
  }

  // The client would keep these for a connection that never comes.
  async subscribe(channels: readonly string[], listener: (message: string, channel: string) => void): Promise<void> {
    this.#refuseEnded();
    await this.#client.subscribe(channels, listener);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#refuseEnded();
    await this.#client.unsubscribe(channel);
  }

  /** Drops the connection at once; what was not answered is rejected. */
  end(): void {
    const open = this.#phase === 'open';
    this.#phase = 'ended';
    // A socket that still dials is out of the client's reach and would stay open: 'connect' ends it, or its time limit.
    if (open) this.#destroy();
  }

  #refuseEnded(): void {
    if (this.#phase !== 'open') throw new Error('the connection is closed');
  }

  #destroy(): void {
    try {
      this.#client.destroy();
    } catch {
      // It is closed already.
    }
  }
}
