import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { isPlainObject, MAX_DATA_DEPTH, type Json } from '../core/plain-data.js';
import { describeField } from '../json-schema/schema-issues.js';
import { formatPath, type Path } from './input-issues.js';

/** The largest input of one call: 256 KiB of JSON text in UTF-8, as JSON.stringify writes it. */
export const MAX_INPUT_BYTES = 262_144;

/** The copies made here, with their sizes in bytes, so that a copy is not copied again. */
const COPIES = new WeakMap<object, number>();

/** A list or object that is being copied. */
interface Frame {
  readonly source: object;
  readonly copy: unknown[] | Record<string, unknown>;
  /** The keys of an object; missing for lists. */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  next: number;
  /** Records that a member was copied: the next ones are preceded by a comma. */
  started: boolean;
}

/**
 * Returns a frozen deep copy of a call's input; no other code may read the input before.
 *
 * Everything is read once, so that what is checked, approved and executed is one and the same value, whatever getters,
 * proxies and shared references answer later. The copy equals `JSON.parse(JSON.stringify(input))`: members without a
 * value are dropped, −0 becomes 0, and `__proto__` is a key like any other. A missing input is `{}`.
 *
 * It ends early at the first bound that is passed, and does not recurse: no input is too deep, wide or circular for it.
 *
 * @param maxBytes bytes of JSON text. @default 262144 (256 KiB)
 * @throws ToolError `LIMIT_EXCEEDED` beyond that, or for lists and objects nested more than 64 deep; `INVALID_INPUT`
 * for what is no plain data, and for values that fail when they are read.
 */
export function boundInput(input: unknown, maxBytes = MAX_INPUT_BYTES): Json {
  const known = COPIES.get(input as object);
  if (known !== undefined && known <= maxBytes) return input as Json;
  const stack: Frame[] = [];
  let bytes = 0;
  let refusal: ToolError | undefined;

  function refuse(error: ToolError): never {
    refusal = error;
    throw error;
  }

  function spend(cost: number): void {
    bytes += cost;
    if (bytes > maxBytes) refuse(tooLarge(maxBytes));
  }

  /** Returns the copy of a value; the members of lists and objects follow when their frame is processed. */
  function enter(value: unknown): unknown {
    if (typeof value === 'string') {
      spend(jsonBytesOf(value, maxBytes - bytes));
      return value;
    }
    if (typeof value === 'number' && Number.isFinite(value)) {
      spend(String(value === 0 ? 0 : value).length);
      return value === 0 ? 0 : value;
    }
    if (value === null || typeof value === 'boolean') {
      spend(value === false ? 5 : 4);
      return value;
    }
    const isList = Array.isArray(value);
    if (!isList && !isPlainObject(value)) return refuse(notPlain(value, stack));
    if (stack.length >= MAX_DATA_DEPTH) refuse(tooDeep(stack));
    const keys = isList ? undefined : Object.keys(value);
    const length = keys?.length ?? (value as readonly unknown[]).length;
    // A list of a billion holes must be refused before it is walked: every item takes at least one character and a
    // comma.
    if (isList && bytes + 2 * length > maxBytes) refuse(tooLarge(maxBytes));
    spend(2);
    const copy = isList ? [] : {};
    stack.push({ source: value, copy, keys, length, next: 0, started: false });
    return copy;
  }

  try {
    const copy = enter(input === undefined ? {} : input);
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      const { source, keys, copy: target } = frame;
      if (frame.next === frame.length) {
        Object.freeze(target);
        stack.pop();
        continue;
      }
      const key = keys === undefined ? frame.next : keys[frame.next]!;
      frame.next++;
      const value = (source as Record<string | number, unknown>)[key];
      if (typeof key === 'string' && value === undefined) continue;
      if (frame.started) spend(1);
      frame.started = true;
      if (typeof key === 'string') {
        spend(jsonBytesOf(key, maxBytes - bytes) + 1);
        addMember(target as Record<string, unknown>, key, enter(value));
      } else (target as unknown[]).push(enter(value));
    }
    if (typeof copy === 'object' && copy !== null) {
      COPIES.set(copy, bytes);
      markSettled(copy);
    }
    return copy as Json;
  } catch (error) {
    // The message of whatever a getter or trap throws, even a ToolError, is the input's and not ours.
    throw error === refusal ? error : notReadable(stack);
  }
}

/** Adds a key without an assignment: one to `__proto__` would change the prototype instead. */
function addMember(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true });
  else target[key] = value;
}

/** Counts the bytes of a text in JSON, quotes included; stops above `most`. */
function jsonBytesOf(text: string, most: number): number {
  if (text.length + 2 > most) return text.length + 2;
  let bytes = 2;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x80)
      bytes +=
        code >= 0x20 ? (code === 0x22 || code === 0x5c ? 2 : 1) : SHORT_ESCAPES.has(code) ? 2 : 6;
    else if (code < 0x800) bytes += 2;
    else if (code < 0xd800 || code > 0xdfff) bytes += 3;
    else if (code < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) {
      bytes += 4;
      index++;
    } else bytes += 6; // A lone surrogate is written as \udxxx.
  }
  return bytes;
}

/** The characters with escapes of two characters: backspace, tab, line feed, form feed and carriage return. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([8, 9, 10, 12, 13]);

function placeOf(stack: readonly Frame[]): Path {
  return stack
    .map(({ keys, next }) => (keys === undefined ? next - 1 : (keys[next - 1] ?? '')))
    .slice(0, MAX_DATA_DEPTH);
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

function tooDeep(stack: readonly Frame[]): ToolError {
  const inside = formatPath(placeOf(stack).slice(0, 3));
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

function notPlain(value: unknown, stack: readonly Frame[]): ToolError {
  const path = placeOf(stack);
  const message = expectedGot(
    'plain data (text, finite numbers, booleans, null, lists, objects)',
    describeField(path, value),
  );
  return new ToolError(
    'INVALID_INPUT',
    path.length === 0 ? message : `${formatPath(path)}: ${message}`,
    { details: { issues: [{ path, message }] } },
  );
}

function notReadable(stack: readonly Frame[]): ToolError {
  const path = placeOf(stack);
  const message = expectedGot('data that can be read', 'a value that fails when it is read');
  return new ToolError(
    'INVALID_INPUT',
    path.length === 0 ? message : `${formatPath(path)}: ${message}`,
    { details: { issues: [{ path, message }] } },
  );
}

/** The values that are frozen to the leaves and answer every read with the same, so that no copy of them is needed. */
const SETTLED = new WeakSet<object>();

/** Remembers a frozen value that consists only of plain data made here. */
function markSettled(value: object): void {
  SETTLED.add(value);
}

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
  const waiting: unknown[] = [value];
  const seen = new Set<unknown>();
  let settled = true;
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (
      typeof next !== 'object' ||
      next === null ||
      seen.has(next) ||
      !(Array.isArray(next) || isPlainObject(next))
    )
      continue;
    seen.add(next);
    // A proxy that was frozen must answer with the data of its frozen target: the language holds it to that.
    Object.freeze(next);
    for (const key of Object.keys(next)) {
      const property = Object.getOwnPropertyDescriptor(next, key);
      settled &&= property !== undefined && 'value' in property;
      const item: unknown =
        property !== undefined && 'value' in property
          ? property.value
          : (next as Readonly<Record<string, unknown>>)[key];
      if (typeof item === 'object' && item !== null) waiting.push(item);
    }
  }
  if (settled && seen.has(value)) markSettled(value as object);
  return value;
}
