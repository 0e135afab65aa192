import type { SearchField } from '../index/tool-text.js';

/** How one field counts. */
interface FieldParameters {
  readonly weight: number;
  /** How much long texts are damped: 0 not at all, 1 in proportion. BM25's b. */
  readonly damping: number;
  /** The usual number of words, at which nothing is damped. Fixed, so that a tool's score does not change with its neighbours. */
  readonly usualLength: number;
}

/**
 * Every number of the ranking.
 *
 * They start from textbook values and were adjusted together, coarsely, on public retrieval sets; the ranking is flat
 * around them. docs/search-and-scoring.md says what each does.
 */
export const FIELDS: Readonly<Record<SearchField, FieldParameters>> = {
  name: { weight: 2.8, damping: 0.5, usualLength: 3 },
  keywords: { weight: 2, damping: 0.6, usualLength: 8 },
  examples: { weight: 1.6, damping: 0.75, usualLength: 30 },
  description: { weight: 1.4, damping: 0.75, usualLength: 14 },
  category: { weight: 0.6, damping: 0.5, usualLength: 2 },
  parameters: { weight: 1.4, damping: 0.75, usualLength: 4 },
  'parameter descriptions': { weight: 0.9, damping: 0.75, usualLength: 16 },
  identifiers: { weight: 1, damping: 0, usualLength: 1 },
};

export const RANKING = {
  /** How fast repetitions stop counting: BM25's k1. */
  saturation: 1.1,
  /** The word exactly as written, beside its stem. */
  exactWord: 0.4,
  /** Two neighbouring words of the request that are neighbours in the tool. */
  neighbours: 1.2,
  /** Synonyms and concepts of a word, as a share of the word itself. */
  synonym: 0.65,
  concept: 0.55,
  /** How much the score grows when the request covers the whole name of the tool: up to 1 + this. */
  nameCoverage: 1,
  /** Above 1, covering half a name gives less than half the growth. */
  nameCoveragePower: 1.5,
  /** How much of a name's word a related word covers. */
  relatedCoverage: 0.25,
  /** How much words count that stand in most names (get, list, data …) when it is asked how much of a name is covered. */
  genericNameWord: 0.6,
  /** The weight of request words by what they are. */
  chatty: 0.6,
  number: 0.35,
  quoted: 0.4,
  address: 0.5,
  properName: 0.9,
} as const;
