import { describeValue, digestOf, isPlainObject } from '../core/plain-data.js';
import { ToolError } from '../core/errors.js';
import type { IncrementOptions, LifetimeOptions } from './state-store.js';

/** What a store takes: small state, no documents. */
export const STATE_LIMITS = Object.freeze({
  /** Characters of a key or channel. */
  keyLength: 512,
  /** Bytes of a value or message, as UTF-8. */
  valueBytes: 1_048_576,
});

/** Half of a character pair has no UTF-8 form: two different keys would become one, and a value would come back changed. */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** Characters of a name that are part of its key as they are. */
const LONGEST_NAME = 300;

/** The key of a name: readable for usual names, a digest for those that no store would take. */
export function storeKey(prefix: string, name: string): string {
  return `${prefix}:${name.length > LONGEST_NAME || LONE_SURROGATE.test(name) ? `sha256:${digestOf(name)}` : name}`;
}

export function checkKey(key: unknown, what = 'key'): string {
  const text = checkText(key, what);
  if (text === '') throw invalid(`expected a ${what} of 1 to ${STATE_LIMITS.keyLength} characters, found an empty one`);
  if (text.length > STATE_LIMITS.keyLength) throw tooLong(`expected a ${what} of at most ${STATE_LIMITS.keyLength} characters, found ${text.length}; shorten it, for instance to a digest`);
  return text;
}

export function checkValue(value: unknown, what = 'value'): string {
  const text = checkText(value, what);
  const bytes = Buffer.byteLength(text);
  if (bytes > STATE_LIMITS.valueBytes) throw tooLong(`expected a ${what} of at most ${STATE_LIMITS.valueBytes} bytes, found ${bytes}; keep large data elsewhere and its address here`);
  return text;
}

export function checkOptionalValue(value: unknown, what: string): string | undefined {
  return value === undefined ? undefined : checkValue(value, what);
}

/** Whole milliseconds, rounded up: a key never ends before its time. */
export function checkTtl(ttlMs: unknown): number {
  const whole = typeof ttlMs === 'number' ? Math.ceil(ttlMs) : NaN;
  if (!Number.isSafeInteger(whole) || whole <= 0) throw invalid(`expected ttlMs above 0, in milliseconds, found ${describeValue(ttlMs)}`);
  return whole;
}

export function checkLifetime(options: LifetimeOptions | undefined): { readonly ttlMs: number | undefined } {
  const { ttlMs } = checkOptions(options, ['ttlMs']);
  return { ttlMs: ttlMs === undefined ? undefined : checkTtl(ttlMs) };
}

export function checkIncrement(by: unknown, options: IncrementOptions | undefined): { readonly by: number; readonly max: number | undefined; readonly ttlMs: number | undefined; readonly mustExist: boolean } {
  const { max, ttlMs, mustExist = false } = checkOptions(options, ['max', 'ttlMs', 'mustExist']);
  if (typeof mustExist !== 'boolean') throw invalid(`expected mustExist as true or false, found ${describeValue(mustExist)}`);
  return {
    by: checkNumber(by, 'by'),
    max: max === undefined ? undefined : checkNumber(max, 'max'),
    ttlMs: ttlMs === undefined ? undefined : checkTtl(ttlMs),
    mustExist,
  };
}

export function checkListener<T>(listener: T): T {
  if (typeof listener !== 'function') throw invalid(`expected a function that listens, found ${describeValue(listener)}`);
  return listener;
}

/** The options as they are, if all their names are known. */
export function checkOptions(options: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (options === undefined) return {};
  if (!isPlainObject(options)) throw invalid(`expected options as an object, found ${describeValue(options)}`);
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalid(`expected options among ${known.join(', ')}, found ${describeValue(unknown)}`);
  return options;
}

/** The number that a text is, as every store reads it; `undefined` for other texts. */
export function numberOf(text: string): number | undefined {
  // Number() alone would also take '', ' 1', '0x10' and 'Infinity', of which Redis thinks otherwise.
  if (!/^-?[\d.]+(?:[eE][+-]?\d+)?$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

export function notANumber(): ToolError {
  return invalid('expected a number under the key, found other text; use another key for counting');
}

function checkText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw invalid(`expected a ${what} as text, found ${describeValue(value)}`);
  if (LONE_SURROGATE.test(value)) throw invalid(`expected a ${what} as well-formed text, found half of a character pair`);
  return value;
}

function checkNumber(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`expected ${what} as a finite number, found ${describeValue(value)}`);
  return value;
}

function invalid(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}

function tooLong(message: string): ToolError {
  return new ToolError('LIMIT_EXCEEDED', message);
}
