import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { checkOptions, milliseconds, secret, withMethods, type FieldsOf } from '../../core/options.js';
import type { MakeRedisClient, RedisClient } from './redis-link.js';

/** A client of the package `redis` 5 that you made, for instance with certificates: its settings are used, never its connection. */
export interface RedisClientTemplate {
  readonly options?: object | undefined;
  duplicate(overrides?: object): unknown;
}

export interface RedisStateStoreOptions {
  /** `redis[s]://[[username][:password]@][host][:port][/database]`; this or `client`. */
  readonly url?: string;
  readonly client?: RedisClientTemplate;
  /** Put before all keys and channels, so that several programs can share one Redis. @default 'tooldex:' */
  readonly prefix?: string;
  /** How long operations wait while Redis answers nothing at all; 1 to 60,000 milliseconds. Above 200 it breaks the promise of 250 ms. @default 200 */
  readonly timeoutMs?: number;
  /**
   * What a restart of Redis, or another server in its place, means for approvals, budgets and sessions. Redis may come
   * back with an older state: `'refuse'` asks and counts again, on the safe side. `'trust'` is for a store that never
   * loses what it has confirmed (`appendfsync always`, and no failover to a replica), or whose user may not ask for its
   * `run_id` and `maxmemory-policy` (`INFO`): you then answer for both. An eviction policy that it tells is refused all the same.
   *
   * @default 'refuse'
   */
  readonly onStoreRestart?: 'refuse' | 'trust';
}

export interface CheckedRedisOptions {
  readonly source: { readonly url: string } | { readonly client: RedisClientTemplate };
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly onStoreRestart: 'refuse' | 'trust';
}

const LONGEST_PREFIX = 128;
const LONGEST_TIMEOUT_MS = 60_000;

const schema = z.strictObject({
  url: secret<string>('redis://host:port, or rediss:// with encryption, and optionally /number of the database', isRedisUrl).optional(), // It may carry a password.
  client: withMethods<RedisClientTemplate>('a client made by createClient of the package redis', 'duplicate').optional(),
  prefix: z.string().max(LONGEST_PREFIX).default('tooldex:'),
  timeoutMs: milliseconds(1, LONGEST_TIMEOUT_MS).default(200),
  onStoreRestart: z.enum(['refuse', 'trust']).default('refuse'),
} satisfies FieldsOf<RedisStateStoreOptions>);

/** @throws ToolError INVALID_ARGUMENT */
export function checkRedisOptions(options: RedisStateStoreOptions): CheckedRedisOptions {
  const { url, client, ...rest } = checkOptions(schema, options, 'options of RedisStateStore');
  if (url !== undefined && client === undefined) return { source: { url }, ...rest };
  if (client !== undefined && url === undefined) return { source: { client }, ...rest };
  throw new ToolError('INVALID_ARGUMENT', expectedGot('either url or client', url === undefined ? 'neither' : 'both'));
}

/** How clients are made: of the package, which is loaded now, or like the one given. */
export async function clientMaker(source: CheckedRedisOptions['source'], load: () => Promise<unknown> = () => import('redis')): Promise<MakeRedisClient> {
  if ('url' in source) {
    const { createClient } = await loadRedis(load);
    return ({ connectTimeout, reconnectStrategy }) => createClient({ ...OVERRIDES, url: source.url, socket: { ...SOCKET, connectTimeout, reconnectStrategy } });
  }
  const { client } = source;
  return ({ connectTimeout, reconnectStrategy }) => {
    const socket = (client.options as { readonly socket?: object } | undefined)?.socket;
    return client.duplicate({ ...OVERRIDES, socket: { ...SOCKET, ...socket, connectTimeout, reconnectStrategy } }) as RedisClient;
  };
}

/** What a busy process can write in one turn of its event loop: with the default of Node it is about 100 operations. */
const SOCKET = Object.freeze({ writableHighWaterMark: 1_048_576 });

/** What every client needs, whatever else it was made with. */
const OVERRIDES = Object.freeze({
  RESP: 2,
  // What could not be sent is refused, not kept: the caller has long gone on.
  disableOfflineQueue: true,
  // Two commands that Redis before 7.2 answers with errors.
  disableClientInfo: true,
  maintNotifications: 'disabled',
  commandOptions: undefined,
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  clientSideCache: undefined,
  emitInvalidate: false,
});

async function loadRedis(load: () => Promise<unknown>): Promise<{ readonly createClient: (options: object) => RedisClient }> {
  try {
    return (await load()) as { readonly createClient: (options: object) => RedisClient };
  } catch (cause) {
    throw new ToolError('MISSING_PACKAGE', expectedGot("the package 'redis' to be installed", 'none that loads', 'Run: npm install redis@5'), { details: { package: 'redis' }, cause });
  }
}

/** Whether a text is the address of a Redis. */
export function isRedisUrl(url: unknown): boolean {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  return parsed !== undefined && ['redis:', 'rediss:'].includes(parsed.protocol) && /^(?:\/\d*)?$/.test(parsed.pathname);
}
