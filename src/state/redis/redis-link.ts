import { systemClock, type Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';

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

export interface RedisLinkOptions {
  readonly makeClient: MakeRedisClient;
  /** How long a command may take. */
  readonly timeoutMs: number;
  /** What each new connection needs before it is used. */
  readonly prepare?: (connection: RedisConnection) => Promise<unknown>;
  /** Is told of every change between up and not. */
  readonly onChange: () => void;
  /** Its timers should not keep the process alive. */
  readonly clock?: Clock;
}

type LinkState =
  | { readonly kind: 'down'; readonly why: string }
  | { readonly kind: 'connecting'; readonly connection: RedisConnection; readonly why: string }
  /** Connected, but not known to answer in time. */
  | { readonly kind: 'doubted'; readonly connection: RedisConnection; readonly why: string }
  | { readonly kind: 'up'; readonly connection: RedisConnection }
  | { readonly kind: 'closed' };

/** Commands without an answer: more would only wait. */
const MOST_PENDING = 1_000;
/** How often the connection is looked at, and tried again, while it does not answer. */
const RETRY_MS = 500;
/** How often while all is well: else a connection that fell silent is found only by the next command. */
const HEARTBEAT_MS = 1_000;
/** An attempt to connect, or a ping, that takes longer is given up for a new connection; the operating system would wait for minutes. */
const GIVE_UP_MS = 2_000;

const backgroundClock: Clock = {
  ...systemClock,
  after: (ms, call) => {
    const timer = setTimeout(call, ms).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * A connection that is kept: commands answer in time or are refused, and it comes back by itself.
 *
 * It is up while it answers pings in time. A command that does not answer puts it in doubt: from then on commands are
 * refused at once, until a ping is answered in time again.
 */
export class RedisLink {
  readonly #options: RedisLinkOptions;
  readonly #clock: Clock;
  #state: LinkState = { kind: 'down', why: 'not connected yet' };
  #pending = 0;
  #cancelCheck: () => void = () => undefined;
  #pinged: { readonly connection: RedisConnection; readonly at: number } | undefined;
  #triedAt = -Infinity;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    this.#clock = options.clock ?? backgroundClock;
  }

  get up(): boolean {
    return this.#state.kind === 'up';
  }

  /** Connects, now and whenever it is lost. Settles when the first attempt has succeeded or failed. */
  async start(): Promise<void> {
    await this.#connect();
  }

  /**
   * Runs commands on the connection; all of them together have the time of one.
   *
   * @param commands is handed whether its time is over: nothing is sent any more for a caller that has gone.
   */
  async run<T>(commands: (connection: RedisConnection, isOver: () => boolean) => Promise<T>): Promise<T> {
    const state = this.#state;
    if (state.kind === 'closed') throw unavailable('closed', 'expected an open state store, found a closed one; use it before close()', false);
    if (state.kind !== 'up') throw unavailable('not_connected', `expected a connection to Redis, found none (${state.why}); it is tried again every ${RETRY_MS} ms`, false);
    if (this.#pending >= MOST_PENDING) throw unavailable('busy', `expected at most ${MOST_PENDING} operations at once, found more; wait for some of them first`, false);
    this.#pending += 1;
    let over = false;
    const reply = commands(state.connection, () => over).finally(() => (this.#pending -= 1));
    try {
      return await this.#inTime(reply, this.#options.timeoutMs);
    } catch (error) {
      throw this.#explain(error, state.connection);
    } finally {
      over = true;
    }
  }

  /** Ends the connection and all attempts; commands without an answer are refused. */
  close(): void {
    const state = this.#state;
    this.#state = { kind: 'closed' };
    this.#cancelCheck();
    if ('connection' in state) state.connection.end();
  }

  #explain(error: unknown, connection: RedisConnection): unknown {
    if (error instanceof NoAnswer) {
      this.#doubt(connection, 'no answer in time');
      if (this.#isCurrent(connection)) this.#check();
      return unavailable('no_answer', `expected an answer of Redis within ${error.ms} ms, found none; the operation may still happen`, true);
    }
    const code = replyCode(error);
    if (code === undefined) return unavailable('connection_lost', `expected an answer of Redis, found the connection lost (${shortReason(error)}); the operation may have happened`, true, error);
    // A master that became a replica keeps its connections: only a new one finds the new master.
    // Redis 6 wraps what a script was answered in an error of its own.
    if (error instanceof Error && error.message.includes('READONLY')) this.#lose(connection, error);
    return unavailable('refused', `expected Redis to do the operation, found it refused with ${code}; look at its state and configuration`, true, error);
  }

  async #connect(): Promise<void> {
    const { makeClient, prepare } = this.#options;
    this.#triedAt = this.#clock.elapsed();
    const why = 'why' in this.#state ? this.#state.why : 'connection lost';
    const connection = new RedisConnection(makeClient, GIVE_UP_MS, (cause) => this.#lose(connection, cause));
    this.#state = { kind: 'connecting', connection, why };
    try {
      await this.#inTime(
        // Only if nobody gave it up meanwhile.
        connection.open().then(() => (this.#isCurrent(connection) ? prepare?.(connection) : undefined)),
        GIVE_UP_MS,
      );
    } catch (error) {
      this.#lose(connection, error);
      return;
    }
    if (!this.#isCurrent(connection)) return;
    this.#state = { kind: 'doubted', connection, why };
    await this.#ping(connection);
  }

  /** Looks at the connection and does what it needs next. */
  #check(): void {
    this.#cancelCheck();
    if (this.#state.kind === 'down') void this.#connect();
    else if (this.#state.kind === 'up' || this.#state.kind === 'doubted') void this.#ping(this.#state.connection);
  }

  async #ping(connection: RedisConnection): Promise<void> {
    if (this.#pinged?.connection === connection) {
      // Replies come in order: while one ping waits, another would only wait behind it.
      if (this.#clock.elapsed() - this.#pinged.at >= GIVE_UP_MS) this.#lose(connection, undefined);
      else this.#checkIn(RETRY_MS);
      return;
    }
    const ping = { connection, at: this.#clock.elapsed() };
    this.#pinged = ping;
    const reply = connection.send(['PING']).finally(() => {
      if (this.#pinged === ping) this.#pinged = undefined;
    });
    try {
      await this.#inTime(reply, this.#options.timeoutMs);
      this.#trust(connection);
    } catch (error) {
      this.#doubt(connection, error instanceof NoAnswer ? 'no answer in time' : shortReason(error));
    }
    if (this.#isCurrent(connection)) this.#checkIn(this.up ? HEARTBEAT_MS : RETRY_MS);
  }

  #checkIn(ms: number): void {
    this.#cancelCheck();
    this.#cancelCheck = this.#clock.after(ms, () => this.#check());
  }

  #isCurrent(connection: RedisConnection): boolean {
    return 'connection' in this.#state && this.#state.connection === connection;
  }

  #trust(connection: RedisConnection): void {
    if (this.#state.kind !== 'doubted' || this.#state.connection !== connection) return;
    this.#state = { kind: 'up', connection };
    this.#options.onChange();
  }

  #doubt(connection: RedisConnection, why: string): void {
    if (!this.#isCurrent(connection)) return;
    const wasUp = this.up;
    this.#state = { kind: 'doubted', connection, why };
    if (wasUp) this.#options.onChange();
  }

  #lose(connection: RedisConnection, cause: unknown): void {
    if (!this.#isCurrent(connection)) return;
    const wasUp = this.up;
    this.#state = { kind: 'down', why: cause instanceof NoAnswer ? 'no answer in time' : shortReason(cause) };
    connection.end();
    // At once, unless the last attempt was just now: a server that drops every connection is not to be flooded with them.
    this.#checkIn(Math.max(0, this.#triedAt + RETRY_MS - this.#clock.elapsed()));
    if (wasUp) this.#options.onChange();
  }

  /** What comes after the time is dropped without a word. */
  #inTime<T>(reply: Promise<T>, ms: number): Promise<T> {
    return new Promise((resolve, reject) => {
      // One turn later: when this process itself was held up, the answer may lie unread in the socket.
      const cancel = this.#clock.after(ms, () => setImmediate(() => reject(new NoAnswer(ms))));
      reply.finally(cancel).then(resolve, reject);
    });
  }
}

class NoAnswer extends Error {
  constructor(readonly ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

/** Why an operation got no answer. */
type UnavailableReason = 'closed' | 'not_connected' | 'busy' | 'no_answer' | 'connection_lost' | 'refused' | 'no_identity';

/** A `STATE_UNAVAILABLE` error; `sent: false` in its details says that the operation surely did not happen. */
export function unavailable(reason: UnavailableReason, message: string, sent: boolean, cause?: unknown): ToolError {
  const code = replyCode(cause);
  return new ToolError('STATE_UNAVAILABLE', message, { details: { reason, sent, ...(code !== undefined && { code }) }, ...(cause === undefined ? {} : { cause }) });
}

/** The first word of an error that Redis answered, such as `NOSCRIPT` or `WRONGTYPE`; `undefined` for errors of the connection. */
export function replyCode(error: unknown): string | undefined {
  // Those of Redis begin with a word in capitals; those of sockets and of the client do not.
  return error instanceof Error ? /^[A-Z][A-Z0-9_]+(?= |$)/.exec(error.message)?.[0] : undefined;
}

/** An error in a word or two, without the addresses and paths that messages of sockets carry. */
function shortReason(error: unknown): string {
  const code: unknown = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
  return replyCode(error) ?? (typeof code === 'string' ? code : 'connection lost');
}
