import { z } from 'zod';
import { isToolError, ToolError } from '../core/errors.js';
import { expectedGot, invalidArgument } from '../core/issues.js';
import { checkOptions, once, type FieldsOf } from '../core/options.js';
import { digestOf } from '../core/plain-data.js';
import type {
  AppendOptions,
  IncrementOptions,
  LifetimeOptions,
  ReadOptions,
} from './state-store.js';

/** The sizes that a store takes: it is for small state, not for documents. */
const STATE_LIMITS = Object.freeze({
  /** Characters of a key or channel. */
  keyLength: 512,
  /** Bytes of a value or message, as UTF-8. */
  valueBytes: 1_048_576,
  /** Items of one list, and keys in one answer. */
  listItems: 10_000,
  /** Items read at once. */
  readItems: 1_000,
});

/**
 * A lone half of a character pair has no UTF-8 form: two different keys would become one, and a value would come back
 * changed.
 */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** Characters of a name that are part of its key as they are. */
const LONGEST_NAME = 300;

/** Returns the key of a name: readable for usual names, a digest for those that no store would take. */
export function storeKey(prefix: string, name: string): string {
  return `${prefix}:${name.length > LONGEST_NAME || LONE_SURROGATE.test(name) ? `sha256:${digestOf(name)}` : name}`;
}

export function checkKey(key: unknown, what = 'key'): string {
  const text = checkText(key, what);
  if (text === '')
    throw invalid(
      expectedGot(`a ${what} of 1 to ${STATE_LIMITS.keyLength} characters`, 'an empty one'),
    );
  if (text.length > STATE_LIMITS.keyLength)
    throw tooLong(
      expectedGot(
        `a ${what} of at most ${STATE_LIMITS.keyLength} characters`,
        `${text.length}`,
        'Shorten it, for instance to a digest.',
      ),
    );
  return text;
}

export function checkValue(value: unknown, what = 'value'): string {
  const text = checkText(value, what);
  const bytes =
    text.length * 3 <= STATE_LIMITS.valueBytes
      ? text.length
      : new TextEncoder().encode(text).length;
  if (bytes > STATE_LIMITS.valueBytes)
    throw tooLong(
      expectedGot(
        `a ${what} of at most ${STATE_LIMITS.valueBytes} bytes`,
        `${bytes}`,
        'Keep large data elsewhere and its address here.',
      ),
    );
  return text;
}

export function checkOptionalValue(value: unknown, what: string): string | undefined {
  return value === undefined ? undefined : checkValue(value, what);
}

const TTL = 'milliseconds above 0';
const isTtl = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && Number.isSafeInteger(Math.ceil(value));
// Whole milliseconds, rounded up: a key never ends before its time.
const ttlMs = () => z.custom<number>(isTtl, TTL).transform(Math.ceil).optional();
const keptTtlMs = () =>
  z
    .custom<number | 'keep'>((value) => value === 'keep' || isTtl(value), `${TTL}, or 'keep'`)
    .transform((value) => (value === 'keep' ? value : Math.ceil(value)))
    .optional();
const identity = () => z.string().optional();
const count = (max: number) => z.int().min(1).max(max);

/** Returns a function that checks the options of an operation. */
function checker<S extends z.ZodType>(make: () => S): (options: unknown) => Readonly<z.output<S>> {
  const schema = once(make);
  return (options) => checkOptions(schema, options, 'options of the operation');
}

export const checkLifetime = checker(() =>
  z.strictObject({ ttlMs: keptTtlMs(), identity: identity() } satisfies FieldsOf<LifetimeOptions>),
);
export const checkIncrement = checker(() =>
  z
    .strictObject({
      ttlMs: ttlMs(),
      identity: identity(),
      windowMs: ttlMs(),
      max: z.number().default(Number.MAX_VALUE),
      mustExist: z.boolean().default(false),
    } satisfies FieldsOf<IncrementOptions>)
    .refine(({ ttlMs, windowMs }) => ttlMs === undefined || windowMs === undefined, {
      error: expectedGot('ttlMs or windowMs', 'both', 'A window has its own lifetime.'),
    }),
);
export const checkAppend = checker(() =>
  z.strictObject({
    at: z.int().min(0).optional(),
    max: count(STATE_LIMITS.listItems),
    ttlMs: ttlMs(),
    identity: identity(),
  } satisfies FieldsOf<AppendOptions>),
);
export const checkRead = checker(() =>
  z.strictObject({
    from: z.int().min(0).default(0),
    limit: count(STATE_LIMITS.readItems).default(100),
  } satisfies FieldsOf<ReadOptions>),
);

export function checkTtl(ttlMs: unknown): number {
  if (!isTtl(ttlMs)) throw invalidArgument(`ttlMs as ${TTL}`, ttlMs);
  return Math.ceil(ttlMs);
}

export function checkNumber(by: unknown): void {
  if (typeof by !== 'number' || !Number.isFinite(by))
    throw invalidArgument('by as a finite number', by);
}

export function checkLimit(limit: unknown = 1_000): number {
  if (!count(STATE_LIMITS.listItems).safeParse(limit).success)
    throw invalidArgument(`limit as a whole number from 1 to ${STATE_LIMITS.listItems}`, limit);
  return limit as number;
}

/** The parts of a sliding window: it moves on by one of them. */
export const WINDOW_STEPS = 8;

export function checkListener<T>(listener: T): T {
  if (typeof listener !== 'function') throw invalidArgument('a function that listens', listener);
  return listener;
}

/** Returns the number in a text, as every store reads it; `undefined` for other texts. */
export function numberOf(text: string): number | undefined {
  // Number() alone would also take '', ' 1', '0x10' and 'Infinity', which Redis refuses.
  if (!/^-?[\d.]+(?:[eE][+-]?\d+)?$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

export function notANumber(): ToolError {
  return invalid(
    expectedGot('a number under the key', 'other text', 'Use another key for counting.'),
  );
}

export function notAList(): ToolError {
  return invalid(expectedGot('a list under the key', 'text', 'Use another key for the list.'));
}

export function notAText(): ToolError {
  return invalid(expectedGot('text under the key', 'a list', 'Use another key for the text.'));
}

export function closed(): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    expectedGot('an open state store', 'a closed one', 'Use it before close().'),
    { details: { reason: 'closed', sent: false } },
  );
}

/** The refusal by a store that is not the one the caller means: it restarted, or another server took over. */
export function restarted(): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    expectedGot(
      'the same state store as before',
      'one that restarted since, or another server',
      'It may hold an older state: begin again with what now() tells.',
    ),
    { details: { reason: 'restarted', sent: false } },
  );
}

export function isRestarted(error: unknown): boolean {
  return (
    isToolError(error) &&
    error.code === 'STATE_UNAVAILABLE' &&
    error.details['reason'] === 'restarted'
  );
}

function checkText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw invalidArgument(`a ${what} as a string`, value);
  if (LONE_SURROGATE.test(value))
    throw invalid(expectedGot(`a ${what} as well-formed text`, 'half of a character pair'));
  return value;
}

function invalid(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}

function tooLong(message: string): ToolError {
  return new ToolError('LIMIT_EXCEEDED', message);
}
