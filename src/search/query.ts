import { LIMITS } from '../core/limits.js';
import { RANKING } from './bm25f.js';
import type { InvertedIndex } from './inverted-index.js';
import type { RelatedWords } from './related-words.js';
import { closestWord } from './spelling.js';
import { readableText, searchWords, stem, WORD } from './words.js';

/** A stem in a query. */
interface QueryTerm {
  readonly stem: string;
  /** 1 for an ordinary word, less for a less informative word. */
  readonly weight: number;
  /** The lowercase words in the text that have this stem. */
  readonly words: readonly string[];
  /**
   * True if related words can be used instead. False for chatty words, values, and whole
   * identifiers.
   */
  readonly expandable: boolean;
  /**
   * True if the word looks like a proper name wherever it occurs. The spelling of names isn't
   * corrected.
   */
  readonly name: boolean;
}

/** A request as weighted stems. */
export interface SearchQuery {
  /** The distinct stems in order of appearance. A repeated word counts once. */
  readonly terms: readonly QueryTerm[];
  /** Pairs of indexes in `terms` whose words are adjacent, without duplicates. */
  readonly neighbours: readonly (readonly [number, number])[];
  /** True if the text was too long to be read completely. */
  readonly truncated: boolean;
}

/** A term, with the numbers that its words have in one index. */
export interface PlannedTerm {
  /** The word in the request, for explanations. */
  readonly word: string;
  readonly weight: number;
  /** The stem's number, or -1 if no tool has ever had it. */
  readonly stem: number;
  readonly rarity: number;
  /** The related stems, each with its weight relative to the word itself. */
  readonly related: readonly { readonly stem: number; readonly share: number }[];
  /** The numbers of the exact words, or -1 for a word that no tool has ever had. */
  readonly words: readonly number[];
}

/** A query, with the numbers that its words have in one index. */
export interface QueryPlan {
  readonly terms: readonly PlannedTerm[];
  /**
   * The indexes of adjacent terms. `worth` is the weight of an occurrence of the pair, before
   * saturation.
   */
  readonly pairs: readonly {
    readonly first: number;
    readonly second: number;
    readonly worth: number;
  }[];
  /** The words that no tool has, and the known words that are used instead. */
  readonly corrections: readonly { readonly word: string; readonly readAs: string }[];
}

/**
 * Stems of words that users say to an assistant and that rarely describe a tool. Such words count
 * less (`RANKING.chatty`).
 */
export const CHATTY: ReadonlySet<string> = new Set(
  (
    'please need help want wish like love show give tell find get know look looking let make sure use using able also could would ' +
    'provide information thanks thank hi hello hey try trying something anything someone interested question wondering curious ' +
    'recently currently really maybe possible assist'
  )
    .split(' ')
    .map(stem),
);

/**
 * Matches quoted text. Quoted words are usually values. The length is limited, so that a stray
 * quote doesn't affect the rest of the text.
 */
const QUOTED = /"[^"]{1,200}"|“[^”]{1,200}”|(?<![\p{L}\p{N}])'[^']{1,200}'(?![\p{L}\p{N}])/gu;
/** Matches email addresses, URLs, and paths. */
const ADDRESS =
  /[^\s@]{1,100}@[^\s@]{1,100}|https?:\/\/\S{1,500}|[^\s/]{0,100}\/[^\s/]{1,100}\/\S{0,300}/gu;
const SENTENCE_START = /(?:^|[.!?:\n"“])\s{0,3}$/u;
const CAPITALIZED = /^\p{Lu}/u;
const DIGITS = /^\p{N}+$/u;
/**
 * The maximum number of words whose spelling is corrected. The count is limited instead of the
 * time, so that results don't depend on the machine.
 */
const MOST_CORRECTED = 4;

/** Splits a text into weighted stems. */
export function parseQuery(text: string): SearchQuery {
  const read = readableText(text);
  const valueAt = valueWeights(read);
  const places = new Map<string, number>();
  const terms: {
    stem: string;
    weight: number;
    words: string[];
    expandable: boolean;
    name: boolean;
  }[] = [];
  const pairs = new Map<string, readonly [number, number]>();
  let before: number | undefined;
  const add = (word: string, value: number, expandable: boolean): number => {
    const its = stem(word);
    const chatty = CHATTY.has(its);
    const plain = expandable && !chatty && value >= RANKING.properName;
    const weight = value * (chatty ? RANKING.chatty : 1);
    const earlier = places.get(its);
    if (earlier === undefined) {
      places.set(its, terms.length);
      return (
        terms.push({ stem: its, weight, words: [word], expandable: plain, name: value < 1 }) - 1
      );
    }
    // A word counts as a value only if all its occurrences are values.
    const term = terms[earlier]!;
    term.weight = Math.max(term.weight, weight);
    term.expandable ||= plain;
    term.name &&= value < 1;
    if (!term.words.includes(word)) term.words.push(word);
    return earlier;
  };
  for (const match of read.matchAll(WORD)) {
    const [written] = match;
    const value = valueAt[match.index]! * formWeight(written, match.index, read);
    const { words, identifiers } = searchWords(written);
    for (const word of words) {
      const place = add(word, value, true);
      if (before !== undefined && before !== place)
        pairs.set(`${before} ${place}`, [before, place]);
      before = place;
    }
    for (const word of identifiers) add(word, value, false);
  }
  return { terms, neighbours: [...pairs.values()], truncated: text.length > LIMITS.queryLength };
}

/**
 * Returns a weight for every position in a text: 1, or less inside quotes, addresses, and paths.
 */
function valueWeights(text: string): Float64Array {
  const weights = new Float64Array(text.length).fill(1);
  for (const [pattern, weight] of [
    [ADDRESS, RANKING.address],
    [QUOTED, RANKING.quoted],
  ] as const) {
    for (const match of text.matchAll(pattern))
      weights.fill(weight, match.index, match.index + match[0].length);
  }
  return weights;
}

/**
 * Returns 1 for an ordinary word, and less for a number or for a capitalized word in mid-sentence.
 */
function formWeight(word: string, at: number, text: string): number {
  if (DIGITS.test(word)) return RANKING.number;
  return CAPITALIZED.test(word) && !SENTENCE_START.test(text.slice(Math.max(0, at - 5), at))
    ? RANKING.properName
    : 1;
}

/**
 * Looks up a query's words and their related words in an index. Unknown words are replaced with
 * known words of similar spelling.
 */
export function planQuery(
  query: SearchQuery,
  index: InvertedIndex,
  relatedWords: RelatedWords,
): QueryPlan {
  const corrections: QueryPlan['corrections'][number][] = [];
  const asked = new Set(query.terms.map((term) => term.stem));
  const terms = query.terms.map((term): PlannedTerm => {
    const readAs =
      corrections.length < MOST_CORRECTED && isUnknown(term, index, relatedWords)
        ? closestWord(term.words[0]!, index)
        : undefined;
    // If the request already contains the correct word, the misspelled word adds nothing.
    if (readAs === undefined || asked.has(stem(readAs))) return planTerm(term, index, relatedWords);
    asked.add(stem(readAs));
    corrections.push(Object.freeze({ word: term.words[0]!, readAs }));
    return planTerm(
      { ...term, stem: stem(readAs), weight: term.weight * RANKING.corrected, words: [readAs] },
      index,
      relatedWords,
    );
  });
  const pairs = query.neighbours.flatMap(([first, second]) => {
    const [a, b] = [terms[first]!, terms[second]!];
    return a.stem === -1 || b.stem === -1
      ? []
      : [
          {
            first,
            second,
            worth:
              RANKING.neighbours * Math.sqrt(a.weight * b.weight) * Math.max(a.rarity, b.rarity),
          },
        ];
  });
  return { terms, pairs, corrections: Object.freeze(corrections) };
}

/** Returns true for an ordinary word if no tool contains the word or a related word. */
function isUnknown(
  { expandable, name, stem }: QueryTerm,
  index: InvertedIndex,
  relatedWords: RelatedWords,
): boolean {
  return (
    expandable &&
    !name &&
    !index.has(stem) &&
    ![...(relatedWords.get(stem)?.keys() ?? [])].some((other) => index.has(other))
  );
}

function planTerm(
  { stem, weight, words, expandable }: QueryTerm,
  index: InvertedIndex,
  relatedWords: RelatedWords,
): PlannedTerm {
  const number = index.stemNumber(stem) ?? -1;
  const related: { stem: number; share: number }[] = [];
  for (const [other, share] of (expandable && relatedWords.get(stem)) || []) {
    const its = index.stemNumber(other);
    if (its !== undefined) related.push({ stem: its, share });
  }
  return {
    word: words[0]!,
    weight,
    stem: number,
    rarity: index.rarity(number),
    related,
    words: words.map((word) => index.wordNumber(word) ?? -1),
  };
}
