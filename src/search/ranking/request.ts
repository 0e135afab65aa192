import { LIMITS } from '../../core/limits.js';
import { searchWords } from '../text/search-words.js';
import { WORD } from '../text/split-words.js';
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
  /** Whether other words may stand in: not for chatty words, values, names and whole identifiers. */
  readonly expandable: boolean;
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
  const read = text.slice(0, LIMITS.queryLength).normalize('NFKC');
  const spans = [...spansOf(read, QUOTED, RANKING.quoted), ...spansOf(read, ADDRESS, RANKING.address)];
  const places = new Map<string, number>();
  const terms: { stem: string; weight: number; words: string[]; expandable: boolean }[] = [];
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
      return terms.push({ stem: its, weight, words: [word], expandable: plain }) - 1;
    }
    // A word counts as a value only if it is one wherever it stands.
    const term = terms[known]!;
    term.weight = Math.max(term.weight, weight);
    term.expandable ||= plain;
    if (!term.words.includes(word)) term.words.push(word);
    return known;
  };
  for (const match of read.matchAll(WORD)) {
    const written = match[0];
    if (DIGITS.test(written) && written.length > LONGEST_NUMBER) continue;
    const value = valueWeight(written, match.index, read, spans);
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

interface Span {
  readonly start: number;
  readonly end: number;
  readonly weight: number;
}

function spansOf(text: string, pattern: RegExp, weight: number): Span[] {
  return [...text.matchAll(pattern)].map((match) => ({ start: match.index, end: match.index + match[0].length, weight }));
}

/** 1 for an ordinary word; less for quoted words, parts of addresses, numbers and names in mid-sentence. */
function valueWeight(word: string, at: number, text: string, spans: readonly Span[]): number {
  let weight = 1;
  for (const span of spans) if (at >= span.start && at < span.end) weight = Math.min(weight, span.weight);
  if (DIGITS.test(word)) weight *= RANKING.number;
  else if (CAPITALIZED.test(word) && !SENTENCE_START.test(text.slice(Math.max(0, at - 5), at))) weight *= RANKING.properName;
  return weight;
}
