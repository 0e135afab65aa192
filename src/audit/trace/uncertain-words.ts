import type { Value } from './values.js';

/** The conditions of the words that aren't always in their list. */
const conditionsOf = new WeakMap<Value, readonly unknown[]>();

/** Returns a word that's in its list only under these conditions. By default, nothing says when. */
export function perhaps(value: Value, under: readonly unknown[] = [{}]): Value {
  if (under.length === 0 || (value.t !== 'const' && value.t !== 'unknown')) return value;
  const word = { ...value };
  conditionsOf.set(word, under);
  return word;
}

/** Returns true if a word is in its list whenever code under these conditions runs. */
export function isSure(word: Value, conditions: readonly unknown[]): boolean {
  return (conditionsOf.get(word) ?? []).every((each) => conditions.includes(each));
}
