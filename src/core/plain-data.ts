import { sha256Of } from './crypto.js';

/** The depth to which plain data may nest: far above any real metadata, far below the depth at which recursion fails. */
export const MAX_DATA_DEPTH = 64;

/** A value that JSON can hold. */
export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * A deep copy of plain data, frozen to the leaves.
 *
 * Keys keep their order. Keys whose value is `undefined` are dropped, so that the copy equals its JSON.
 *
 * @throws TypeError naming the place of anything that is not plain data: functions, class instances, cycles,
 * numbers JSON cannot hold, and data nested deeper than 64.
 */
export function cloneFrozen<T>(value: T): T {
  return clone(value, '', 0) as T;
}

const EMPTY = {};

function clone(value: unknown, place: string, depth: number): unknown {
  if (depth > MAX_DATA_DEPTH)
    throw new TypeError(
      `plain data at most ${MAX_DATA_DEPTH} levels deep (or a cycle) at ${place || 'the top'}`,
    );
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value))
    return Object.freeze(
      Array.from({ length: value.length }, (_, index) =>
        clone((value as unknown[])[index], `${place}[${index}]`, depth + 1),
      ),
    );
  if (isPlainObject(value)) {
    const copy: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue;
      const itemCopy = clone(item, `${place}.${key}`, depth + 1);
      // An assignment to `__proto__` would change the prototype instead of adding a key, and one to `constructor` fails where the prototype is frozen.
      if (key in EMPTY) Object.defineProperty(copy, key, { value: itemCopy, enumerable: true });
      else copy[key] = itemCopy;
    }
    return Object.freeze(copy);
  }
  throw new TypeError(
    `plain data (text, numbers, booleans, null, lists, objects), not ${describeValue(value)}${place ? ` at ${place.replace(/^\./, '')}` : ''}`,
  );
}

/** Returns true for an object of keys and values that is no instance of a class. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The largest number of values that plain data may have to be looked through. */
const MOST_VALUES = 100_000;

/**
 * Returns true if the JSON of a value shows all of it: no getters, symbol keys, hidden fields, fields of lists or
 * instances of classes.
 */
export function isShownByJson(value: unknown): boolean {
  let left = MOST_VALUES;
  const isShown = (item: unknown, depth: number): boolean => {
    if (--left < 0) return false;
    if (typeof item !== 'object' || item === null) return true;
    const isList = Array.isArray(item);
    if (
      depth >= MAX_DATA_DEPTH ||
      !(isList ? Object.getPrototypeOf(item) === Array.prototype : isPlainObject(item))
    )
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

/** One line of text per JSON value, whatever the order of keys: equal data, equal text. */
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

/** The SHA-256 of a value's canonical JSON, as 64 hexadecimal digits. */
export function digestOf(value: unknown): string {
  return sha256Of(canonicalJson(value));
}

/** Orders text by code units: the same everywhere, whatever the locale of the process. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A value as an error message shows it: its kind, and for short plain values the value itself. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string')
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Promise) return 'a promise';
  return 'an object';
}

/** Returns the same keys, in the same order, with other values; also where a key is `__proto__`. */
export function mapValues<T>(
  values: Readonly<Record<string, unknown>>,
  map: (entry: [string, unknown]) => T,
): Record<string, T> {
  return Object.fromEntries(Object.entries(values).map((entry) => [entry[0], map(entry)]));
}
