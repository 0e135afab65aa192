import { sha256Of } from './crypto.js';

/**
 * The maximum depth of plain data: far deeper than any real metadata, and far less than the depth
 * at which recursion fails.
 */
export const MAX_DATA_DEPTH = 64;

/** A JSON-serializable value. */
export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Returns a deeply frozen copy of plain data.
 *
 * Preserves the order of keys. Keys with the value `undefined` are dropped, so the copy equals its
 * JSON.
 *
 * @throws TypeError with the path of anything that isn't plain data: functions, class instances,
 * cycles, non-finite numbers, and data nested more than 64 levels deep.
 */
export function cloneFrozen<T>(value: T): T {
  return clone(value, '', 0) as T;
}

/** The copies that other copies share. */
const SHARED = new WeakSet<object>();
/** The number of levels above a shared copy. */
const ABOVE_SHARED = 8;

/** Returns a frozen copy that later copies of data around it contain as it is. */
export function sharedFrozen<T extends object>(value: T): T {
  const copy = clone(value, '', ABOVE_SHARED) as T;
  SHARED.add(copy);
  return copy;
}

/** Returns true for a result of `sharedFrozen`. */
export function isShared(value: object): boolean {
  return SHARED.has(value);
}

const EMPTY = {};
/** All empty lists are the same object, because most of a tool's lists are empty. */
const EMPTY_LIST = Object.freeze([]);

function clone(value: unknown, place: string, depth: number): unknown {
  if (depth > MAX_DATA_DEPTH)
    throw new TypeError(
      `plain data at most ${MAX_DATA_DEPTH} levels deep (or a cycle) at ${place || 'the top'}`,
    );
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value) && value.length === 0) return EMPTY_LIST;
  if (Array.isArray(value))
    return Object.freeze(
      Array.from({ length: value.length }, (_, index) =>
        clone((value as unknown[])[index], `${place}[${index}]`, depth + 1),
      ),
    );
  if (isPlainObject(value)) {
    if (isShared(value)) return value;
    const copy: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue;
      const itemCopy = clone(item, `${place}.${key}`, depth + 1);
      // Assigning to `__proto__` would change the prototype instead of adding a key.
      // Assigning to `constructor` fails if the prototype is frozen.
      if (key in EMPTY) Object.defineProperty(copy, key, { value: itemCopy, enumerable: true });
      else copy[key] = itemCopy;
    }
    return Object.freeze(copy);
  }
  throw new TypeError(
    `plain data (text, numbers, booleans, null, lists, objects), not ${describeValue(value)}${place ? ` at ${place.replace(/^\./, '')}` : ''}`,
  );
}

/**
 * Returns true for an object that isn't an instance of a class. Objects of another realm (jest, `vm`,
 * an iframe) have its `Object.prototype`, which is recognized because it has no prototype itself.
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns true for a promise, also of another realm. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return (
    value instanceof Promise ||
    (typeof value === 'object' &&
      value !== null &&
      Object.prototype.toString.call(value) === '[object Promise]')
  );
}

/**
 * Returns the value unchanged. If the value is a promise, ignores its rejection, because an
 * unhandled rejection would end the process.
 */
export function ignoreRejection<T>(value: T): T {
  if (isPromise(value)) value.then(undefined, () => undefined);
  return value;
}

/** Returns true for an error, also of another realm. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}

/** The maximum number of values that `isPlainJson` and `isShownByJson` examine. */
const MOST_VALUES = 100_000;

/**
 * Returns true for plain data without anything that JSON would lose. Returns false if the data is
 * too large or too deep to be sure.
 */
export function isPlainJson(value: unknown): boolean {
  let left = MOST_VALUES;
  const isPlain = (item: unknown, depth: number): boolean => {
    if (typeof item !== 'object' || item === null)
      return typeof item === 'number' ? Number.isFinite(item) : !LOST_TYPES.has(typeof item);
    if (--left < 0 || depth >= MAX_DATA_DEPTH) return false;
    if (Array.isArray(item)) return item.every((each) => isPlain(each, depth + 1));
    if (!isPlainObject(item)) return false;
    for (const key of Object.keys(item)) if (!isPlain(item[key], depth + 1)) return false;
    return true;
  };
  return isPlain(value, 0);
}
const LOST_TYPES: ReadonlySet<string> = new Set(['function', 'symbol', 'bigint']);

/**
 * Returns true if a value's JSON shows everything in it. JSON doesn't show getters, symbol keys,
 * non-enumerable fields, fields of lists, or class instances.
 */
export function isShownByJson(value: unknown): boolean {
  let left = MOST_VALUES;
  const isShown = (item: unknown, depth: number): boolean => {
    if (--left < 0) return false;
    if (typeof item !== 'object' || item === null) return true;
    const isList = Array.isArray(item);
    if (depth >= MAX_DATA_DEPTH || !(isList ? isPlainList(item) : isPlainObject(item)))
      return false;
    const keys = Object.keys(item);
    // A list also has the key `length`.
    if (
      Reflect.ownKeys(item).length !== keys.length + Number(isList) ||
      (isList && keys.length !== item.length)
    )
      return false;
    return keys.every((key) => {
      const property = Object.getOwnPropertyDescriptor(item, key);
      return property !== undefined && 'value' in property && isShown(property.value, depth + 1);
    });
  };
  return isShown(value, 0);
}

/** Returns true for a list that isn't an instance of a subclass, also of another realm. */
function isPlainList(list: readonly unknown[]): boolean {
  const prototype = Object.getPrototypeOf(list) as object;
  return (
    Array.isArray(prototype) && Object.getPrototypeOf(Object.getPrototypeOf(prototype)) === null
  );
}

/** Returns a value as JSON with sorted keys, so that equal data produces equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    let members = '';
    for (const key of Object.keys(value).sort()) {
      const item = (value as Readonly<Record<string, unknown>>)[key];
      if (item !== undefined) members += `,${JSON.stringify(key)}:${canonicalJson(item)}`;
    }
    return `{${members.slice(1)}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** Returns the SHA-256 of a value's canonical JSON as 64 hexadecimal digits. */
export function digestOf(value: unknown): string {
  return sha256Of(canonicalJson(value));
}

/** Compares strings by code units, so that the order doesn't depend on the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Describes a value for error messages: its kind, and the value itself if it's short and plain. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string')
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isPromise(value)) return 'a promise';
  return 'an object';
}

/**
 * Maps the values of an object. Keys and their order stay the same. Also handles a key named
 * `__proto__`.
 */
export function mapValues<T>(
  values: Readonly<Record<string, unknown>>,
  map: (entry: [string, unknown]) => T,
): Record<string, T> {
  return Object.fromEntries(Object.entries(values).map((entry) => [entry[0], map(entry)]));
}

type Without<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns an object without its undefined members. */
export function without<T extends object>(object: T): Without<T> {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined),
  ) as Without<T>;
}
