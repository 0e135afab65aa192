import { isPlainObject } from '../../core/plain-data.js';

/** The values that are frozen to the leaves and answer every read with the same, so that no copy of them is needed. */
const SETTLED = new WeakSet<object>();

/** Remembers a frozen value that consists only of plain data made here. */
export function markSettled(value: object): void {
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
    if (typeof next !== 'object' || next === null || seen.has(next) || !(Array.isArray(next) || isPlainObject(next))) continue;
    seen.add(next);
    // A proxy that was frozen must answer with the data of its frozen target: the language holds it to that.
    Object.freeze(next);
    for (const key of Object.keys(next)) {
      const property = Object.getOwnPropertyDescriptor(next, key);
      settled &&= property !== undefined && 'value' in property;
      const item: unknown = property !== undefined && 'value' in property ? property.value : (next as Readonly<Record<string, unknown>>)[key];
      if (typeof item === 'object' && item !== null) waiting.push(item);
    }
  }
  if (settled && seen.has(value)) markSettled(value as object);
  return value;
}
