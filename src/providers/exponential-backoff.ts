import { z } from 'zod';
import { invalidArgument } from '../core/issues.js';
import { aFunction, checkOptions, once, type FieldsOf } from '../core/options.js';

interface BackoffOptions {
  /** The longest wait after the first failure, in milliseconds. @default 1000 */
  readonly baseMs?: number;
  /** The longest wait after any failure, in milliseconds. @default 60_000 */
  readonly capMs?: number;
  /** Returns numbers from 0 up to, but not including, 1. @default Math.random */
  readonly random?: () => number;
  /**
   * `full` picks a random wait up to the bound, `none` waits for the whole bound. @default 'full'
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
 * Returns how many milliseconds to wait after a number of consecutive failures: a random share of
 * `min(cap, base · 2^(failures − 1))`.
 *
 * Full jitter spreads the retries of clients that failed together, instead of letting them all come
 * back at once. The wait is finite for any number of failures; after 0 failures it's 0.
 *
 * Source: "Exponential backoff and jitter", AWS architecture blog. Base and cap are those of the
 * system that routed these tools before.
 *
 * @throws ToolError `INVALID_ARGUMENT` for options of a wrong type, or a wrong number of failures.
 */
export function exponentialBackoff(failures: number, options: BackoffOptions = {}): number {
  if (!Number.isSafeInteger(failures) || failures < 0)
    throw invalidArgument('a number of failures, 0 or more', failures);
  const { baseMs, capMs, random, jitter } = checkOptions(schema, options, 'options of the backoff');
  if (failures === 0) return 0;
  // 2^1023 is the largest power of two that a number can hold. The cap also limits an infinite
  // product.
  const bound = Math.min(capMs, baseMs * 2 ** Math.min(failures - 1, 1_023));
  return jitter === 'none' ? bound : random() * bound;
}
