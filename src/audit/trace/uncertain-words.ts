import type { Value } from './values.js';

/** The conditions of words that are only sometimes in their list. */
const conditionsOf = new WeakMap<Value, readonly unknown[]>();

/**
 * Returns a word that is in its list only under these conditions. @default the conditions are
 * unknown
 */
export function perhaps(value: Value, under: readonly unknown[] = [{}]): Value {
  if (under.length === 0 || (value.t !== 'const' && value.t !== 'unknown')) return value;
  const word = { ...value };
  conditionsOf.set(word, under);
  return word;
}

/** Returns true if a word is always in its list when these conditions are met. */
export function isSure(word: Value, conditions: readonly unknown[]): boolean {
  return (conditionsOf.get(word) ?? []).every((each) => conditions.includes(each));
}
