import Fuse from 'fuse.js';

/** Names longer than this are not misspellings of anything. */
const LONGEST = 64;
/** Names compared at most: a model may invent names often, and each comparison takes about 30 µs. */
const MOST_COMPARED = 500;
/** How much longer or shorter a misspelt name can be. */
const LENGTH_DIFFERENCE = 4;

/** Up to three known names that look like the one asked for, best first. */
export function suggestNames(asked: string, known: readonly string[]): readonly string[] {
  if (asked.length > LONGEST) return [];
  const candidates = known.filter((name) => Math.abs(name.length - asked.length) <= LENGTH_DIFFERENCE || name.includes(asked)).slice(0, MOST_COMPARED);
  return new Fuse(candidates, { threshold: 0.4 }).search(asked, { limit: 3 }).map(({ item }) => item);
}
