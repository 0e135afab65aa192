import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { expectedGot, missingPackage } from '../../core/issues.js';
import {
  checkOptions,
  milliseconds,
  secret,
  withMethods,
  type FieldsOf,
} from '../../core/options.js';
import type { MakeRedisClient, RedisClient } from './redis-link.js';

/** The options of a store in Redis. */
export interface RedisStateStoreOptions {
  /** The address, `redis[s]://[[username][:password]@][host][:port][/database]`; this or `client`. @default none */
  readonly url?: string;
  /** A client of the package `redis` 5 made by the program, for instance with certificates: its settings are used, never its connection. @default none */
  readonly client?: {
    readonly options?: object | undefined;
    duplicate(overrides?: object): unknown;
  };
  /** The prefix of all keys and channels, so that several programs can share one Redis. @default 'tooldex:' */
  readonly prefix?: string;
  /**
   * The time that operations wait while Redis answers nothing at all; 1 to 60,000 milliseconds. Above 200 it breaks the
   * promise of 250 ms. @default 200
   */
  readonly timeoutMs?: number;
  /**
   * The consequence of a restart of Redis, or of another server in its place, for approvals, budgets and sessions.
   * Redis may come back with an older state: `'refuse'` asks and counts again, on the safe side. `'trust'` is for a
   * store that never loses what it has confirmed (`appendfsync always`, and no failover to a replica), or whose user
   * may not ask for its `run_id` and `maxmemory-policy` (`INFO`): the operator then answers for both. A known eviction
   * policy is refused all the same.
   *
   * @default 'refuse'
   */
  readonly onStoreRestart?: 'refuse' | 'trust';
}

type RedisClientTemplate = NonNullable<RedisStateStoreOptions['client']>;

export const DEFAULT_PREFIX = 'tooldex:';
const LONGEST_PREFIX = 128;
const LONGEST_TIMEOUT_MS = 60_000;

const schema = z.strictObject({
  url: secret<string>(
    'redis://host:port, or rediss:// with encryption, and optionally /number of the database',
    isRedisUrl,
  ).optional(), // It may hold a password.
  client: withMethods<RedisClientTemplate>(
    'a client made by createClient of the package redis',
    'duplicate',
  ).optional(),
  prefix: z.string().max(LONGEST_PREFIX).default(DEFAULT_PREFIX),
  timeoutMs: milliseconds(1, LONGEST_TIMEOUT_MS).default(200),
  onStoreRestart: z.enum(['refuse', 'trust']).default('refuse'),
} satisfies FieldsOf<RedisStateStoreOptions>);

export type CheckedRedisOptions = Readonly<z.output<typeof schema>>;

/** Checks the options. @throws ToolError INVALID_ARGUMENT */
export function checkRedisOptions(options: RedisStateStoreOptions): CheckedRedisOptions {
  const checked = checkOptions(schema, options, 'options of RedisStateStore');
  if ((checked.url === undefined) !== (checked.client === undefined)) return checked;
  throw new ToolError(
    'INVALID_ARGUMENT',
    expectedGot('either url or client', checked.url === undefined ? 'neither' : 'both'),
  );
}

/** Returns a function that makes clients: of the package, which is loaded now, or like the given one. */
export async function clientMaker({
  url,
  client,
}: Pick<CheckedRedisOptions, 'url' | 'client'>): Promise<MakeRedisClient> {
  if (client === undefined) {
    const { createClient } = await import('redis').catch(
      missingPackage('redis', 'Run npm install redis@5.'),
    );
    return (settings) =>
      createClient({
        ...OVERRIDES,
        url,
        socket: { ...SOCKET, ...settings },
      } as object) as unknown as RedisClient;
  }
  return (settings) => {
    const { socket } = (client.options ?? {}) as { readonly socket?: object };
    return client.duplicate({
      ...OVERRIDES,
      socket: { ...SOCKET, ...socket, ...settings },
    }) as RedisClient;
  };
}

/**
 * The socket settings for what a busy process writes in one turn of its event loop: Node's default holds about 100
 * operations.
 */
const SOCKET = Object.freeze({ writableHighWaterMark: 1_048_576 });

/** The settings that every client needs, whatever its others are. */
const OVERRIDES = Object.freeze({
  RESP: 2,
  // A command that could not be sent is refused, not kept: its caller has long gone on.
  disableOfflineQueue: true,
  // Redis before 7.2 answers two of its commands with errors.
  disableClientInfo: true,
  maintNotifications: 'disabled',
  commandOptions: undefined,
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  clientSideCache: undefined,
  emitInvalidate: false,
});

/** Returns true for the address of a Redis. */
export function isRedisUrl(url: unknown): boolean {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  return (
    parsed !== undefined &&
    ['redis:', 'rediss:'].includes(parsed.protocol) &&
    /^(?:\/\d*)?$/.test(parsed.pathname)
  );
}
