import { isToolError } from '../../core/errors.js';
import { Listeners } from '../../core/listeners.js';
import { harmless } from '../channel-listeners.js';
import { checkIncrement, checkKey, checkLifetime, checkListener, checkOptionalValue, checkTtl, checkValue, notANumber } from '../state-arguments.js';
import type { Increment, IncrementOptions, LifetimeOptions, StateStore } from '../state-store.js';
import type { MakeRedisClient } from './redis-connection.js';
import { replyCode, unavailable } from './redis-errors.js';
import { RedisLink } from './redis-link.js';
import { checkRedisOptions, clientMaker, type RedisStateStoreOptions } from './redis-options.js';
import { COMPARE_AND_SET, INCREMENT, type RedisScript } from './redis-scripts.js';
import { RedisSubscriptions } from './redis-subscriptions.js';

/** How long `connect` waits for a Redis that does not answer. */
const FIRST_WAIT_MS = 1_000;

/**
 * State that several processes share in one Redis (6.0 or newer), through the package `redis` 5.
 *
 * Each operation is one atomic step in Redis. It settles within `timeoutMs`; while Redis does not answer pings in time,
 * operations are refused at once. Pings and attempts to reconnect go on twice a second, and all works again, with the same subscriptions,
 * once Redis is back. Nothing is kept to be sent later.
 */
export class RedisStateStore implements StateStore {
  readonly #prefix: string;
  readonly #commands: RedisLink;
  /** A connection of its own: one that listens takes no other commands. */
  readonly #messages: RedisLink;
  readonly #subscriptions = new RedisSubscriptions();
  readonly #availability = new Listeners<boolean>();
  #available = false;
  #closed = false;

  private constructor(makeClient: MakeRedisClient, prefix: string, timeoutMs: number) {
    this.#prefix = prefix;
    const onChange = () => this.#tellAvailability();
    this.#commands = new RedisLink({ makeClient, timeoutMs, onChange });
    this.#messages = new RedisLink({ makeClient, timeoutMs, onChange, prepare: (connection) => this.#subscriptions.attach(connection) });
  }

  /**
   * A store on the Redis at `url`, or with the settings of `client`.
   *
   * It resolves also when Redis cannot be reached, after at most one second: a program should start without its Redis as
   * it goes on without it. Operations are then refused until it is there; `available` and `onAvailability` tell.
   *
   * @throws ToolError INVALID_ARGUMENT for wrong options, MISSING_PACKAGE when `redis` is not installed.
   */
  static async connect(options: RedisStateStoreOptions): Promise<RedisStateStore> {
    const { source, prefix, timeoutMs } = checkRedisOptions(options);
    const store = new RedisStateStore(await clientMaker(source), prefix, timeoutMs);
    await store.#start();
    return store;
  }

  /** Whether operations are tried and messages heard at the moment. */
  get available(): boolean {
    return this.#available;
  }

  async get(key: string): Promise<string | undefined> {
    const command = ['GET', this.#name(key)];
    const text = await this.#commands.run((connection) => connection.send(command));
    return typeof text === 'string' ? text : undefined;
  }

  async compareAndSet(key: string, expected: string | undefined, next: string | undefined, options?: LifetimeOptions): Promise<boolean> {
    const { ttlMs } = checkLifetime(options);
    const before = checkOptionalValue(expected, 'value expected');
    const after = checkOptionalValue(next, 'value');
    return (await this.#script(COMPARE_AND_SET, key, [...present(before), ...present(after), String(ttlMs ?? '')])) === 1;
  }

  async increment(key: string, by: number, options?: IncrementOptions): Promise<Increment> {
    const { max, ttlMs, mustExist } = checkIncrement(by, options);
    const reply = await this.#script(INCREMENT, key, [String(by), String(max ?? ''), String(ttlMs ?? ''), mustExist ? '1' : '0']);
    const [state, text] = reply as readonly [number, string];
    if (state === 2) throw notANumber();
    return Object.freeze({ applied: state === 1, value: text === '' ? undefined : Number(text) });
  }

  async expire(key: string, ttlMs: number): Promise<boolean> {
    const command = ['PEXPIRE', this.#name(key), String(checkTtl(ttlMs))];
    return (await this.#commands.run((connection) => connection.send(command))) === 1;
  }

  async publish(channel: string, message: string): Promise<void> {
    const command = ['PUBLISH', this.#name(channel, 'channel'), checkValue(message, 'message')];
    await this.#commands.run((connection) => connection.send(command));
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>> {
    const name = this.#name(channel, 'channel');
    checkListener(listener);
    if (this.#closed) throw unavailable('closed', 'expected an open state store, found a closed one; use it before close()', false);
    const { ready, remove } = this.#subscriptions.add(name, listener);
    try {
      await this.#messages.run(() => ready);
    } catch (error) {
      // Without an answer it is asked for again with the next connection; a no stays a no.
      if (isToolError(error) && error.details['reason'] === 'refused') {
        await remove();
        throw error;
      }
    }
    return async () => {
      const removed = remove();
      await this.#messages.run(() => removed).catch(() => undefined);
    };
  }

  onAvailability(listener: (available: boolean) => void): () => void {
    return this.#availability.add(harmless(checkListener(listener)));
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#subscriptions.clear();
    this.#commands.close();
    this.#messages.close();
    return Promise.resolve();
  }

  async #start(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => (timer = setTimeout(resolve, FIRST_WAIT_MS)));
    await Promise.race([Promise.all([this.#commands.start(), this.#messages.start()]), waited]);
    clearTimeout(timer);
  }

  #name(key: string, what?: string): string {
    return this.#prefix + checkKey(key, what);
  }

  #script({ sha, source }: RedisScript, key: string, args: readonly string[]): Promise<unknown> {
    const name = this.#name(key);
    return this.#commands.run(async (connection, isOver) => {
      try {
        return await connection.send(['EVALSHA', sha, '1', name, ...args]);
      } catch (error) {
        // Not run at all: Redis was started anew, or its script cache was flushed.
        if (replyCode(error) !== 'NOSCRIPT' || isOver()) throw error;
        return connection.send(['EVAL', source, '1', name, ...args]);
      }
    });
  }

  #tellAvailability(): void {
    const available = this.#commands.up && this.#messages.up;
    if (this.#closed || available === this.#available) return;
    this.#available = available;
    this.#availability.tell(available);
  }
}

/** A text or its absence, as the scripts take it. */
function present(text: string | undefined): readonly [string, string] {
  return text === undefined ? ['0', ''] : ['1', text];
}
