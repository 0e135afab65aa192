import type { DocumentIndex } from '../index/document-index.js';
import { occurrenceWeights, saturate } from '../index/postings.js';
import { SEARCH_FIELDS } from '../index/tool-text.js';
import { fieldOf, PIECE_END, wordOf } from '../index/token-store.js';
import { RANKING } from './parameters.js';
import type { QueryPlan } from './query-plan.js';
import type { NameWorth, ScorerScratch } from './scorer-scratch.js';

/** What a stem is to a request: the word itself or one that stands in, of which term, and how much of a name it covers. */
interface Role {
  readonly term: number;
  /** 0 for the word itself. */
  readonly share: number;
}

const NAME = SEARCH_FIELDS.indexOf('name');

/**
 * The score of single documents for one request, computed from their words.
 *
 * A term is worth its weight times its rarity times its saturated occurrences; words that stand in add what they raise
 * the saturation by, times the rarity of having any of these words; the exact word and neighbours add to that; and the
 * sum grows with the share of the tool's name that the request covers.
 */
export class DocumentScorer {
  readonly #plan: QueryPlan;
  readonly #index: DocumentIndex;
  /** For each stem that plays a role, one more than the place of its roles in `#rolesAt`; shared between requests. */
  readonly #rolePlaces: Int32Array;
  readonly #rolesAt: Role[][] = [];
  readonly #stems: number[] = [];
  readonly #wordPlaces = new Map<number, number>();
  /** For each term the pairs it begins: the other's stem, and the pair's place. */
  readonly #pairsFrom: readonly (readonly { readonly stem: number; readonly pair: number }[])[];
  readonly #wordTerm: number[] = [];
  readonly #nameWorth: NameWorth;

  readonly #weights = new Float64Array(SEARCH_FIELDS.length);
  readonly #own: Float64Array;
  readonly #related: Float64Array;
  readonly #exact: Float64Array;
  readonly #together: Float64Array;

  constructor(plan: QueryPlan, index: DocumentIndex, scratch: ScorerScratch) {
    this.#plan = plan;
    this.#index = index;
    this.#rolePlaces = scratch.rolePlaces(index.vocabulary.stemCount);
    this.#nameWorth = scratch.nameWorth(index);
    for (const [term, { stem, related, words }] of plan.terms.entries()) {
      if (stem !== -1) this.#addRole(stem, { term, share: 0 });
      for (const { stem: other, share } of related) this.#addRole(other, { term, share });
      for (const word of words) if (word !== -1) this.#wordPlaces.set(word, this.#wordTerm.push(term) - 1);
    }
    this.#pairsFrom = plan.terms.map((_, term) => plan.pairs.flatMap(({ first, second }, pair) => (first === term ? [{ stem: plan.terms[second]!.stem, pair }] : [])));
    this.#own = new Float64Array(plan.terms.length);
    this.#related = new Float64Array(plan.terms.length);
    this.#exact = new Float64Array(this.#wordTerm.length);
    this.#together = new Float64Array(plan.pairs.length);
  }

  /** The score of a document; 0 when it has no word of the request. */
  score(document: number): number {
    const { tokens, starts } = this.#index.store;
    const from = starts[document]!;
    const to = starts[document + 1]!;
    occurrenceWeights(tokens, from, to, this.#weights);
    this.#countOccurrences(tokens, from, to);
    return this.#sum() * this.nameFactor(document);
  }

  /** By how much the score of a document grows because the request covers its name: 1 to 1 + `RANKING.nameCoverage`. */
  nameFactor(document: number): number {
    const { tokens, starts } = this.#index.store;
    const coverage = this.#nameCoverage(tokens, starts[document]!, starts[document + 1]!);
    return coverage === 0 ? 1 : 1 + RANKING.nameCoverage * coverage ** RANKING.nameCoveragePower;
  }

  /** Gives the shared arrays back; must follow the last call. */
  release(): void {
    for (const stem of this.#stems) this.#rolePlaces[stem] = 0;
  }

  #addRole(stem: number, role: Role): void {
    const place = this.#rolePlaces[stem]!;
    if (place > 0) this.#rolesAt[place - 1]!.push(role);
    else {
      this.#rolePlaces[stem] = this.#rolesAt.push([role]);
      this.#stems.push(stem);
    }
  }

  #countOccurrences(tokens: Uint32Array, from: number, to: number): void {
    this.#own.fill(0);
    this.#related.fill(0);
    this.#exact.fill(0);
    this.#together.fill(0);
    const stemOfWord = this.#index.vocabulary.stemOfWord;
    for (let at = from; at < to; at++) {
      const word = wordOf(tokens[at]!);
      if (word === PIECE_END) continue;
      const place = this.#rolePlaces[stemOfWord[word]!]!;
      if (place === 0) continue;
      const weight = this.#weights[fieldOf(tokens[at]!)]!;
      for (const { term, share } of this.#rolesAt[place - 1]!) {
        if (share > 0) {
          this.#related[term]! += share * weight;
          continue;
        }
        this.#own[term]! += weight;
        const exact = this.#wordPlaces.get(word);
        if (exact !== undefined) this.#exact[exact]! += weight;
        const next = wordOf(tokens[at + 1]!);
        if (next === PIECE_END) continue;
        for (const { stem, pair } of this.#pairsFrom[term]!) if (stemOfWord[next] === stem) this.#together[pair]! += weight;
      }
    }
  }

  #sum(): number {
    const { terms, pairs } = this.#plan;
    let sum = 0;
    for (let term = 0; term < terms.length; term++) {
      const own = this.#own[term]!;
      const related = this.#related[term]!;
      if (own === 0 && related === 0) continue;
      const { weight, rarity, relatedRarity } = terms[term]!;
      const alone = own === 0 ? 0 : saturate(own);
      sum += weight * (rarity * alone + (related === 0 ? 0 : relatedRarity * (saturate(own + related) - alone)));
    }
    for (let place = 0; place < this.#exact.length; place++) {
      if (this.#exact[place] === 0) continue;
      const { weight, rarity } = terms[this.#wordTerm[place]!]!;
      sum += RANKING.exactWord * weight * rarity * saturate(this.#exact[place]!);
    }
    for (let pair = 0; pair < pairs.length; pair++) if (this.#together[pair]! > 0) sum += pairs[pair]!.worth * saturate(this.#together[pair]!);
    return sum;
  }

  /** How much of the tool's own name the request covers, rare words counting more: 0 to 1. */
  #nameCoverage(tokens: Uint32Array, from: number, to: number): number {
    const stemOfWord = this.#index.vocabulary.stemOfWord;
    let all = 0;
    let covered = 0;
    for (let at = from; at < to && fieldOf(tokens[at]!) === NAME && wordOf(tokens[at]!) !== PIECE_END; at++) {
      const stem = stemOfWord[wordOf(tokens[at]!)]!;
      if (this.#standsBefore(stem, tokens, from, at)) continue;
      const worth = this.#nameWorth.of(stem);
      all += worth;
      covered += worth * this.#credit(stem);
    }
    return all === 0 ? 0 : covered / all;
  }

  #standsBefore(stem: number, tokens: Uint32Array, from: number, at: number): boolean {
    const stemOfWord = this.#index.vocabulary.stemOfWord;
    for (let before = from; before < at; before++) if (stemOfWord[wordOf(tokens[before]!)] === stem) return true;
    return false;
  }

  #credit(stem: number): number {
    const place = this.#rolePlaces[stem]!;
    if (place === 0) return 0;
    let credit = 0;
    for (const { term, share } of this.#rolesAt[place - 1]!) {
      const weight = Math.min(1, this.#plan.terms[term]!.weight);
      credit = Math.max(credit, share === 0 ? weight : weight * RANKING.relatedCoverage);
    }
    return credit;
  }
}
