import { z } from 'zod';
import { invalidArgument } from '../core/issues.js';
import { aFunction, checkOptions, once, type FieldsOf } from '../core/options.js';

interface BackoffOptions {
  /** The maximum delay after the first failure, in milliseconds. @default 1000 */
  readonly baseMs?: number;
  /** The maximum delay after any failure, in milliseconds. @default 60_000 */
  readonly capMs?: number;
  /** Returns a random number from 0 up to 1. @default Math.random */
  readonly random?: () => number;
  /**
   * `full` picks a random delay up to the maximum, `none` always uses the maximum. @default 'full'
   */
  readonly jitter?: 'full' | 'none';
}

const schema = once(() =>
  z.strictObject({
    baseMs: z.number().min(0).default(1_000),
    capMs: z.number().min(0).default(60_000),
    random: aFunction<() => number>().default(() => Math.random),
    jitter: z.enum(['full', 'none']).default('full'),
  } satisfies FieldsOf<BackoffOptions>),
);

/**
 * Returns the delay in milliseconds after a number of consecutive failures. The delay is a random
 * fraction of `min(cap, base · 2^(failures − 1))`.
 *
 * Full jitter spreads the retries of clients that failed together, so that they don't all come back
 * at the same time. The delay is finite for any number of failures, and 0 after 0 failures.
 *
 * Source: "Exponential backoff and jitter", AWS architecture blog. The default base and cap come
 * from this library's predecessor.
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid options or an invalid number of failures.
 */
export function exponentialBackoff(failures: number, options: BackoffOptions = {}): number {
  if (!Number.isSafeInteger(failures) || failures < 0)
    throw invalidArgument('a number of failures, 0 or more', failures);
  const { baseMs, capMs, random, jitter } = checkOptions(schema, options, 'options of the backoff');
  if (failures === 0) return 0;
  // 2^1023 is the largest power of two that a number can represent.
  // Even if the product is infinite, the cap limits it.
  const bound = Math.min(capMs, baseMs * 2 ** Math.min(failures - 1, 1_023));
  return jitter === 'none' ? bound : random() * bound;
}
