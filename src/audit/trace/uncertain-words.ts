import type { Value } from './values.js';

/** For each word that isn't always in its list: the conditions under which it's in the list. */
const conditionsOf = new WeakMap<Value, readonly unknown[]>();

/**
 * Returns a copy of a word, marked as being in its list only under some conditions. By default, the
 * conditions are unknown.
 */
export function perhaps(value: Value, under: readonly unknown[] = [{}]): Value {
  if (under.length === 0 || (value.t !== 'const' && value.t !== 'unknown')) return value;
  const word = { ...value };
  conditionsOf.set(word, under);
  return word;
}

/** Returns true if a word is certainly in its list under these conditions. */
export function isSure(word: Value, conditions: readonly unknown[]): boolean {
  return (conditionsOf.get(word) ?? []).every((each) => conditions.includes(each));
}
