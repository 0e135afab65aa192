/**
 * The parts of a tool that ranked search reads, and how much each counts. A field's number is its
 * index.
 *
 * Identifiers come from all other fields. Past requests count half as much as examples. `damping`
 * is BM25's b: 0 doesn't damp long texts at all, 1 damps them in proportion. A text of the usual
 * length isn't damped. That length is fixed, so a tool's score doesn't change with its neighbors.
 *
 * These numbers, and those of the ranking, start from textbook values and were tuned together,
 * coarsely, on public retrieval sets. Small changes make little difference.
 * docs/search-and-scoring.md says what each does.
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
} as const;

type SearchField = keyof typeof FIELDS;
export const SEARCH_FIELDS = Object.keys(FIELDS) as readonly SearchField[];

export const RANKING = {
  /** The speed at which repetitions stop counting: BM25's k1. */
  saturation: 1.1,
  /** The weight of the word exactly as written, in addition to its stem. */
  exactWord: 0.4,
  /** The weight of two words that are neighbors both in the request and in the tool. */
  neighbours: 1.2,
  /** The weight of a word's synonyms and concepts, relative to the word itself. */
  synonym: 0.65,
  concept: 0.55,
  /**
   * The growth of a score if the request covers the tool's whole name: a factor of 1 plus this.
   */
  nameCoverage: 1,
  /**
   * The exponent of the covered share. Above 1, covering half a name gives less than half of the
   * growth.
   */
  nameCoveragePower: 1.5,
  /** The share of a word in the name that a related word covers. */
  relatedCoverage: 0.25,
  /** The weight of a word that appears in most names (get, list, data …). */
  genericNameWord: 0.6,
  /** The weight of request words, by their kind. */
  chatty: 0.6,
  number: 0.35,
  quoted: 0.4,
  address: 0.5,
  properName: 0.9,
  /** A misspelled word read as a known one, if the tool also has a word that was understood. */
  corrected: 0.7,
} as const;

const { saturation } = RANKING;
const PARAMETERS = Object.values(FIELDS);
const WEIGHTS = Float64Array.from(PARAMETERS, ({ weight }) => weight);
const DAMPING = Float64Array.from(PARAMETERS, ({ damping, usualLength }) => damping / usualLength);
const UNDAMPED = Float64Array.from(PARAMETERS, ({ damping }) => 1 - damping);

/** Converts, in place, the number of words in each field to the weight of one occurrence there. */
export function weighFields(lengths: Float64Array): void {
  for (let field = 0; field < lengths.length; field++)
    lengths[field] = WEIGHTS[field]! / (UNDAMPED[field]! + DAMPING[field]! * lengths[field]!);
}

/**
 * Returns the value of occurrences that weigh `sum` together. Each further occurrence adds less, up
 * to 1 + k1.
 */
export function saturate(sum: number): number {
  return ((saturation + 1) * sum) / (saturation + sum);
}

/**
 * Returns how much it tells that a document is one of `having` among `all`: BM25's idf in the form
 * that is never negative.
 */
export function rarityOf(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}

/** The greatest impact. An impact rounds up to one of 255 steps so that it fits in a byte. */
const STEPS = 255;

/**
 * Returns the impact of occurrences that weigh `sum`. It's rounded up, so sums of impacts are upper
 * bounds of scores.
 */
export function impactOf(sum: number): number {
  return Math.min(STEPS, Math.ceil((saturate(sum) / (saturation + 1)) * STEPS));
}

/** The greatest sum of occurrences for each impact. */
export const GREATEST_SUM = Float64Array.from({ length: STEPS + 1 }, (_, impact) =>
  impact === STEPS ? 1e9 : (saturation * impact) / (STEPS - impact),
);
