/**
 * The parts of a tool that ranked search uses, and the weight of each. A field's number is its
 * index.
 *
 * Identifiers are collected from all other fields. Past requests and hints count half as much as
 * examples.
 * `damping` is BM25's b: 0 doesn't penalize long texts at all, 1 penalizes them in proportion to
 * their length. A text of the usual length isn't penalized. The usual length is fixed, so that a
 * tool's score doesn't depend on other tools.
 *
 * These values and `RANKING` are textbook values, tuned coarsely on public retrieval data sets.
 * Small changes make little difference. The effect of each value is described in
 * docs/search-and-scoring.md.
 */
const FIELDS = {
  name: { weight: 2.8, damping: 0.5, usualLength: 3 },
  keywords: { weight: 2, damping: 0.6, usualLength: 8 },
  examples: { weight: 1.6, damping: 0.75, usualLength: 30 },
  description: { weight: 1.4, damping: 0.75, usualLength: 14 },
  category: { weight: 0.6, damping: 0.5, usualLength: 2 },
  parameters: { weight: 1.4, damping: 0.75, usualLength: 4 },
  'parameter descriptions': { weight: 0.9, damping: 0.75, usualLength: 16 },
  identifiers: { weight: 1, damping: 0, usualLength: 1 },
  'past requests': { weight: 0.8, damping: 0.75, usualLength: 30 },
  hints: { weight: 0.8, damping: 0.75, usualLength: 30 },
} as const;

type SearchField = keyof typeof FIELDS;
export const SEARCH_FIELDS = Object.keys(FIELDS) as readonly SearchField[];

export const RANKING = {
  /** BM25's k1: the higher it is, the more each repetition of a word adds. */
  saturation: 1.1,
  /** The weight of the exact word, in addition to its stem. */
  exactWord: 0.4,
  /** The weight of two words that are adjacent both in the request and in the tool. */
  neighbours: 1.2,
  /** The weight of a word's synonyms and concepts, relative to the word itself. */
  synonym: 0.65,
  concept: 0.55,
  /**
   * The increase of a score if the request matches the tool's whole name: the factor is 1 plus this
   * value.
   */
  nameCoverage: 1,
  /**
   * The exponent of the matched fraction of the name. With a value above 1, matching half a name
   * yields less than half of the increase.
   */
  nameCoveragePower: 1.5,
  /** The fraction of a name word that a related word matches. */
  relatedCoverage: 0.25,
  /** The weight of a word that appears in most names (get, list, data …). */
  genericNameWord: 0.6,
  /** The weight of the request's words, by kind. */
  chatty: 0.6,
  number: 0.35,
  quoted: 0.4,
  address: 0.5,
  properName: 0.9,
  /** The weight of a word whose spelling was corrected. */
  corrected: 0.7,
} as const;

const { saturation } = RANKING;
const PARAMETERS = Object.values(FIELDS);
const WEIGHTS = Float64Array.from(PARAMETERS, ({ weight }) => weight);
const DAMPING = Float64Array.from(PARAMETERS, ({ damping, usualLength }) => damping / usualLength);
const UNDAMPED = Float64Array.from(PARAMETERS, ({ damping }) => 1 - damping);

/** Converts the number of words in each field to the weight of one occurrence there, in place. */
export function weighFields(lengths: Float64Array): void {
  for (let field = 0; field < lengths.length; field++)
    lengths[field] = WEIGHTS[field]! / (UNDAMPED[field]! + DAMPING[field]! * lengths[field]!);
}

/**
 * Returns the score of occurrences with a total weight of `sum`. Each further occurrence adds less,
 * up to a total of 1 + k1.
 */
export function saturate(sum: number): number {
  return ((saturation + 1) * sum) / (saturation + sum);
}

/**
 * Returns how informative a word is: the variant of BM25's idf that is never negative. `having` is
 * the number of documents with the word, out of `all`.
 */
export function rarityOf(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}

/** The maximum impact. Impacts are rounded up to one of 255 steps, so that they fit in a byte. */
const STEPS = 255;

/**
 * Returns the impact of occurrences with a total weight of `sum`. The impact is rounded up, so that
 * sums of impacts are upper bounds of scores.
 */
export function impactOf(sum: number): number {
  return Math.min(STEPS, Math.ceil((saturate(sum) / (saturation + 1)) * STEPS));
}

/** The maximum total weight of occurrences that each impact can represent. */
export const GREATEST_SUM = Float64Array.from({ length: STEPS + 1 }, (_, impact) =>
  impact === STEPS ? 1e9 : (saturation * impact) / (STEPS - impact),
);
