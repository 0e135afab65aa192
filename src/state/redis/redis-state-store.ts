import { createHash } from 'node:crypto';
import { isToolError } from '../../core/errors.js';
import { Listeners } from '../../core/listeners.js';
import { ChannelListeners, harmless } from '../channel-listeners.js';
import { checkIncrement, checkKey, checkLifetime, checkListener, checkOptionalValue, checkTtl, checkValue, notANumber } from '../state-arguments.js';
import type { Increment, IncrementOptions, LifetimeOptions, StateStore } from '../state-store.js';
import { RedisLink, replyCode, unavailable, type MakeRedisClient, type RedisConnection } from './redis-link.js';
import { checkRedisOptions, clientMaker, type RedisStateStoreOptions } from './redis-options.js';

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

/** Channels in one command: a command with all of many thousands would hold up the others. */
const CHANNELS_AT_ONCE = 1_000;

/** Who listens to which channel of Redis, whichever connection the messages come by. */
class RedisSubscriptions {
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

/** A program that Redis runs as one step, and the name by which its cache knows it. */
interface RedisScript {
  readonly source: string;
  readonly sha: string;
}

function script(source: string): RedisScript {
  return Object.freeze({ source, sha: createHash('sha1').update(source).digest('hex') });
}

/**
 * ARGV: `1` and the text expected, or `0` and an empty one for nothing; the same for the next text; milliseconds to live, or empty.
 *
 * Answers 1 when it wrote, 0 when it did not.
 */
const COMPARE_AND_SET = script(`
local current = redis.call('GET', KEYS[1])
if ARGV[1] == '0' then
  if current then return 0 end
elseif current ~= ARGV[2] then
  return 0
end
if ARGV[3] == '0' then
  redis.call('DEL', KEYS[1])
elseif ARGV[5] == '' then
  redis.call('SET', KEYS[1], ARGV[4])
else
  redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
end
return 1
`);

/**
 * ARGV: the number to add; the largest sum, or empty; milliseconds to live, or empty; `1` if the key must exist.
 *
 * Answers whether it wrote (1, 0; 2 when the key holds no number) and the number under the key as text, empty for none.
 * Lua's numbers are those of JavaScript, and 17 digits name each of them exactly. A number as such would be cut to an integer by Redis.
 */
const INCREMENT = script(`
local current = redis.call('GET', KEYS[1])
local value = 0
if current then
  if not (string.match(current, '^%-?[%d%.]+$') or string.match(current, '^%-?[%d%.]+[eE][%+%-]?%d+$')) then return {2, ''} end
  value = tonumber(current)
  if not value or value - value ~= 0 then return {2, ''} end
elseif ARGV[4] == '1' then
  return {0, ''}
end
local sum = value + tonumber(ARGV[1])
if sum - sum ~= 0 or (ARGV[2] ~= '' and sum > tonumber(ARGV[2])) then return {0, current or ''} end
local text = string.format('%.17g', sum)
if current then
  redis.call('SET', KEYS[1], text, 'KEEPTTL')
elseif ARGV[3] ~= '' then
  redis.call('SET', KEYS[1], text, 'PX', ARGV[3])
else
  redis.call('SET', KEYS[1], text)
end
return {1, text}
`);
