import { systemClock } from '../../core/clock.js';
import { isToolError, type ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { ChannelListeners, Listeners } from '../../core/listeners.js';
import { AnswerWatch, NoAnswer } from '../answer-watch.js';
import {
  checkAppend,
  checkIncrement,
  checkKey,
  checkLifetime,
  checkLimit,
  checkListener,
  checkNumber,
  checkOptionalValue,
  checkRead,
  checkTtl,
  checkValue,
  closed,
  notAList,
  notANumber,
  notAText,
  restarted,
} from '../state-arguments.js';
import type {
  AppendOptions,
  Increment,
  IncrementOptions,
  LifetimeOptions,
  ReadOptions,
  StateStore,
  StoreMoment,
} from '../state-store.js';
import {
  RedisLink,
  replyCode,
  unavailable,
  type MakeRedisClient,
  type RedisConnection,
} from './redis-link.js';
import {
  APPEND,
  COMPARE_AND_SET,
  INCREMENT,
  INCREMENT_WINDOW,
  NOW,
  RESTARTED,
  type RedisScript,
} from './redis-scripts.js';
import {
  checkRedisOptions,
  clientMaker,
  type CheckedRedisOptions,
  type RedisStateStoreOptions,
} from './redis-options.js';

/** The time that `connect` waits for a Redis that does not answer. */
const FIRST_WAIT_MS = 1_000;

/**
 * State that several processes share in one Redis (6.0 or newer), through the package `redis` 5.
 *
 * Each operation is one atomic step in Redis. It is refused when Redis answers nothing at all for `timeoutMs`, in which
 * work of this process does not count, and at once while Redis does not answer pings in time. Of many operations at once
 * 1,000 are sent, and the others wait for their turn. Pings and attempts to reconnect go on twice a second, and all works
 * again, with the same subscriptions, once Redis is back. Nothing is kept to be sent later.
 *
 * - A restart, whatever Redis keeps on disk, and a failover to a replica change the identity that `now()` tells: writes
 *   bound to the identity before are refused, unless `onStoreRestart` is `'trust'`.
 * - `FLUSHALL` and removed keys leave the identity as it is: the keys are gone for all processes.
 * - A Redis whose `maxmemory-policy` is not `noeviction` is refused: it could forget a used approval.
 */
export class RedisStateStore implements StateStore {
  readonly #prefix: string;
  readonly #trusted: boolean;
  readonly #commands: RedisLink;
  /** A connection of its own: one that listens takes no other commands. */
  readonly #messages: RedisLink;
  readonly #subscriptions = new RedisSubscriptions();
  readonly #availability = new Listeners<boolean>();
  #tellsEviction = false;
  #available = false;
  #closed = false;

  private constructor(
    makeClient: MakeRedisClient,
    { prefix, timeoutMs, onStoreRestart }: CheckedRedisOptions,
  ) {
    this.#prefix = prefix;
    this.#trusted = onStoreRestart === 'trust';
    const onChange = () => this.#tellAvailability();
    this.#commands = new RedisLink({
      makeClient,
      timeoutMs,
      onChange,
      prepare: (connection) => this.#checkEviction(connection),
    });
    this.#messages = new RedisLink({
      makeClient,
      timeoutMs,
      onChange,
      prepare: (connection) => this.#subscriptions.attach(connection),
    });
  }

  /**
   * Connects a store to the Redis at `url`, or with the settings of `client`.
   *
   * It resolves even if Redis cannot be reached, after at most one second: a program should be able to start without
   * its Redis. Operations are refused until it is there; `available` and `onAvailability` tell.
   *
   * @throws ToolError INVALID_ARGUMENT for wrong options, MISSING_PACKAGE when `redis` is not installed,
   * STATE_UNAVAILABLE for a Redis that evicts keys (`details.reason: 'evicts'`). If that becomes known only later,
   * operations are refused.
   */
  static async connect(options: RedisStateStoreOptions): Promise<RedisStateStore> {
    const checked = checkRedisOptions(options);
    const store = new RedisStateStore(await clientMaker(checked), checked);
    try {
      await store.#start();
    } catch (error) {
      await store.close();
      throw error;
    }
    return store;
  }

  /** Returns true while operations are tried and messages heard. */
  get available(): boolean {
    return this.#available;
  }

  async get(key: string): Promise<string | undefined> {
    const text = await this.#send(['GET', this.#name(key)], notAText);
    return typeof text === 'string' ? text : undefined;
  }

  async compareAndSet(
    key: string,
    expected: string | undefined,
    next: string | undefined,
    options?: LifetimeOptions,
  ): Promise<boolean> {
    const { ttlMs, identity } = checkLifetime(options);
    const before = checkOptionalValue(expected, 'value expected');
    const after = checkOptionalValue(next, 'value');
    return (
      (await this.#script(
        COMPARE_AND_SET,
        key,
        [this.#guard(identity), ...present(before), ...present(after), String(ttlMs ?? '')],
        notAText,
      )) === 1
    );
  }

  async increment(key: string, by: number, options?: IncrementOptions): Promise<Increment> {
    checkNumber(by);
    const { max, ttlMs, mustExist, identity, windowMs } = checkIncrement(options);
    const script = windowMs === undefined ? INCREMENT : INCREMENT_WINDOW;
    const reply = await this.#script(
      script,
      key,
      [
        this.#guard(identity),
        String(by),
        String(max),
        String(windowMs ?? ttlMs ?? ''),
        mustExist ? '1' : '0',
      ],
      notAText,
    );
    const [state, text, born = ''] = reply as readonly [number, string, string?];
    if (state === 2) throw notANumber();
    return Object.freeze({
      applied: state === 1,
      value: text === '' ? undefined : Number(text),
      ...(born !== '' && { born }),
    });
  }

  async expire(key: string, ttlMs: number): Promise<boolean> {
    return (await this.#send(['PEXPIRE', this.#name(key), String(checkTtl(ttlMs))])) === 1;
  }

  async now(): Promise<StoreMoment> {
    const [seconds, microseconds, runId] = (await this.#run(NOW, [], [])) as readonly [
      string,
      string,
      string,
    ];
    const identity = this.#trusted ? TRUSTED : runId;
    if (!this.#trusted && (identity === '' || !this.#tellsEviction)) {
      const expected =
        'a Redis that tells its run_id (INFO server) and its maxmemory-policy (INFO memory)';
      throw unavailable(
        'no_identity',
        expectedGot(
          expected,
          'one that does not',
          "Allow INFO, or connect with onStoreRestart: 'trust' if it evicts nothing and never loses what it has confirmed.",
        ),
        false,
      );
    }
    return Object.freeze({
      time: Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000),
      identity,
    });
  }

  async list(prefix: string, limit?: number): Promise<readonly string[]> {
    const most = checkLimit(limit);
    const pattern = `${this.#name(prefix, 'prefix').replace(/[\\*?[\]]/g, '\\$&')}*`;
    const keys = new Set<string>();
    let cursor = '0';
    do {
      const reply = await this.#send(['SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000']);
      const [next, page] = reply as readonly [string, readonly string[]];
      for (const key of page) keys.add(key.slice(this.#prefix.length));
      cursor = next;
    } while (cursor !== '0' && keys.size < most);
    return Object.freeze([...keys].sort().slice(0, most));
  }

  async append(key: string, item: string, options: AppendOptions): Promise<number | undefined> {
    const { at, max, ttlMs, identity } = checkAppend(options);
    const length = await this.#script(
      APPEND,
      key,
      [
        this.#guard(identity),
        checkValue(item, 'item'),
        String(at ?? ''),
        String(max),
        String(ttlMs ?? ''),
      ],
      notAList,
    );
    return length === 0 ? undefined : Number(length);
  }

  async read(key: string, options?: ReadOptions): Promise<readonly string[]> {
    const { from, limit } = checkRead(options);
    const items = await this.#send(
      ['LRANGE', this.#name(key), String(from), String(from + limit - 1)],
      notAList,
    );
    return Object.freeze(items as string[]);
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#send(['PUBLISH', this.#name(channel, 'channel'), checkValue(message, 'message')]);
  }

  async subscribe(
    channel: string,
    listener: (message: string) => void,
  ): Promise<() => Promise<void>> {
    const name = this.#name(channel, 'channel');
    checkListener(listener);
    if (this.#closed) throw closed();
    const { ready, remove } = this.#subscriptions.add(name, listener);
    try {
      await this.#messages.run(() => ready);
    } catch (error) {
      // Without an answer the next connection asks again; a refusal is final.
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
    return this.#availability.add(checkListener(listener));
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#subscriptions.clear();
    this.#commands.close();
    this.#messages.close();
    return Promise.resolve();
  }

  async #start(): Promise<void> {
    const started = Promise.all([this.#commands.start(), this.#messages.start()]);
    await new AnswerWatch(FIRST_WAIT_MS, systemClock).wait(started).catch((error: unknown) => {
      if (!(error instanceof NoAnswer)) throw error;
    });
  }

  /** Checks that Redis evicts no keys. @throws ToolError for one that may drop an approval or a counter to make room. */
  async #checkEviction(connection: RedisConnection): Promise<void> {
    const info = await connection.send(['INFO', 'memory']).catch((error: unknown) => {
      if (['NOPERM', 'ERR'].includes(replyCode(error) ?? '')) return '';
      throw error;
    });
    const policy = /^maxmemory_policy:(\S+)/m.exec(String(info))?.[1];
    this.#tellsEviction = policy !== undefined;
    if (policy === undefined || policy === 'noeviction') return;
    throw unavailable(
      'evicts',
      expectedGot(
        'a Redis with maxmemory-policy noeviction',
        policy,
        'Run: CONFIG SET maxmemory-policy noeviction, and set it in the configuration of Redis.',
      ),
      false,
    );
  }

  #name(key: string, what?: string): string {
    return this.#prefix + checkKey(key, what);
  }

  /** Returns the identity that a write is bound to; nothing if restarts are trusted. */
  #guard(identity: string | undefined): string {
    if (identity === undefined) return '';
    if (!this.#trusted) return identity;
    if (identity !== TRUSTED) throw restarted();
    return '';
  }

  /** Sends a command. @param wrongType makes the error for a key that holds the other of text and list. */
  async #send(command: readonly string[], wrongType: () => ToolError = notAText): Promise<unknown> {
    return await this.#commands
      .run((connection) => connection.send(command), lengthOf(command))
      .catch((error: unknown) => throwAs(wrongType, error));
  }

  #script(
    script: RedisScript,
    key: string,
    args: readonly string[],
    wrongType: () => ToolError,
  ): Promise<unknown> {
    return this.#run(script, [this.#name(key)], args).catch((error: unknown) =>
      throwAs(wrongType, error),
    );
  }

  #run(
    { sha, source }: RedisScript,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    return this.#commands.run(async (connection, isOver) => {
      try {
        return await connection.send(['EVALSHA', sha, ...rest]);
      } catch (error) {
        // It did not run at all: Redis was restarted, or its script cache was flushed.
        if (replyCode(error) !== 'NOSCRIPT' || isOver()) throw error;
        return connection.send(['EVAL', source, ...rest]);
      }
    }, lengthOf(args));
  }

  #tellAvailability(): void {
    const available = this.#commands.up && this.#messages.up;
    if (this.#closed || available === this.#available) return;
    this.#available = available;
    this.#availability.tell(available);
  }
}

function lengthOf(words: readonly string[]): number {
  return words.reduce((sum, { length }) => sum + length, 0);
}

/** Returns a text or its absence, as the scripts take it. */
function present(text: string | undefined): readonly [string, string] {
  return text === undefined ? ['0', ''] : ['1', text];
}

/** Channels in one command: one with many thousands would hold up other commands. */
const CHANNELS_AT_ONCE = 1_000;

/** The listeners of each channel of Redis, whichever connection its messages come by. */
class RedisSubscriptions {
  readonly #listeners = new ChannelListeners();
  /** The channels that a connection was asked for, and when it confirmed. */
  readonly #confirmed = new Map<string, Promise<void>>();
  #connection: RedisConnection | undefined;

  /** Asks a new connection for all channels. */
  async attach(connection: RedisConnection): Promise<void> {
    this.#connection = connection;
    this.#confirmed.clear();
    const { channels } = this.#listeners;
    const parts = Array.from(
      { length: Math.ceil(channels.length / CHANNELS_AT_ONCE) },
      (_, index) => channels.slice(index * CHANNELS_AT_ONCE, (index + 1) * CHANNELS_AT_ONCE),
    );
    await Promise.all(parts.map((part) => this.#ask(connection, part)));
  }

  /**
   * Adds a listener. @returns `ready`, which settles when the present connection, if any, has confirmed; and a function
   * that removes it.
   */
  add(
    channel: string,
    listener: (message: string) => void,
  ): { readonly ready: Promise<void>; readonly remove: () => Promise<void> } {
    const stop = this.#listeners.add(channel, listener);
    const ready =
      this.#confirmed.get(channel) ??
      (this.#connection === undefined ? Promise.resolve() : this.#ask(this.#connection, [channel]));
    const remove = async () => {
      stop();
      if (this.#listeners.has(channel) || !this.#confirmed.delete(channel)) return;
      // No listener is left, so a failure does not matter.
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
    const confirmed = connection.subscribe(channels, (message, channel) =>
      this.#listeners.tell(channel, message),
    );
    for (const channel of channels) this.#confirmed.set(channel, confirmed);
    confirmed.catch(() => {
      for (const channel of channels)
        if (this.#confirmed.get(channel) === confirmed) this.#confirmed.delete(channel);
    });
    return confirmed;
  }
}

/** The identity of stores whose restarts are trusted. */
const TRUSTED = 'trusted';

function throwAs(wrongType: () => ToolError, error: unknown): never {
  const code = isToolError(error) ? error.details['code'] : undefined;
  if (code === 'WRONGTYPE') throw wrongType();
  if (code === RESTARTED) throw restarted();
  throw error;
}
