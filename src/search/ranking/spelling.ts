import Fuse from 'fuse.js';
import type { DocumentIndex } from '../index/document-index.js';
import type { RelatedWords } from '../tables/related-words.js';
import { stem } from '../text/stem.js';
import type { Request, RequestTerm } from './request.js';

/** A word of a request that no tool has, and the word of the catalogue as which it was read. */
export interface Correction {
  readonly word: string;
  readonly readAs: string;
}

// Bounded by counts and never by the clock, so that results are the same everywhere.
const MOST_CORRECTED = 4;
const MOST_COMPARED = 200;
const SHORTEST = 4;
const LONGEST = 32;
/** How much a correction counts beside a word that was understood. */
const CORRECTED_WEIGHT = 0.7;
/** Share of letter pairs that two spellings of a word have in common, at least. */
const COMMON_PAIRS = 0.45;
/** Letters that only one of two spellings of a word has, at most. */
const MOST_DIFFERENT_LETTERS = 3;
/** Fuse's score: 0 is equal, 1 is nothing alike. */
const WORST_FIT = 0.35;

const LETTERS = /^\p{L}+$/u;

/** Replaces words that the catalogue does not know by known ones that are spelt alike. */
export function correctSpelling(request: Request, index: DocumentIndex, relatedWords: RelatedWords): { readonly request: Request; readonly corrections: readonly Correction[] } {
  const corrections: Correction[] = [];
  // A word that is there already is not counted twice because it is misspelt as well.
  const asked = new Set(request.terms.map((term) => term.stem));
  const terms = request.terms.map((term): RequestTerm => {
    if (corrections.length === MOST_CORRECTED || isKnown(term, index, relatedWords)) return term;
    const readAs = closestWord(term.words[0]!, index);
    if (readAs === undefined || asked.has(stem(readAs))) return term;
    asked.add(stem(readAs));
    corrections.push(Object.freeze({ word: term.words[0]!, readAs }));
    return { stem: stem(readAs), weight: term.weight * CORRECTED_WEIGHT, words: [readAs], expandable: true, name: false };
  });
  return corrections.length === 0 ? { request, corrections: NONE } : { request: { ...request, terms }, corrections: Object.freeze(corrections) };
}

const NONE: readonly Correction[] = Object.freeze([]);

/** Known, or not worth correcting: values, names and words for which another stands in. */
function isKnown(term: RequestTerm, index: DocumentIndex, relatedWords: RelatedWords): boolean {
  const word = term.words[0]!;
  if (!term.expandable || term.name || word.length < SHORTEST || word.length > LONGEST || !LETTERS.test(word)) return true;
  if (occurs(term.stem, index)) return true;
  for (const [other] of relatedWords.of(term.stem)) if (occurs(other, index)) return true;
  return false;
}

/** Whether any tool has the stem now; the vocabulary also remembers words of tools that went. */
function occurs(its: string, index: DocumentIndex): boolean {
  const number = index.vocabulary.stemNumber(its);
  return number !== undefined && index.documentsWith(number) > 0;
}

function closestWord(word: string, index: DocumentIndex): string | undefined {
  const pairs = letterPairs(word);
  const letters = letterSet(word);
  const alike = index.vocabulary
    .wordsLike(word)
    .filter((candidate) => differences(letters, letterSet(candidate)) <= MOST_DIFFERENT_LETTERS)
    .map((candidate) => ({ candidate, common: commonShare(pairs, letterPairs(candidate)) }))
    .filter(({ candidate, common }) => common >= COMMON_PAIRS && occurs(stem(candidate), index))
    .sort((a, b) => b.common - a.common || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, MOST_COMPARED);
  const [found] = new Fuse(alike.map(({ candidate }) => candidate), { includeScore: true, threshold: WORST_FIT, ignoreLocation: true }).search(word, { limit: 1 });
  return found?.item;
}

/** Which of 32 classes of letters a word has, as bits: quick to compare, to spare most words the closer look. */
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

/** Dice's coefficient. */
function commonShare(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of a) if (b.has(pair)) common++;
  return (2 * common) / (a.size + b.size);
}
