import type { DocumentIndex } from '../index/document-index.js';
import type { RelatedWords } from '../tables/related-words.js';
import { RANKING } from './parameters.js';
import type { Request } from './request.js';

/** A stem of the request as the index knows it. */
export interface PlannedTerm {
  readonly weight: number;
  /** Its own stem's number; -1 when the catalogue does not have it. */
  readonly stem: number;
  /** How rare its own stem is. */
  readonly rarity: number;
  /** Stems that may stand in, as a share of the word itself. */
  readonly related: readonly { readonly stem: number; readonly share: number }[];
  /** How rare it is to have the word or one that stands in; set when their documents were counted. */
  relatedRarity: number;
  /** The words as written, as word numbers. */
  readonly words: readonly number[];
  /** The word of the request, for explanations. */
  readonly word: string;
}

export interface PlannedPair {
  readonly first: number;
  readonly second: number;
  /** What the pair is worth where it occurs, before saturation. */
  readonly worth: number;
}

/** A request in the numbers of one index. */
export interface QueryPlan {
  readonly terms: readonly PlannedTerm[];
  readonly pairs: readonly PlannedPair[];
}

/** How much it says that a document is one of `having` among `all`. BM25's idf in the form that is never negative. */
export function rarityOf(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}

/** Looks a request's words and those that may stand in for them up in an index. */
export function planQuery(request: Request, index: DocumentIndex, relatedWords: RelatedWords): QueryPlan {
  const { vocabulary, size } = index;
  const terms = request.terms.map(({ stem, weight, words, expandable }): PlannedTerm => {
    const own = vocabulary.stemNumber(stem) ?? -1;
    const having = own === -1 ? 0 : index.documentsWith(own);
    const related: { stem: number; share: number }[] = [];
    if (expandable) {
      for (const [other, share] of relatedWords.of(stem)) {
        const number = vocabulary.stemNumber(other);
        if (number !== undefined) related.push({ stem: number, share });
      }
    }
    return {
      weight,
      stem: own,
      rarity: rarityOf(having, size),
      related,
      relatedRarity: 0,
      words: words.map((word) => vocabulary.wordNumber(word) ?? -1),
      word: words[0]!,
    };
  });
  const pairs = request.neighbours
    .filter(([first, second]) => terms[first]!.stem !== -1 && terms[second]!.stem !== -1)
    .map(([first, second]) => {
      const [a, b] = [terms[first]!, terms[second]!];
      return { first, second, worth: RANKING.neighbours * Math.sqrt(a.weight * b.weight) * Math.max(a.rarity, b.rarity) };
    });
  return { terms, pairs };
}
