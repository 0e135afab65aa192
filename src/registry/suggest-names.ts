import Fuse from 'fuse.js';

/** Names longer than this are not misspellings of anything. */
const LONGEST = 64;

/** Up to three known names that look like the one asked for, best first. */
export function suggestNames(asked: string, known: readonly string[]): readonly string[] {
  if (asked.length > LONGEST) return [];
  return new Fuse(known, { threshold: 0.4 }).search(asked, { limit: 3 }).map(({ item }) => item);
}
