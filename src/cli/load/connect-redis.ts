import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isToolError, ToolError } from '../../core/errors.js';
import { DEFAULT_PREFIX, isRedisUrl } from '../../state/redis/redis-options.js';
import { RedisStateStore } from '../../state/redis/redis-state-store.js';
import { textOption, withDefault, type Options } from '../command/options.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** Options for commands that read other processes' Redis. */
export const REDIS_OPTIONS = {
  redis: textOption('<url>', "the Redis that the agents' processes use", {
    env: 'TOOLDEX_REDIS_URL',
  }),
  redisPrefix: withDefault(
    textOption('<text>', 'the prefix of their keys, as in the prefix option of RedisStateStore'),
    DEFAULT_PREFIX,
  ),
} satisfies Options;

/**
 * Connects to Redis. @throws ToolError that explains why Redis can't be used, without revealing the
 * password.
 */
export async function connectRedis(url: string, prefix: string): Promise<RedisStateStore> {
  if (!isRedisUrl(url))
    throw wrongUsage(
      'Expected --redis or TOOLDEX_REDIS_URL to be redis://host:port, or rediss:// for TLS. The URL may contain a user, a password and a database number.',
    );
  const store = await RedisStateStore.connect({ url, prefix });
  try {
    await store.get('health');
    return store;
  } catch (cause) {
    await store.close();
    if (!isToolError(cause)) throw cause;
    const { code, reason } = cause.details;
    const why = code ?? /\(([^)]+)\)/.exec(cause.message)?.[1] ?? reason;
    throw new ToolError(
      'STATE_UNAVAILABLE',
      `Redis at ${placeOf(url)} isn't responding (${String(why)}). Start it, or correct --redis or TOOLDEX_REDIS_URL.`,
      { cause },
    );
  }
}

/** Returns the host and port of a Redis server, without secrets. */
export function placeOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname || 'localhost'}:${port || '6379'}`;
}

/** Option for commands that answer calls. */
export const KEY_OPTIONS = {
  approvalKeyFile: textOption(
    '<file>',
    "the file with the agents' approval key, as 64 or more hexadecimal digits",
  ),
} satisfies Options;

/** Reads the agents' approval key. @throws ToolError `INVALID_ARGUMENT`. */
export function readApprovalKey(file: string, cwd: string): Uint8Array {
  let digits;
  try {
    digits = readFileSync(resolve(cwd, file), 'utf8').trim();
  } catch (error) {
    throw wrongUsage(`Could not read --approval-key-file ${file}.`, error);
  }
  if (!/^(?:[\da-f]{2}){32,}$/i.test(digits))
    throw wrongUsage(
      `Expected 64 or more hexadecimal digits in ${file}, got ${digits.length} characters. Generate a key with: openssl rand -hex 32`,
    );
  return Buffer.from(digits, 'hex');
}
