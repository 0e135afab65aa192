import { z } from 'zod';
import { ToolError } from '../../core/errors.js';
import { expectedGot, missingPackage } from '../../core/issues.js';
import {
  checkOptions,
  milliseconds,
  once,
  secret,
  text,
  withMethods,
  type FieldsOf,
} from '../../core/options.js';

/** The options of a store in Redis. */
export interface RedisStateStoreOptions {
  /**
   * The URL, `redis[s]://[[username][:password]@][host][:port][/database]`. Pass this or `client`.
   * @default none
   */
  readonly url?: string;
  /**
   * A client of the package `redis` 5 that your program made, for instance with certificates. Its
   * settings are used, never its connection. @default none
   */
  readonly client?: {
    readonly options?: object | undefined;
    duplicate(overrides?: object): unknown;
  };
  /** A prefix for all keys, so several programs can share one Redis. @default 'tooldex:' */
  readonly prefix?: string;
  /**
   * The time for which operations wait for an answer, in milliseconds from 100 to 60,000. Above 2,000, calls
   * can wait longer than the promised two seconds. @default 1000
   */
  readonly timeoutMs?: number;
  /**
   * A name for the store, if the Redis user can't run `INFO`. You then have to make sure that Redis
   * never comes back with an older state, because a fixed identity can't reveal that. @default the
   * `run_id` of the server
   */
  readonly identity?: string;
}

type RedisClientTemplate = NonNullable<RedisStateStoreOptions['client']>;

/** The parts of a client of the package `redis` 5 that are used. */
export interface RedisClient {
  on(event: string, listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  destroy(): void;
  sendCommand(args: readonly string[]): Promise<unknown>;
}

/** Makes a client that isn't connected yet. */
export type MakeRedisClient = (reconnectStrategy: () => number | false) => RedisClient;

export const DEFAULT_PREFIX = 'tooldex:';

const schema = once(() =>
  z.strictObject({
    url: secret<string>(
      'redis://host:port, or rediss:// with encryption, and optionally /number of the database',
      isRedisUrl,
    ).optional(), // The value can contain a password.
    client: withMethods<RedisClientTemplate>(
      'a client made by createClient from the package redis',
      'duplicate',
    ).optional(),
    prefix: z.string().max(128).default(DEFAULT_PREFIX),
    timeoutMs: milliseconds(100, 60_000).default(1_000),
    identity: text().optional(),
  } satisfies FieldsOf<RedisStateStoreOptions>),
);

export type CheckedRedisOptions = Readonly<z.output<ReturnType<typeof schema>>>;

/** Returns the error for something else in place of options, such as a client. */
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

/** Checks the options. @throws ToolError INVALID_ARGUMENT */
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

/** The settings that every client needs, whatever its other settings are. */
const SETTINGS = Object.freeze({
  RESP: 2,
  // A command that can't be sent is refused instead of queued: its caller won't wait that long.
  disableOfflineQueue: true,
  // Redis before 7.2 answers two of the client's commands with errors.
  disableClientInfo: true,
  maintNotifications: 'disabled',
  commandOptions: undefined,
  clientSideCache: undefined,
});

/**
 * Returns a function that makes clients, with the package or like the given client. It loads the
 * package.
 */
export async function clientMaker({
  url,
  client,
  timeoutMs,
}: CheckedRedisOptions): Promise<MakeRedisClient> {
  const createClient: (settings: object) => unknown =
    client === undefined
      ? (await import('redis').catch(missingPackage('redis', 'Run npm install redis@5.')))
          .createClient
      : (settings) => client.duplicate(settings);
  const { socket } = (client?.options ?? {}) as { readonly socket?: object };
  return (reconnectStrategy) =>
    createClient({
      ...SETTINGS,
      ...(url !== undefined && { url }),
      // A silent socket is closed. Pings keep a responsive socket from being silent for that long.
      pingInterval: timeoutMs / 2,
      socket: {
        ...socket,
        connectTimeout: 2 * timeoutMs,
        socketTimeout: 3 * timeoutMs,
        reconnectStrategy,
      },
    }) as RedisClient;
}

/** Returns true for the URL of a Redis. */
export function isRedisUrl(url: unknown): boolean {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  return (
    parsed !== undefined &&
    ['redis:', 'rediss:'].includes(parsed.protocol) &&
    /^(?:\/\d*)?$/.test(parsed.pathname)
  );
}
