import { LIMITS } from '../../core/limits.js';
import { searchWords } from '../text/search-words.js';
import { readableText, WORD } from '../text/split-words.js';
import { stem } from '../text/stem.js';
import { CHATTY } from '../text/word-classes.js';
import { RANKING } from './parameters.js';

/** One stem of a request. */
export interface RequestTerm {
  readonly stem: string;
  /** 1 for a plain word, less for one that says less about the tool that is meant. */
  readonly weight: number;
  /** The words of the request that have this stem, as written but in lower case. */
  readonly words: readonly string[];
  /** Whether other words may stand in: not for chatty words, values and whole identifiers. */
  readonly expandable: boolean;
  /** Whether it looks like a name wherever it stands: names are not corrected. */
  readonly name: boolean;
}

/** A request, taken apart. */
export interface Request {
  /** Distinct stems in order of appearance; a repeated word counts once. */
  readonly terms: readonly RequestTerm[];
  /** Places in `terms` of words that stand next to each other, each pair once. */
  readonly neighbours: readonly (readonly [number, number])[];
  /** Whether the text was longer than is read. */
  readonly truncated: boolean;
}

/** Quoted text, within which words are values rather than wishes. Bounded, so that a stray quote does not swallow the rest. */
const QUOTED = /"[^"]{1,200}"|“[^”]{1,200}”|(?<![\p{L}\p{N}])'[^']{1,200}'(?![\p{L}\p{N}])/gu;
/** E-mail addresses, URLs and paths. */
const ADDRESS = /[^\s@]{1,100}@[^\s@]{1,100}|https?:\/\/\S{1,500}|[^\s/]{0,100}\/[^\s/]{1,100}\/\S{0,300}/gu;
const SENTENCE_START = /(?:^|[.!?:\n"“])\s{0,3}$/u;
const CAPITALIZED = /^\p{Lu}/u;
const DIGITS = /^\p{N}+$/u;
/** Numbers of three and more digits are values and no words of any tool. */
const LONGEST_NUMBER = 2;

/** Takes a request apart into weighted stems. */
export function parseRequest(text: string): Request {
  const read = readableText(text);
  const valueAt = valueWeights(read);
  const places = new Map<string, number>();
  const terms: { stem: string; weight: number; words: string[]; expandable: boolean; name: boolean }[] = [];
  const pairs = new Map<string, readonly [number, number]>();
  let before: number | undefined;
  const add = (word: string, value: number, expandable: boolean): number => {
    const its = stem(word);
    const chatty = CHATTY.has(its);
    const plain = expandable && !chatty && value >= RANKING.properName;
    const weight = value * (chatty ? RANKING.chatty : 1);
    const known = places.get(its);
    if (known === undefined) {
      places.set(its, terms.length);
      return terms.push({ stem: its, weight, words: [word], expandable: plain, name: value < 1 }) - 1;
    }
    // A word counts as a value only if it is one wherever it stands.
    const term = terms[known]!;
    term.weight = Math.max(term.weight, weight);
    term.expandable ||= plain;
    term.name &&= value < 1;
    if (!term.words.includes(word)) term.words.push(word);
    return known;
  };
  for (const match of read.matchAll(WORD)) {
    const written = match[0];
    if (DIGITS.test(written) && written.length > LONGEST_NUMBER) continue;
    const value = valueAt[match.index]! * formWeight(written, match.index, read);
    const { words, identifiers } = searchWords(written);
    for (const word of words) {
      const place = add(word, value, true);
      if (before !== undefined && before !== place) pairs.set(`${before} ${place}`, [before, place]);
      before = place;
    }
    for (const word of identifiers) add(word, value, false);
  }
  return { terms, neighbours: [...pairs.values()], truncated: text.length > LIMITS.queryLength };
}

/** For every place of a text 1, or less within quotes, addresses and paths. */
function valueWeights(text: string): Float64Array {
  const weights = new Float64Array(text.length).fill(1);
  for (const [pattern, weight] of [[ADDRESS, RANKING.address], [QUOTED, RANKING.quoted]] as const) {
    for (const match of text.matchAll(pattern)) weights.fill(weight, match.index, match.index + match[0].length);
  }
  return weights;
}

/** 1 for an ordinary word, less for numbers and for names in mid-sentence. */
function formWeight(word: string, at: number, text: string): number {
  if (DIGITS.test(word)) return RANKING.number;
  return CAPITALIZED.test(word) && !SENTENCE_START.test(text.slice(Math.max(0, at - 5), at)) ? RANKING.properName : 1;
}
