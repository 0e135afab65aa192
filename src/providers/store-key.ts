import { digestOf } from '../core/plain-data.js';

/** Characters of a name that are written as they are; stores take keys of 512. */
const LONGEST = 300;
/** Half of a character pair: stores refuse it. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** The key of a name in a state store: readable for usual names, a digest for those that no store would take. */
export function storeKey(prefix: string, name: string): string {
  return `${prefix}:${name.length > LONGEST || LONE_SURROGATE.test(name) ? `sha256:${digestOf(name)}` : name}`;
}
