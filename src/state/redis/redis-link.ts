import { nextTurn, systemClock } from '../../core/clock.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { Listeners } from '../../core/listeners.js';
import { closed } from '../state-arguments.js';
import type { MakeRedisClient, RedisClient } from './redis-options.js';

/** The delay between two connection attempts. */
const RETRY_MS = 200;
const NO_ANSWER = new Error('no answer');

/**
 * The connection to a Redis server. The `redis` package reconnects automatically.
 *
 * The link is up once Redis has answered a ping in time. A command that times out takes the link
 * down, so only the first of several commands waits for an unresponsive Redis. The client keeps
 * pinging, and the next answer brings the link up again.
 */
export class RedisLink {
  readonly availability = new Listeners<boolean>();
  readonly #client: RedisClient;
  readonly #timeoutMs: number;
  #state: 'down' | 'up' | 'closed' = 'down';
  #cause: unknown;
  #hasSocket = false;

  constructor(make: MakeRedisClient, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#client = make(() => (this.#state === 'closed' ? false : RETRY_MS));
    this.#client.on('connect', () => {
      this.#hasSocket = true;
      if (this.#state === 'closed') this.#destroy();
    });
    this.#client.on('error', (cause) => {
      this.#hasSocket = false;
      this.#become('down', cause);
    });
    this.#client.on('ready', () => void this.#ping());
    this.#client.on('ping-interval', () => void (this.#state === 'down' && this.#ping()));
  }

  get isUp(): boolean {
    return this.#state === 'up';
  }

  /**
   * Connects, and reconnects whenever the connection is lost. Resolves when the link is up, when
   * connecting fails, or after a timeout.
   */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      const stopTimer = systemClock.after(this.#timeoutMs, resolve, { background: true });
      const end = () => {
        stopTimer();
        resolve();
      };
      this.availability.add(end);
      this.#client.on('error', end);
      this.#client.connect().catch(end);
    });
  }

  /**
   * Sends a command. @throws ToolError `STATE_UNAVAILABLE`. `details.code` is the first word of
   * Redis's error reply.
   */
  async send(args: readonly string[]): Promise<unknown> {
    if (this.#state === 'closed') throw closed();
    if (this.#state === 'down')
      throw storeUnavailable(
        'not_connected',
        `Not connected to Redis (${shortReason(this.#cause)}). tooldex reconnects automatically: try again later.`,
        false,
      );
    try {
      return await this.#inTime(this.#client.sendCommand(args));
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Closes the connection. Pending commands are rejected. */
  close(): void {
    this.#state = 'closed';
    if (this.#hasSocket) this.#destroy();
  }

  async #ping(): Promise<void> {
    try {
      await this.#inTime(this.#client.sendCommand(['PING']));
      this.#become('up');
    } catch (error) {
      this.#become('down', error);
    }
  }

  /** Waits for an answer, or throws after the timeout. A late answer is ignored. */
  async #inTime(reply: Promise<unknown>): Promise<unknown> {
    let stopTimer: (() => void) | undefined;
    const late = new Promise<never>((_, reject) => {
      // Waits one more turn: an answer may have arrived unread while this process was busy.
      stopTimer = systemClock.after(
        this.#timeoutMs,
        () => void nextTurn().then(() => reject(NO_ANSWER)),
      );
    });
    try {
      return await Promise.race([reply, late]);
    } finally {
      stopTimer?.();
    }
  }

  #explain(error: unknown): ToolError {
    const code = replyCode(error);
    if (error === NO_ANSWER) {
      this.#become('down', error);
      return storeUnavailable(
        'no_answer',
        `Redis didn't answer within ${this.#timeoutMs} ms. The operation may still be executed.`,
        true,
      );
    }
    if (code === undefined)
      return storeUnavailable(
        'connection_lost',
        `The connection to Redis was lost (${shortReason(error)}). The operation may have been executed.`,
        true,
        error,
      );
    // When a master becomes a replica, its connections stay open.
    // Only a new connection finds the new master.
    if (code === 'READONLY') this.#reconnect(error);
    return storeUnavailable(
      'refused',
      `Redis refused the operation: ${code}. Check its state and configuration.`,
      true,
      error,
    );
  }

  #reconnect(cause: unknown): void {
    if (this.#state !== 'up') return;
    this.#become('down', cause);
    this.#destroy();
    this.#client.connect().catch(() => undefined);
  }

  #become(state: 'down' | 'up', cause?: unknown): void {
    const before = this.#state;
    if (before === 'closed') return;
    this.#state = state;
    this.#cause = cause;
    if (before !== state) this.availability.tell(state === 'up');
  }

  #destroy(): void {
    try {
      this.#client.destroy();
    } catch {
      // The client is already closed.
    }
  }
}

/**
 * Returns a `STATE_UNAVAILABLE` error. If `details.sent` is false, the operation was definitely not
 * executed.
 */
export function storeUnavailable(
  reason: 'not_connected' | 'no_answer' | 'connection_lost' | 'refused' | 'no_identity',
  message: string,
  sent: boolean,
  cause?: unknown,
): ToolError {
  const code = replyCode(cause);
  return new ToolError('STATE_UNAVAILABLE', message, {
    details: { reason, sent, ...(code !== undefined && { code }) },
    ...(cause !== undefined && { cause }),
  });
}

/**
 * Returns the first word of an error reply from Redis, such as `WRONGTYPE`. Returns `undefined` for
 * connection errors.
 */
function replyCode(error: unknown): string | undefined {
  // Redis errors begin with an uppercase word. Socket and client errors don't.
  return error instanceof Error ? /^[A-Z][A-Z0-9_]+(?= |$)/.exec(error.message)?.[0] : undefined;
}

/**
 * Returns a one- or two-word description of an error, without the addresses and paths that socket
 * messages contain.
 */
function shortReason(error: unknown): string {
  if (error === undefined) return 'not connected yet';
  if (error === NO_ANSWER || isToolError(error)) return NO_ANSWER.message;
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return replyCode(error) ?? (typeof code === 'string' ? code : 'connection lost');
}
