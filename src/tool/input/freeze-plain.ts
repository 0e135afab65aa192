import { isPlainObject } from '../../core/plain-data.js';

/**
 * Freezes the plain objects and lists that a value consists of, and returns it.
 *
 * Instances of classes (dates, maps, typed arrays) and what is inside of them are left alone: freezing breaks some, and
 * does not keep others from changing.
 */
export function freezePlain<T>(value: T): T {
  const waiting: unknown[] = [value];
  const seen = new Set<unknown>();
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null || seen.has(next) || !(Array.isArray(next) || isPlainObject(next))) continue;
    seen.add(next);
    Object.freeze(next);
    for (const item of Object.values(next)) if (typeof item === 'object' && item !== null) waiting.push(item);
  }
  return value;
}
