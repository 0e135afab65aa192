import { ToolError } from '../core/errors.js';
import { expectedGot, formatPath } from '../core/issues.js';
import { isPlainObject, MAX_DATA_DEPTH, type Json } from '../core/plain-data.js';
import { clip, describeField } from '../json-schema/schema-issues.js';
import { issueLine, type Path } from './input-issues.js';

/** The maximum size of a call's input: 256 KiB of UTF-8 JSON, as produced by `JSON.stringify`. */
const MAX_INPUT_BYTES = 262_144;

/**
 * The values that were deeply frozen here, which can't change any more, and the sizes in bytes of
 * copies, which don't need to be copied again.
 */
const SETTLED = new WeakMap<object, number>();
/** The size of a value that isn't a copy. It needs to be copied. */
const UNKNOWN_SIZE = Infinity;

/**
 * Returns a deeply frozen copy of a call's input. The original is never read again, so the value
 * that is checked, approved, and executed is always the same.
 *
 * The copy equals `JSON.parse(JSON.stringify(input))`: `undefined` members are dropped, −0 becomes
 * 0, and `__proto__` is an ordinary key. A missing input becomes `{}`. Copying stops as soon as a
 * limit is exceeded.
 *
 * @param maxBytes The maximum size in bytes of JSON. @default 262144 (256 KiB)
 * @throws ToolError `LIMIT_EXCEEDED` if the input is larger, or nests arrays and objects more than
 * 64 levels deep. `INVALID_INPUT` if it isn't plain data, or if reading it throws.
 */
export function boundInput(input: unknown, maxBytes = MAX_INPUT_BYTES): Json {
  const settled = SETTLED.get(input as object);
  if (settled !== undefined && settled <= maxBytes) return input as Json;
  let left = maxBytes;
  let refusal: ToolError | undefined;
  const path: (string | number)[] = [];

  function refuse(error: ToolError): never {
    refusal = error;
    throw error;
  }

  function spend(bytes: number): void {
    left -= bytes;
    if (left < 0) refuse(tooLarge(maxBytes));
  }

  function member(step: string | number, value: unknown): unknown {
    path.push(step);
    const copied = copy(value);
    path.pop();
    return copied;
  }

  function copy(value: unknown): unknown {
    if (typeof value === 'string') {
      spend(jsonBytesOf(value, left));
      return value;
    }
    if (value === null || typeof value === 'boolean' || Number.isFinite(value)) {
      const written = value === 0 ? 0 : value;
      spend(String(written).length);
      return written;
    }
    const isList = Array.isArray(value);
    if (!isList && !isPlainObject(value)) return refuse(notPlain(path, value));
    if (path.length >= MAX_DATA_DEPTH) refuse(tooDeep(path));
    spend(2);
    if (isList) {
      const list: unknown[] = [];
      // Refuses an array with a billion holes without iterating over it.
      // Each item takes at least one byte, its comma.
      spend(Math.max(0, value.length - 1));
      if (value.length > left) spend(value.length);
      for (let index = 0; index < value.length; index++) list.push(member(index, value[index]));
      return Object.freeze(list);
    }
    const object = {};
    let commas = 0;
    for (const key of Object.keys(value)) {
      const each = value[key];
      if (each === undefined) continue;
      spend(jsonBytesOf(key, left) + 1 + commas);
      commas = 1;
      addMember(object, key, member(key, each));
    }
    return Object.freeze(object);
  }

  try {
    const copied = copy(input === undefined ? {} : input);
    if (typeof copied === 'object' && copied !== null) SETTLED.set(copied, maxBytes - left);
    return copied as Json;
  } catch (error) {
    // An error thrown by a getter or trap is the input's fault, even if it's a ToolError.
    throw error === refusal
      ? error
      : invalidAt(path, "Couldn't read the input: a getter or proxy threw. Pass plain data.");
  }
}

/** Adds a key with defineProperty, because assigning to `__proto__` would change the prototype. */
function addMember(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true });
  else target[key] = value;
}

/**
 * Returns the size of a string in JSON, in bytes, including its quotes. Doesn't serialize strings
 * that are clearly too long.
 */
function jsonBytesOf(text: string, most: number): number {
  return text.length + 2 > most || PLAIN_TEXT.test(text)
    ? text.length + 2
    : utf8.encode(JSON.stringify(text)).length;
}

/** Text that takes one byte a character in JSON. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;
const utf8 = new TextEncoder();

function tooLarge(maxBytes: number): ToolError {
  return new ToolError(
    'LIMIT_EXCEEDED',
    expectedGot(
      `at most ${maxBytes} bytes of JSON as the input`,
      'more',
      'Send less, or split it into several calls.',
    ),
    { details: { maxBytes } },
  );
}

function tooDeep(path: Path): ToolError {
  const inside = clip(formatPath(path.slice(0, 3)), 200);
  return new ToolError(
    'LIMIT_EXCEEDED',
    expectedGot(
      `an input nested at most ${MAX_DATA_DEPTH} levels deep`,
      `deeper nesting (or a cycle) inside ${inside}`,
      'Flatten it.',
    ),
    { details: { maxDepth: MAX_DATA_DEPTH } },
  );
}

function notPlain(path: Path, value: unknown): ToolError {
  return invalidAt(
    path,
    expectedGot(
      'plain data (text, finite numbers, booleans, null, lists, objects)',
      describeField(path, value),
    ),
  );
}

function invalidAt(at: Path, message: string): ToolError {
  const path = [...at];
  return new ToolError('INVALID_INPUT', issueLine({ path, message }), {
    details: { issues: [{ path, message }] },
  });
}

/** Returns true if a value was frozen here and can't change any more. */
export function isUnchangeable(value: unknown): boolean {
  return SETTLED.has(value as object);
}

/**
 * Freezes a value's plain objects and arrays recursively, and returns the value.
 *
 * Class instances (dates, maps, typed arrays) and their contents aren't frozen: freezing breaks
 * some classes and doesn't prevent changes in others.
 */
export function freezePlain<T>(value: T): T {
  if (!(Array.isArray(value) || isPlainObject(value)) || SETTLED.has(value)) return value;
  SETTLED.set(Object.freeze(value), UNKNOWN_SIZE);
  Object.values(value).forEach(freezePlain);
  return value;
}
