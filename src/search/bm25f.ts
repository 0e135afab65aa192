/**
 * The parts of a tool that ranked search reads, and how each counts; a field's number is its place.
 *
 * Identifiers come from all the others. Past requests count half as much as examples. `damping` is BM25's b: 0 does not damp long texts at all, 1 in proportion. Nothing is
 * damped at the usual number of words, which is fixed, so that a tool's score does not change with its neighbours.
 *
 * These numbers and those of the ranking start from textbook values and were adjusted together, coarsely, on public retrieval
 * sets; the ranking is flat around them. docs/search-and-scoring.md says what each does.
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
  /** The word exactly as written, beside its stem. */
  exactWord: 0.4,
  /** Two neighbouring words of the request that are neighbours in the tool. */
  neighbours: 1.2,
  /** Synonyms and concepts of a word, as a share of the word itself. */
  synonym: 0.65,
  concept: 0.55,
  /** The growth of a score when the request covers the whole name of the tool: up to 1 + this. */
  nameCoverage: 1,
  /** The power of the covered share: above 1, covering half a name gives less than half the growth. */
  nameCoveragePower: 1.5,
  /** The share of a name's word that a related word covers. */
  relatedCoverage: 0.25,
  /** The weight of a name's word that stands in most names (get, list, data …). */
  genericNameWord: 0.6,
  /** The weight of request words by what they are. */
  chatty: 0.6,
  number: 0.35,
  quoted: 0.4,
  address: 0.5,
  properName: 0.9,
  /** A word read as another that is spelt alike, beside one that was understood. */
  corrected: 0.7,
} as const;

const { saturation } = RANKING;
const PARAMETERS = Object.values(FIELDS);
const WEIGHTS = Float64Array.from(PARAMETERS, ({ weight }) => weight);
const DAMPING = Float64Array.from(PARAMETERS, ({ damping, usualLength }) => damping / usualLength);
const UNDAMPED = Float64Array.from(PARAMETERS, ({ damping }) => 1 - damping);

/** Turns the number of words in each field, in place, into what one occurrence there counts. */
export function weighFields(lengths: Float64Array): void {
  for (let field = 0; field < lengths.length; field++)
    lengths[field] = WEIGHTS[field]! / (UNDAMPED[field]! + DAMPING[field]! * lengths[field]!);
}

/** Returns what occurrences are worth that count `sum` together: more and more slowly more, up to 1 + k1. */
export function saturate(sum: number): number {
  return ((saturation + 1) * sum) / (saturation + sum);
}

/** Returns how much it says that a document is one of `having` among `all`: BM25's idf in the form that is never negative. */
export function rarityOf(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}

/** The greatest impact: what occurrences are worth is rounded up to one of 255 steps, to be kept in a byte. */
const STEPS = 255;

/** Returns the impact of occurrences that count `sum`. Rounded up, so that sums of impacts are upper bounds of scores. */
export function impactOf(sum: number): number {
  return Math.min(STEPS, Math.ceil((saturate(sum) / (saturation + 1)) * STEPS));
}

/** The greatest sum of occurrences that each impact stands for. */
export const GREATEST_SUM = Float64Array.from({ length: STEPS + 1 }, (_, impact) =>
  impact === STEPS ? 1e9 : (saturation * impact) / (STEPS - impact),
);
