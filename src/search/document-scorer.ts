import { RANKING, saturate, SEARCH_FIELDS } from './bm25f.js';
import { fieldAt, PIECE_END, wordOf, type InvertedIndex } from './inverted-index.js';
import type { QueryPlan } from './query.js';

/** The role of a stem in a query: a term's own word, or a related word. */
interface Role {
  readonly term: number;
  /** The weight of a related word relative to the term's own word, or 0 for that word itself. */
  readonly share: number;
  /** The fraction of a word in a tool's name that counts as matched, from 0 to 1. */
  readonly coverage: number;
}

const NAME = SEARCH_FIELDS.indexOf('name');

/**
 * Scores documents for one query, based on the words in each document.
 *
 * A term is worth its weight times its rarity times its saturated occurrences. Related words add
 * the amount by which they increase the saturation, times the combined rarity of the term's words.
 * The exact word and adjacent words add to the sum. The sum increases with the fraction of the
 * tool's name that the query matches.
 */
export class DocumentScorer {
  readonly #plan: QueryPlan;
  readonly #index: InvertedIndex;
  readonly #relatedRarities: readonly number[];
  readonly #roles = new Map<number, Role[]>();
  /**
   * Contains a 1 at the number of each stem that has a role. The scorer uses this array to skip
   * most words of a document.
   */
  readonly #hasRole: Uint8Array;
  /** The pairs that begin with each term: the stem of the other term, and the index of the pair. */
  readonly #pairsFrom: readonly (readonly { readonly stem: number; readonly pair: number }[])[];
  /** The index of each exact word in `#exact`. */
  readonly #exactPlaces = new Map<number, number>();
  readonly #exactTerms: number[] = [];

  readonly #weights = new Float64Array(SEARCH_FIELDS.length);
  readonly #own: Float64Array;
  readonly #related: Float64Array;
  readonly #exact: Float64Array;
  readonly #together: Float64Array;

  /** @param relatedRarities The combined rarity of each term's word and its related words. */
  constructor(plan: QueryPlan, relatedRarities: readonly number[], index: InvertedIndex) {
    const { terms, pairs } = plan;
    this.#plan = plan;
    this.#index = index;
    this.#relatedRarities = relatedRarities;
    this.#hasRole = new Uint8Array(index.stemCount);
    for (const [term, { stem, related, words, weight }] of terms.entries()) {
      const coverage = Math.min(1, weight);
      if (stem !== -1) this.#addRole(stem, { term, share: 0, coverage });
      for (const other of related)
        this.#addRole(other.stem, {
          term,
          share: other.share,
          coverage: coverage * RANKING.relatedCoverage,
        });
      for (const word of words)
        if (word !== -1) this.#exactPlaces.set(word, this.#exactTerms.push(term) - 1);
    }
    this.#pairsFrom = terms.map((_, term) =>
      pairs.flatMap(({ first, second }, pair) =>
        first === term ? [{ stem: terms[second]!.stem, pair }] : [],
      ),
    );
    this.#own = new Float64Array(terms.length);
    this.#related = new Float64Array(terms.length);
    this.#exact = new Float64Array(this.#exactTerms.length);
    this.#together = new Float64Array(pairs.length);
  }

  /** Returns a document's score, or 0 if it doesn't contain any word of the query. */
  score(document: number): number {
    this.#countOccurrences(document);
    return this.#sum() * this.nameFactor(document);
  }

  /**
   * Returns the factor by which a document's score increases because the query matches its name.
   * Rare words in the name count more, and repeated words count once.
   */
  nameFactor(document: number): number {
    const { tokens, starts, stemOfWord, genericStems } = this.#index;
    const hasRole = this.#hasRole;
    const from = starts[document]!;
    let end = from;
    let covers = false;
    for (
      const to = starts[document + 1]!;
      end < to && fieldAt(tokens[end]!) === NAME && wordOf(tokens[end]!) !== PIECE_END;
      end++
    )
      covers ||= hasRole[stemOfWord[wordOf(tokens[end]!)]!] === 1;
    if (!covers) return 1;
    let all = 0;
    let covered = 0;
    for (let at = from; at < end; at++) {
      const stem = stemOfWord[wordOf(tokens[at]!)]!;
      let first = from;
      while (stemOfWord[wordOf(tokens[first]!)] !== stem) first++;
      if (first < at) continue;
      const rarity =
        this.#index.rarity(stem) * (genericStems.has(stem) ? RANKING.genericNameWord : 1);
      const worth = Math.fround(rarity * rarity);
      all += worth;
      covered += worth * this.#coverage(stem);
    }
    return 1 + RANKING.nameCoverage * (covered / all) ** RANKING.nameCoveragePower;
  }

  #addRole(stem: number, role: Role): void {
    const roles = this.#roles.get(stem);
    if (roles !== undefined) roles.push(role);
    else this.#roles.set(stem, [role]);
    this.#hasRole[stem] = 1;
  }

  /** Returns the largest fraction of a name word that any role of the stem matches. */
  #coverage(stem: number): number {
    if (this.#hasRole[stem] === 0) return 0;
    let most = 0;
    for (const { coverage } of this.#roles.get(stem)!) most = Math.max(most, coverage);
    return most;
  }

  #countOccurrences(document: number): void {
    const { tokens, starts, stemOfWord } = this.#index;
    const hasRole = this.#hasRole;
    this.#index.fieldWeights(document, this.#weights);
    this.#own.fill(0);
    this.#related.fill(0);
    this.#exact.fill(0);
    this.#together.fill(0);
    for (let at = starts[document]!, end = starts[document + 1]!; at < end; at++) {
      const word = wordOf(tokens[at]!);
      if (word === PIECE_END || hasRole[stemOfWord[word]!] === 0) continue;
      const weight = this.#weights[fieldAt(tokens[at]!)]!;
      for (const { term, share } of this.#roles.get(stemOfWord[word]!)!) {
        if (share > 0) {
          this.#related[term]! += share * weight;
          continue;
        }
        this.#own[term]! += weight;
        const exact = this.#exactPlaces.get(word);
        if (exact !== undefined) this.#exact[exact]! += weight;
        const next = wordOf(tokens[at + 1]!);
        if (next !== PIECE_END)
          for (const { stem, pair } of this.#pairsFrom[term]!)
            if (stemOfWord[next] === stem) this.#together[pair]! += weight;
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
      const { weight, rarity } = terms[term]!;
      const alone = saturate(own);
      sum +=
        weight *
        (rarity * alone +
          (related === 0 ? 0 : this.#relatedRarities[term]! * (saturate(own + related) - alone)));
    }
    for (let place = 0; place < this.#exact.length; place++) {
      if (this.#exact[place] === 0) continue;
      const { weight, rarity } = terms[this.#exactTerms[place]!]!;
      sum += RANKING.exactWord * weight * rarity * saturate(this.#exact[place]!);
    }
    for (let pair = 0; pair < pairs.length; pair++)
      if (this.#together[pair] !== 0) sum += pairs[pair]!.worth * saturate(this.#together[pair]!);
    return sum;
  }
}
