import { ToolError } from '../core/errors.js';
import { expectedGot, formatPath } from '../core/issues.js';
import { isPlainObject, MAX_DATA_DEPTH, type Json } from '../core/plain-data.js';
import { clip, describeField } from '../json-schema/schema-issues.js';
import { issueLine, type Path } from './input-issues.js';

/** The largest input of one call: 256 KiB of JSON text in UTF-8, as JSON.stringify writes it. */
export const MAX_INPUT_BYTES = 262_144;

/** The copies made here, with their sizes in bytes, so that a copy is not copied again. */
const COPIES = new WeakMap<object, number>();

/**
 * Returns a frozen deep copy of a call's input; no other code may read the input before.
 *
 * What is checked, approved and executed is one and the same value. The copy equals `JSON.parse(JSON.stringify(input))`:
 * members without a value are dropped, −0 becomes 0, and `__proto__` is a key like any other. A missing input is `{}`.
 * It ends at the first bound that is passed.
 *
 * @param maxBytes bytes of JSON text. @default 262144 (256 KiB)
 * @throws ToolError `LIMIT_EXCEEDED` beyond that, or for lists and objects nested more than 64 deep; `INVALID_INPUT`
 * for what is no plain data, and for values that fail when they are read.
 */
export function boundInput(input: unknown, maxBytes = MAX_INPUT_BYTES): Json {
  const known = COPIES.get(input as object);
  if (known !== undefined && known <= maxBytes) return input as Json;
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
      // A list of a billion holes is refused before it is walked: every item takes a character and a comma.
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
    if (typeof copied === 'object' && copied !== null) {
      COPIES.set(copied, maxBytes - left);
      SETTLED.add(copied);
    }
    return copied as Json;
  } catch (error) {
    // The message of whatever a getter or trap throws, even a ToolError, is the input's and not ours.
    throw error === refusal
      ? error
      : invalidAt(path, expectedGot('data that can be read', 'a value that fails when it is read'));
  }
}

/** Adds a key without an assignment: one to `__proto__` would change the prototype instead. */
function addMember(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true });
  else target[key] = value;
}

/** Counts the bytes of a text in JSON, quotes included. A text that is too long anyway isn't written first. */
function jsonBytesOf(text: string, most: number): number {
  return text.length + 2 > most
    ? text.length + 2
    : new TextEncoder().encode(JSON.stringify(text)).length;
}

function tooLarge(maxBytes: number): ToolError {
  return new ToolError(
    'LIMIT_EXCEEDED',
    expectedGot(
      `an input of at most ${maxBytes} bytes of JSON`,
      'more',
      'Send less, or in several calls.',
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
      `more (or a cycle) inside ${inside}`,
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

/** The values that are frozen to the leaves and answer every read with the same, so that no copy of them is needed. */
const SETTLED = new WeakSet<object>();

/** Returns true for a value that was frozen here and cannot answer differently the next time. */
export function isSettled(value: unknown): boolean {
  return SETTLED.has(value as object);
}

/**
 * Freezes the plain objects and lists that a value consists of, and returns it.
 *
 * Instances of classes (dates, maps, typed arrays) and what is inside of them are left alone: freezing breaks some, and
 * does not keep others from changing.
 */
export function freezePlain<T>(value: T): T {
  if (!(Array.isArray(value) || isPlainObject(value)) || SETTLED.has(value)) return value;
  SETTLED.add(Object.freeze(value));
  Object.values(value).forEach(freezePlain);
  return value;
}
