import { systemClock } from '../../core/clock.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { AnswerWatch, NoAnswer } from '../answer-watch.js';
import { closed } from '../state-arguments.js';

/** The parts of a client of the package `redis` 5 that are used. */
export interface RedisClient {
  on(event: string, listener: (...args: never[]) => void): unknown;
  connect(): Promise<unknown>;
  destroy(): void;
  ref(): void;
  unref(): void;
  sendCommand(args: readonly string[]): Promise<unknown>;
  subscribe(
    channels: readonly string[],
    listener: (message: string, channel: string) => void,
  ): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
}

/** Makes a client that is not yet connected; these settings of its socket win over its own. */
export type MakeRedisClient = (socket: {
  readonly connectTimeout: number;
  readonly reconnectStrategy: (retries: number, cause: Error) => false;
}) => RedisClient;

/**
 * One life of a connection: it opens once, and is never used again after it is lost or ended.
 *
 * The client's own reconnection is switched off: it keeps waiting for a server that accepts connections and then stays
 * silent, holds the process alive between attempts, and cannot be told to give up a silent connection.
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
        // The client releases everything only if it is destroyed before it considers itself closed: that is now.
        this.#phase = this.#phase === 'dialling' ? 'open' : this.#phase;
        lost(cause);
        return false;
      },
    });
    this.#client.on('error', lost);
    this.#client.on('end', () => lost(new Error('the connection ended')));
    this.#client.on('connect', () => {
      if (this.#phase === 'dialling') this.#phase = 'open';
      if (this.#phase === 'open') this.#client.ref();
      else this.#destroy();
    });
  }

  /** Opens the connection. @throws the cause if it fails. */
  async open(): Promise<void> {
    this.#phase = 'dialling';
    // An attempt by itself does not keep the process from exiting.
    this.#client.unref();
    await this.#client.connect();
  }

  send(args: readonly string[]): Promise<unknown> {
    return this.#client.sendCommand(args);
  }

  // The client would keep the commands for a connection that never comes.
  async subscribe(
    channels: readonly string[],
    listener: (message: string, channel: string) => void,
  ): Promise<void> {
    this.#refuseEnded();
    await this.#client.subscribe(channels, listener);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#refuseEnded();
    await this.#client.unsubscribe(channel);
  }

  /** Drops the connection at once; commands without an answer are rejected. */
  end(): void {
    const open = this.#phase === 'open';
    this.#phase = 'ended';
    // The client cannot reach a socket that still dials: 'connect' ends it, or its time limit.
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

interface RedisLinkOptions {
  readonly makeClient: MakeRedisClient;
  /** The time to wait for a command while Redis answers nothing. */
  readonly timeoutMs: number;
  /** Prepares each new connection before it is used; a `ToolError` is the reason why operations are refused. */
  readonly prepare: (connection: RedisConnection) => Promise<unknown>;
  /** Reports every change between up and not. */
  readonly onChange: () => void;
}

type LinkState =
  | { readonly kind: 'down'; readonly cause: unknown }
  /** A connection that is being opened, or is not known to answer in time. */
  | { readonly kind: 'doubted'; readonly connection: RedisConnection; readonly cause: unknown }
  | { readonly kind: 'up'; readonly connection: RedisConnection }
  | { readonly kind: 'closed' };

/** Operations that are sent and not answered; more wait for their turn, and are not sent if it does not come in time. */
const MOST_SENT = 1_000;
/** Operations, and characters of them, that may wait: beyond these a process only piles up work. */
const MOST_WAITING = 100_000;
const MOST_CHARACTERS = 268_435_456;
/** The interval at which a lost connection is tried again, and a silent one is asked whether it answers. */
const RETRY_MS = 500;
/** The interval of pings while all is well: without them only the next command would notice a silent connection. */
const HEARTBEAT_MS = 1_000;
/**
 * The time after which an attempt to connect, or a ping, is given up for a new connection; the operating system would
 * wait for minutes.
 */
const GIVE_UP_MS = 2_000;

/**
 * A connection that is kept up: commands are answered or refused in time, and it comes back by itself.
 *
 * It is up while it answers pings in time. Silence puts it in doubt: from then on commands are refused at once, until a
 * ping is answered in time again.
 */
export class RedisLink {
  readonly #options: RedisLinkOptions;
  readonly #answers: AnswerWatch;
  /** The ends of the last operations: each begins after the one before it has begun, and the one `MOST_SENT` before it has ended. */
  readonly #ends: Promise<unknown>[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  #state: LinkState = { kind: 'down', cause: undefined };
  #begun = 0;
  #waiting = 0;
  #characters = 0;
  #wake: () => void = () => undefined;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    this.#answers = new AnswerWatch(options.timeoutMs, systemClock, { background: true });
  }

  get up(): boolean {
    return this.#state.kind === 'up';
  }

  /**
   * Connects now, and again whenever the connection is lost. Resolves when the first attempt has succeeded or failed.
   *
   * @throws ToolError when `prepare` refused the first connection.
   */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#keep((cause) => (isToolError(cause) ? reject(cause) : resolve())).catch(reject);
    });
  }

  /**
   * Runs commands on the connection when it is their turn.
   *
   * @param commands receives a check of whether its time is over: nothing is sent any more for a caller that has gone.
   * @param characters is the memory that the commands take.
   */
  async run<T>(
    commands: (connection: RedisConnection, isOver: () => boolean) => Promise<T>,
    characters = 0,
  ): Promise<T> {
    const state = this.#state;
    if (state.kind !== 'up') throw this.#notConnected();
    if (this.#waiting >= MOST_WAITING || this.#characters + characters > MOST_CHARACTERS) {
      throw unavailable(
        'busy',
        expectedGot(
          `at most ${MOST_WAITING} operations and ${MOST_CHARACTERS} characters at once`,
          'more',
          'Wait for some of them first.',
        ),
        false,
      );
    }
    const { connection } = state;
    const place = this.#begun % MOST_SENT;
    const earlier = this.#ends[place];
    const turn = (this.#turn = this.#turn.then(() => earlier));
    const progress = { sent: false, over: false };
    const reply = (async () => {
      await turn;
      if (progress.over || !this.up || !this.#isCurrent(connection)) throw this.#notConnected();
      progress.sent = true;
      return commands(connection, () => progress.over);
    })();
    this.#ends[place] = reply.then(noop, noop);
    this.#begun += 1;
    this.#waiting += 1;
    this.#characters += characters;
    try {
      return await this.#answers.wait(reply);
    } catch (error) {
      throw this.#explain(error, connection, progress.sent);
    } finally {
      progress.over = true;
      this.#waiting -= 1;
      this.#characters -= characters;
    }
  }

  /** Ends the connection and all attempts; commands without an answer are refused. */
  close(): void {
    const state = this.#state;
    this.#become({ kind: 'closed' });
    if ('connection' in state) state.connection.end();
  }

  #notConnected(): ToolError {
    const state = this.#state;
    if (state.kind === 'closed') return closed();
    const cause = 'cause' in state ? state.cause : undefined;
    if (isToolError(cause))
      return new ToolError(cause.code, cause.message, { details: cause.details });
    return unavailable(
      'not_connected',
      expectedGot(
        'a connection to Redis',
        `none (${shortReason(cause)})`,
        `It is tried again every ${RETRY_MS} ms.`,
      ),
      false,
    );
  }

  #explain(error: unknown, connection: RedisConnection, sent: boolean): unknown {
    if (isToolError(error)) return error;
    if (error instanceof NoAnswer) {
      if (error.silent) this.#doubt(connection, error);
      return unavailable(
        'no_answer',
        expectedGot(
          `an answer from Redis within ${this.#options.timeoutMs} ms`,
          'none',
          sent ? 'The operation may still happen.' : 'It was not sent.',
        ),
        sent,
      );
    }
    const code = replyCode(error);
    if (code === undefined)
      return unavailable(
        'connection_lost',
        expectedGot(
          'an answer from Redis',
          `a lost connection (${shortReason(error)})`,
          'The operation may have happened.',
        ),
        true,
        error,
      );
    // A master that became a replica keeps its connections: only a new one finds the new master.
    // Redis 6 wraps the error that a script received in an error of its own.
    if (error instanceof Error && error.message.includes('READONLY')) this.#lose(connection, error);
    return unavailable(
      'refused',
      expectedGot(
        'Redis to do the operation',
        `the refusal ${code}`,
        'Look at its state and configuration.',
      ),
      true,
      error,
    );
  }

  /**
   * Connects and watches the connection for as long as the link is open. @param tried receives the outcome of each
   * attempt.
   */
  async #keep(tried: (cause: unknown) => void): Promise<void> {
    const { makeClient, prepare } = this.#options;
    while (this.#state.kind !== 'closed') {
      const triedAt = systemClock.elapsed();
      const connection = new RedisConnection(makeClient, GIVE_UP_MS, (cause) =>
        this.#lose(connection, cause),
      );
      this.#state = {
        kind: 'doubted',
        connection,
        cause: 'cause' in this.#state ? this.#state.cause : undefined,
      };
      try {
        // The connection may have been given up meanwhile.
        await this.#answers.wait(
          connection.open().then(() => this.#isCurrent(connection) && prepare(connection)),
          GIVE_UP_MS,
        );
        while (this.#isCurrent(connection)) {
          await this.#ping(connection);
          tried(undefined);
          if (this.#isCurrent(connection)) await this.#pause(this.up ? HEARTBEAT_MS : RETRY_MS);
        }
      } catch (cause) {
        this.#lose(connection, cause);
        tried(cause);
      }
      // At once, unless the last attempt was just now: a server that drops every connection must not be flooded with
      // them.
      const restMs = triedAt + RETRY_MS - systemClock.elapsed();
      if (restMs > 0) await this.#pause(restMs);
    }
  }

  /** Asks whether the connection answers. @throws what broke it, also if the ping gets no answer. */
  async #ping(connection: RedisConnection): Promise<void> {
    const reply = connection.send(['PING']);
    try {
      await this.#answers.wait(reply);
      this.#trust(connection);
    } catch (error) {
      this.#doubt(connection, error);
      // Replies come in order: while one ping waits, another would only wait behind it.
      if (error instanceof NoAnswer) await this.#answers.wait(reply, GIVE_UP_MS);
    }
  }

  /** Waits for a time, or until the state has changed. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = systemClock.after(ms, resolve, { background: true });
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  #isCurrent(connection: RedisConnection): boolean {
    return 'connection' in this.#state && this.#state.connection === connection;
  }

  #trust(connection: RedisConnection): void {
    if (this.#isCurrent(connection)) this.#become({ kind: 'up', connection });
  }

  #doubt(connection: RedisConnection, cause: unknown): void {
    if (this.#isCurrent(connection)) this.#become({ kind: 'doubted', connection, cause });
  }

  #lose(connection: RedisConnection, cause: unknown): void {
    if (this.#isCurrent(connection)) this.#become({ kind: 'down', cause });
    connection.end();
  }

  #become(state: LinkState): void {
    const wasUp = this.up;
    this.#state = state;
    this.#wake();
    if (wasUp !== this.up) this.#options.onChange();
  }
}

function noop(): void {
  // The caller of an operation hears of its outcome.
}

/** The reason why an operation got no answer. */
type UnavailableReason =
  'not_connected' | 'busy' | 'no_answer' | 'connection_lost' | 'refused' | 'no_identity' | 'evicts';

/** A `STATE_UNAVAILABLE` error; `sent: false` in its details says that the operation surely did not happen. */
export function unavailable(
  reason: UnavailableReason,
  message: string,
  sent: boolean,
  cause?: unknown,
): ToolError {
  const code = replyCode(cause);
  return new ToolError('STATE_UNAVAILABLE', message, {
    details: { reason, sent, ...(code !== undefined && { code }) },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The first word of an error that Redis answered, such as `NOSCRIPT` or `WRONGTYPE`; `undefined` for errors of the connection. */
export function replyCode(error: unknown): string | undefined {
  // Redis's own errors begin with a word in capitals; those of sockets and of the client do not.
  return error instanceof Error ? /^[A-Z][A-Z0-9_]+(?= |$)/.exec(error.message)?.[0] : undefined;
}

/** Returns an error in a word or two, without the addresses and paths in messages of sockets. */
function shortReason(error: unknown): string {
  if (error === undefined) return 'not connected yet';
  if (error instanceof NoAnswer) return error.message;
  const code: unknown =
    typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
  return replyCode(error) ?? (typeof code === 'string' ? code : 'connection lost');
}
