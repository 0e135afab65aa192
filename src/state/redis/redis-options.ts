import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { expectedGot, missingPackage, requireInstalled } from '../../core/issues.js';
import {
  checkOptions,
  milliseconds,
  once,
  secret,
  text,
  withMethods,
  type FieldsOf,
} from '../../core/options.js';

/** The options of `RedisStateStore`. */
export interface RedisStateStoreOptions {
  /**
   * The connection URL: `redis[s]://[[username][:password]@][host][:port][/database]`. Pass either
   * `url` or `client`.
   * @default none
   */
  readonly url?: string;
  /**
   * A client from version 5 of the `redis` package, created by your program, for example to set
   * certificates. The store uses the client's settings, but not its connection. @default none
   */
  readonly client?: {
    readonly options?: object | undefined;
    duplicate(overrides?: object): unknown;
  };
  /**
   * A prefix for all keys, so that several programs can share one Redis server. @default 'tooldex:'
   */
  readonly prefix?: string;
  /**
   * The time to wait for an answer, in milliseconds, from 100 to 60,000. With more than 2,000,
   * calls can wait longer than the promised two seconds. @default 1000
   */
  readonly timeoutMs?: number;
  /**
   * A name that identifies the store if the Redis user can't run `INFO`. With a fixed name, tooldex
   * can't detect that Redis came back with older data, so you must make sure that this can't
   * happen.
   * @default the server's `run_id`
   */
  readonly identity?: string;
}

type RedisClientTemplate = NonNullable<RedisStateStoreOptions['client']>;

/** The methods that tooldex calls on a client from version 5 of the `redis` package. */
export interface RedisClient {
  on(event: string, listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  destroy(): void;
  sendCommand(args: readonly string[]): Promise<unknown>;
}

/** Creates a client that isn't connected yet. */
export type MakeRedisClient = (reconnectStrategy: () => number | false) => RedisClient;

export const DEFAULT_PREFIX = 'tooldex:';

const schema = once(() =>
  z.strictObject({
    url: secret<string>(
      'redis://host:port (rediss:// for TLS), optionally followed by /number for the database',
      isRedisUrl,
    ).optional(), // The URL can contain a password.
    client: withMethods<RedisClientTemplate>(
      'a client created by createClient from the redis package',
      'duplicate',
    ).optional(),
    prefix: z.string().max(128).default(DEFAULT_PREFIX),
    timeoutMs: milliseconds(100, 60_000).default(1_000),
    identity: text().optional(),
  } satisfies FieldsOf<RedisStateStoreOptions>),
);

export type CheckedRedisOptions = Readonly<z.output<ReturnType<typeof schema>>>;

/** Returns the error for a client that was passed instead of options. */
export function clientAsOptions(): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    expectedGot(
      'RedisStateStore.connect with options',
      'a client',
      'Write: await RedisStateStore.connect({ client }).',
    ),
  );
}

/** Validates the options. @throws ToolError `INVALID_ARGUMENT`. */
export function checkRedisOptions(options: RedisStateStoreOptions): CheckedRedisOptions {
  if (withMethods('a client', 'duplicate', 'sendCommand').safeParse(options).success)
    throw clientAsOptions();
  const checked = checkOptions(schema, options, 'options of RedisStateStore');
  if ((checked.url === undefined) !== (checked.client === undefined)) return checked;
  throw new ToolError(
    'INVALID_ARGUMENT',
    expectedGot('either url or client', checked.url === undefined ? 'neither' : 'both'),
  );
}

/** The settings that every client needs, regardless of its other settings. */
const SETTINGS = Object.freeze({
  RESP: 2,
  // Refuses commands that can't be sent now.
  // A queued command could be sent long after its caller stopped waiting.
  disableOfflineQueue: true,
  // Redis before 7.2 returns errors for two of the client's setup commands.
  disableClientInfo: true,
  maintNotifications: 'disabled',
  commandOptions: undefined,
  clientSideCache: undefined,
});

/**
 * Loads the `redis` package if needed, and returns a function that creates clients: from the URL,
 * or like the given client.
 */
export async function clientMaker({
  url,
  client,
  timeoutMs,
}: CheckedRedisOptions): Promise<MakeRedisClient> {
  const createClient: (settings: object) => unknown =
    client === undefined
      ? (await importRedis()).createClient
      : (settings) => client.duplicate(settings);
  const { socket } = (client?.options ?? {}) as { readonly socket?: object };
  return (reconnectStrategy) =>
    createClient({
      ...SETTINGS,
      ...(url !== undefined && { url }),
      // Closes a socket that has been silent for three times the timeout. On a working socket, the
      // answers to pings arrive more often than that.
      pingInterval: timeoutMs / 2,
      socket: {
        ...socket,
        connectTimeout: 2 * timeoutMs,
        socketTimeout: 3 * timeoutMs,
        reconnectStrategy,
      },
    }) as RedisClient;
}

async function importRedis() {
  try {
    return requireInstalled(await import('redis'));
  } catch (cause) {
    return missingPackage('redis', 'Run npm install redis@5.')(cause);
  }
}

export function isRedisUrl(url: unknown): boolean {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  return (
    parsed !== undefined &&
    ['redis:', 'rediss:'].includes(parsed.protocol) &&
    /^(?:\/\d*)?$/.test(parsed.pathname)
  );
}
