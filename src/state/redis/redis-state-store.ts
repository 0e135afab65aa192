import { isToolError } from '../../core/errors.js';
import { checkKey, checkValue, notANumber, restarted, wrongKind } from '../state-arguments.js';
import type {
  AppendOptions,
  Increment,
  IncrementOptions,
  IndexOptions,
  IndexPage,
  LifetimeOptions,
  ReadOptions,
  StateStore,
  StoreMoment,
} from '../state-store.js';
import { RedisLink, storeUnavailable } from './redis-link.js';
import {
  checkRedisOptions,
  clientAsOptions,
  clientMaker,
  type CheckedRedisOptions,
  type MakeRedisClient,
  type RedisStateStoreOptions,
} from './redis-options.js';
import {
  ADD_TO_INDEX,
  APPEND,
  COMPARE_AND_SET,
  INCREMENT,
  NOW,
  RESTARTED,
} from './redis-scripts.js';

/**
 * Stores state in a Redis server (6.0 or newer) that several processes share. Uses version 5 of the
 * `redis` package.
 *
 * Each operation is one atomic step in Redis. An operation is refused if Redis doesn't answer
 * within `timeoutMs`. Later operations are refused immediately until Redis answers again. The
 * package reconnects automatically, and no operations are queued.
 *
 * - A restart (even with persistence) and a failover to a replica change the identity that `now()`
 *   returns. Writes bound to the previous identity are refused.
 * - `FLUSHALL` and deleted keys don't change the identity, because the keys are gone for all
 *   processes. Set Redis's `maxmemory-policy` to `noeviction`. With any other policy, Redis might
 *   forget that an approval was used.
 */
export class RedisStateStore implements StateStore {
  readonly #prefix: string;
  readonly #identity: string | undefined;
  readonly #link: RedisLink;

  private constructor(make: MakeRedisClient, options: CheckedRedisOptions) {
    // JavaScript code may call the constructor directly with a client.
    if ((options as unknown) === undefined) throw clientAsOptions();
    this.#prefix = options.prefix;
    this.#identity = options.identity;
    this.#link = new RedisLink(make, options.timeoutMs);
  }

  /**
   * Connects to the Redis server at `url`, or with the settings of `client`.
   *
   * Resolves after at most `timeoutMs` even if Redis can't be reached, so a program can start
   * without Redis. Operations are refused until Redis is connected. Use `available` and
   * `onAvailability` to find out when Redis is connected.
   *
   * @throws ToolError `INVALID_ARGUMENT` for invalid options, `MISSING_PACKAGE` if `redis` isn't
   * installed.
   */
  static async connect(options: RedisStateStoreOptions): Promise<RedisStateStore> {
    const checked = checkRedisOptions(options);
    const store = new RedisStateStore(await clientMaker(checked), checked);
    await store.#link.start();
    return store;
  }

  /** Returns true while Redis answers. */
  get available(): boolean {
    return this.#link.isUp;
  }

  async get(key: string): Promise<string | undefined> {
    return ((await this.#send('GET', this.#name(key))) as string | null) ?? undefined;
  }

  async compareAndSet(
    key: string,
    expected: string | undefined,
    next: string | undefined,
    { ttlMs, identity }: LifetimeOptions = {},
  ): Promise<boolean> {
    const present = (text: string | undefined) =>
      text === undefined ? ['0', ''] : ['1', checkValue(text)];
    const lifetime = ttlMs === 'keep' ? ttlMs : whole(ttlMs);
    const args = [...present(expected), ...present(next), lifetime];
    return (await this.#write(COMPARE_AND_SET, key, identity, ...args)) === 1;
  }

  async increment(
    key: string,
    by: number,
    { max, windowMs, ttlMs = windowMs, identity }: IncrementOptions = {},
  ): Promise<Increment> {
    const args = [String(by), String(max ?? ''), whole(ttlMs)];
    const reply = await this.#write(INCREMENT, key, identity, ...args);
    const [state, text] = reply as readonly [number, string];
    if (state === 2) throw notANumber();
    return { applied: state === 1, value: text === '' ? undefined : Number(text) };
  }

  async expire(key: string, ttlMs: number): Promise<boolean> {
    return (await this.#send('PEXPIRE', this.#name(key), whole(ttlMs))) === 1;
  }

  async now(): Promise<StoreMoment> {
    const reply = await this.#send('EVAL', NOW, '0');
    const [seconds, microseconds, runId] = reply as readonly [string, string, string];
    const identity = this.#identity ?? runId;
    if (identity === '')
      throw storeUnavailable(
        'no_identity',
        "This Redis doesn't show its run_id (INFO server). Allow INFO, or pass identity: 'a name of your choice' if Redis never loses confirmed writes.",
        false,
      );
    return { time: Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000), identity };
  }

  async append(key: string, item: string, { max, ttlMs }: AppendOptions): Promise<void> {
    const args = [checkValue(item), String(max), whole(ttlMs)];
    await this.#send('EVAL', APPEND, '1', this.#name(key), ...args);
  }

  async read(key: string, { from = 0, limit = 100 }: ReadOptions = {}): Promise<readonly string[]> {
    const last = String(from + limit - 1);
    return (await this.#send('LRANGE', this.#name(key), String(from), last)) as string[];
  }

  async addToIndex(
    key: string,
    member: string,
    { max, ttlMs }: IndexOptions = {},
  ): Promise<boolean> {
    const args = [checkValue(member), String(max ?? ''), whole(ttlMs)];
    return (await this.#send('EVAL', ADD_TO_INDEX, '1', this.#name(key), ...args)) === 1;
  }

  async removeFromIndex(key: string, member: string): Promise<boolean> {
    return (await this.#send('ZREM', this.#name(key), member)) === 1;
  }

  async pageOfIndex(
    key: string,
    { reverse = false, after, limit = 100 }: IndexPage = {},
  ): Promise<readonly string[]> {
    const [command, first, last] = reverse
      ? ['ZREVRANGEBYLEX', '+', '-']
      : ['ZRANGEBYLEX', '-', '+'];
    const start = after === undefined ? first : `(${after}`;
    const page = [start, last, 'LIMIT', '0', String(limit)];
    return (await this.#send(command, this.#name(key), ...page)) as string[];
  }

  onAvailability(listener: (available: boolean) => void): () => void {
    return this.#link.availability.add(listener);
  }

  close(): Promise<void> {
    this.#link.close();
    return Promise.resolve();
  }

  #name(key: string): string {
    return this.#prefix + checkKey(key);
  }

  /** Runs a script that writes. The script fails if the store no longer has the given identity. */
  async #write(
    script: string,
    key: string,
    identity: string | undefined,
    ...args: readonly string[]
  ): Promise<unknown> {
    if (identity !== undefined && this.#identity !== undefined && identity !== this.#identity)
      throw restarted();
    const guard = this.#identity === undefined ? (identity ?? '') : '';
    return this.#send('EVAL', script, '1', this.#name(key), guard, ...args);
  }

  async #send(...command: readonly string[]): Promise<unknown> {
    try {
      return await this.#link.send(command);
    } catch (error) {
      const code = isToolError(error) ? error.details['code'] : undefined;
      if (code === 'WRONGTYPE') throw wrongKind();
      if (code === RESTARTED) throw restarted();
      throw error;
    }
  }
}

/** Returns whole milliseconds, rounded up so a key never expires early. */
function whole(ms: number | undefined): string {
  return ms === undefined ? '' : String(Math.ceil(ms));
}
