import { ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';
import { checkOptions } from '../state-arguments.js';
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
  /** How long one operation may wait for Redis; 1 to 60,000 milliseconds. Above 200 it breaks the promise of 250 ms. @default 200 */
  readonly timeoutMs?: number;
}

export interface CheckedRedisOptions {
  readonly source: { readonly url: string } | { readonly client: RedisClientTemplate };
  readonly prefix: string;
  readonly timeoutMs: number;
}

const LONGEST_PREFIX = 128;
const LONGEST_TIMEOUT_MS = 60_000;

/** @throws ToolError INVALID_ARGUMENT */
export function checkRedisOptions(options: RedisStateStoreOptions): CheckedRedisOptions {
  const { url, client, prefix = 'tooldex:', timeoutMs = 200 } = checkOptions(options, ['url', 'client', 'prefix', 'timeoutMs']);
  if ((url === undefined) === (client === undefined)) throw invalid(`expected either url or client, found ${url === undefined ? 'neither' : 'both'}`);
  if (typeof prefix !== 'string' || prefix.length > LONGEST_PREFIX) throw invalid(`expected prefix as text of at most ${LONGEST_PREFIX} characters, found ${describeValue(prefix)}`);
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 1 && timeoutMs <= LONGEST_TIMEOUT_MS)) throw invalid(`expected timeoutMs from 1 to ${LONGEST_TIMEOUT_MS}, found ${describeValue(timeoutMs)}`);
  return { source: url === undefined ? { client: checkClient(client) } : { url: checkUrl(url) }, prefix, timeoutMs };
}

/** How clients are made: of the package, which is loaded now, or like the one given. */
export async function clientMaker(source: CheckedRedisOptions['source'], load: () => Promise<unknown> = () => import('redis')): Promise<MakeRedisClient> {
  if ('url' in source) {
    const { createClient } = await loadRedis(load);
    return ({ connectTimeout, reconnectStrategy }) => createClient({ ...OVERRIDES, url: source.url, socket: { connectTimeout, reconnectStrategy } });
  }
  const { client } = source;
  return ({ connectTimeout, reconnectStrategy }) => {
    const socket = (client.options as { readonly socket?: object } | undefined)?.socket;
    return client.duplicate({ ...OVERRIDES, socket: { ...socket, connectTimeout, reconnectStrategy } }) as RedisClient;
  };
}

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
    throw new ToolError('MISSING_PACKAGE', "expected the package 'redis' to be installed, found none that loads; run: npm install redis@5", { details: { package: 'redis' }, cause });
  }
}

/** The address is not repeated in messages: it may carry a password. */
function checkUrl(url: unknown): string {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (typeof url !== 'string' || parsed === undefined || !['redis:', 'rediss:'].includes(parsed.protocol) || !/^(?:\/\d*)?$/.test(parsed.pathname)) {
    throw invalid('expected url as redis://host:port, or rediss:// with encryption, and optionally /number of the database; found something else');
  }
  return url;
}

function checkClient(client: unknown): RedisClientTemplate {
  if (typeof client !== 'object' || client === null || typeof (client as { duplicate?: unknown }).duplicate !== 'function') {
    throw invalid(`expected client as made by createClient of the package redis, found ${describeValue(client)}`);
  }
  return client as RedisClientTemplate;
}

function invalid(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}
