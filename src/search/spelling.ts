import Fuse from 'fuse.js/min-basic';
import type { InvertedIndex } from './inverted-index.js';
import { stem } from './words.js';

// The number of comparisons is limited instead of the time, so that results don't depend on the
// machine.
const MOST_COMPARED = 200;
const SHORTEST = 4;
const LONGEST = 32;
/** The minimum fraction of letter pairs that two spellings of a word share. */
const COMMON_PAIRS = 0.45;
/** The maximum number of letters that occur in only one of two spellings. */
const MOST_DIFFERENT_LETTERS = 3;
/** The maximum score in Fuse, where 0 is a perfect match and 1 is the worst. */
const WORST_FIT = 0.35;
const LETTERS = /^\p{L}+$/u;

/**
 * Returns the known word whose spelling is closest to an unknown word, or `undefined` if none is
 * close.
 */
export function closestWord(word: string, index: InvertedIndex): string | undefined {
  if (word.length < SHORTEST || word.length > LONGEST || !LETTERS.test(word)) return undefined;
  const pairs = letterPairs(word);
  const letters = letterSet(word);
  const alike = index
    .wordsLike(word)
    .filter((candidate) => differences(letters, letterSet(candidate)) <= MOST_DIFFERENT_LETTERS)
    .map((candidate) => ({ candidate, common: commonShare(pairs, letterPairs(candidate)) }))
    .filter(({ candidate, common }) => common >= COMMON_PAIRS && index.has(stem(candidate)))
    .sort((a, b) => b.common - a.common || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, MOST_COMPARED)
    .map(({ candidate }) => candidate);
  return new Fuse(alike, { threshold: WORST_FIT, ignoreLocation: true }).search(word, {
    limit: 1,
  })[0]?.item;
}

/**
 * Returns which of 32 letter classes occur in a word, as a bit set. Comparing these sets is fast
 * and rules out most words.
 */
function letterSet(word: string): number {
  let set = 0;
  for (let at = 0; at < word.length; at++) set |= 1 << (word.charCodeAt(at) & 31);
  return set;
}

function differences(a: number, b: number): number {
  let count = 0;
  for (let bits = a ^ b; bits !== 0; bits &= bits - 1) count++;
  return count;
}

function letterPairs(word: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let at = 1; at < word.length; at++) pairs.add(word.slice(at - 1, at + 1));
  return pairs;
}

/** Returns Dice's coefficient of two sets. */
function commonShare(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of a) if (b.has(pair)) common++;
  return (2 * common) / (a.size + b.size);
}
