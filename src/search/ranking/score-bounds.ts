import type { DocumentIndex } from '../index/document-index.js';
import { GREATEST_SUM, saturate } from '../index/postings.js';
import { RANKING } from './parameters.js';
import { rarityOf, type PlannedTerm, type QueryPlan } from './query-plan.js';

/** A bound must stay one after rounding. */
const ROUNDING = 1 + 1e-6;

/**
 * The documents that have a word of a request, each with a number that its score before name coverage cannot exceed.
 *
 * Bounds are summed from the postings alone: the saturated impact of each word, times what the exact word and a pair of
 * neighbours could add to it (a pair is counted to its rarer word, and is worth no more than that word alone).
 */
export class ScoreBounds {
  /** By document number; only those in `documents` are valid. */
  bounds = new Float32Array(0);
  /** The documents that have a bound, `count` of them. */
  documents = new Uint32Array(0);
  count = 0;

  #own = new Float32Array(0);
  #related = new Float32Array(0);
  #touched = new Uint32Array(0);

  /** Fills the bounds, and sets the rarity of each term together with the words that stand in for it. */
  compute(plan: QueryPlan, index: DocumentIndex): void {
    this.#reserve(index.store.documents);
    this.count = 0;
    const growth = growthOf(plan);
    for (const [place, term] of plan.terms.entries()) {
      if (term.related.length === 0) this.#addOwn(term, index, growth[place]!);
      else this.#addWithRelated(term, index, growth[place]!);
    }
  }

  /** Forgets the bounds; must follow every `compute`. */
  clear(): void {
    for (let at = 0; at < this.count; at++) this.bounds[this.documents[at]!] = 0;
    this.count = 0;
  }

  #reserve(documents: number): void {
    if (this.bounds.length >= documents) return;
    const size = Math.ceil(documents * 1.25);
    this.bounds = new Float32Array(size);
    this.documents = new Uint32Array(size);
    this.#own = new Float32Array(size);
    this.#related = new Float32Array(size);
    this.#touched = new Uint32Array(size);
  }

  #add(document: number, amount: number): void {
    if (this.bounds[document] === 0) this.documents[this.count++] = document;
    this.bounds[document]! += amount;
  }

  #addOwn(term: PlannedTerm, index: DocumentIndex, growth: number): void {
    if (term.stem === -1) return;
    const factor = term.weight * term.rarity * growth * ROUNDING;
    for (const segment of index.segments) {
      const [from, to] = segment.placesOf(term.stem);
      const { documents, impacts } = segment;
      for (let at = from; at < to; at++) this.#add(documents[at]!, factor * SATURATED[impacts[at]!]!);
    }
  }

  #addWithRelated(term: PlannedTerm, index: DocumentIndex, growth: number): void {
    let touched = 0;
    const forms = [...(term.stem === -1 ? [] : [{ stem: term.stem, share: 0 }]), ...term.related];
    for (const { stem, share } of forms) {
      for (const segment of index.segments) {
        const [from, to] = segment.placesOf(stem);
        for (let at = from; at < to; at++) {
          const document = segment.documents[at]!;
          if (this.#own[document] === 0 && this.#related[document] === 0) this.#touched[touched++] = document;
          const sum = GREATEST_SUM[segment.impacts[at]!]!;
          if (share === 0) this.#own[document] = sum;
          else this.#related[document]! += share * sum;
        }
      }
    }
    let having = 0;
    for (let at = 0; at < touched; at++) if (index.entry(this.#touched[at]!) !== undefined) having++;
    term.relatedRarity = Math.min(term.stem === -1 ? Infinity : term.rarity, rarityOf(having, index.size));
    for (let at = 0; at < touched; at++) {
      const document = this.#touched[at]!;
      const own = this.#own[document]!;
      const alone = own === 0 ? 0 : saturate(own);
      const bound = term.rarity * alone * growth + term.relatedRarity * (saturate(own + this.#related[document]!) - alone);
      this.#add(document, term.weight * bound * ROUNDING);
      this.#own[document] = 0;
      this.#related[document] = 0;
    }
  }
}

const SATURATED = Float64Array.from(GREATEST_SUM, (sum) => (sum === 0 ? 0 : saturate(sum)));

/** For each term by how much its own part can grow at most: by exact words and by pairs it is the rarer word of. */
function growthOf({ terms, pairs }: QueryPlan): number[] {
  const growth = terms.map(({ words }) => 1 + RANKING.exactWord * words.length);
  for (const { first, second, worth } of pairs) {
    const rarer = terms[first]!.rarity >= terms[second]!.rarity ? first : second;
    const { weight, rarity } = terms[rarer]!;
    if (weight * rarity > 0) growth[rarer]! += worth / (weight * rarity);
  }
  return growth;
}
