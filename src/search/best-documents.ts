import type { ToolEntry } from '../tool/tool-definition.js';
import { GREATEST_SUM, RANKING, rarityOf, saturate } from './bm25f.js';
import type { DocumentScorer } from './document-scorer.js';
import { documentOf, impactAt, type InvertedIndex } from './inverted-index.js';
import type { PlannedTerm, QueryPlan } from './query.js';

/** A document with its tool and its score. */
export interface ScoredDocument {
  readonly document: number;
  readonly entry: ToolEntry;
  readonly score: number;
}

/** The documents that contain a word of the query or a related word. */
export interface Candidates {
  readonly documents: Uint32Array;
  /** The maximum score of each document, before the bonus for matching its name. */
  readonly bounds: Float32Array;
  /**
   * The combined rarity of each term's word and its related words. 0 if no tool contains any of
   * these words.
   */
  readonly relatedRarities: readonly number[];
}

/**
 * The number of documents with the highest bounds that are scored first. After that, all other
 * documents must reach a minimum score.
 */
const FIRST_SCORED = 16;
/** Makes sure that a bound is still an upper bound after rounding. */
const ROUNDING = 1 + 1e-6;
const SATURATED = GREATEST_SUM.map(saturate);

/**
 * Finds the candidates for a query, using only the postings.
 *
 * A document's bound is the sum of its words' saturated impacts. Each impact is multiplied by the
 * highest factor that exact words and adjacent words can cause. A pair of adjacent words is
 * attributed to its rarer word. The sums are stored by document number in arrays that all queries
 * reuse, and each query resets them to zero.
 */
export class CandidateFinder {
  #bounds = new Float32Array(0);
  #own = new Float32Array(0);
  #related = new Float32Array(0);
  /** The documents with a bound, and the documents that contain a word of the current term. */
  #documents = new Uint32Array(0);
  #touched = new Uint32Array(0);
  #count = 0;

  find(plan: QueryPlan, index: InvertedIndex): Candidates {
    this.#reserve(index.documentCount);
    const growth = growthOf(plan);
    const relatedRarities = plan.terms.map((term, place) => {
      if (term.related.length > 0) return this.#addWithRelated(term, index, growth[place]!);
      if (term.stem !== -1) this.#addOwn(term, index, growth[place]!);
      return 0;
    });
    const documents = this.#documents.slice(0, this.#count);
    const sums = this.#bounds;
    const bounds = new Float32Array(this.#count);
    for (let at = 0; at < documents.length; at++) {
      bounds[at] = sums[documents[at]!]!;
      sums[documents[at]!] = 0;
    }
    this.#count = 0;
    return { documents, bounds, relatedRarities };
  }

  #reserve(documents: number): void {
    if (this.#bounds.length >= documents) return;
    const room = Math.ceil(documents * 1.25);
    [this.#bounds, this.#own, this.#related] = [
      new Float32Array(room),
      new Float32Array(room),
      new Float32Array(room),
    ];
    [this.#documents, this.#touched] = [new Uint32Array(room), new Uint32Array(room)];
  }

  #add(document: number, amount: number): void {
    if (this.#bounds[document] === 0) this.#documents[this.#count++] = document;
    this.#bounds[document]! += amount;
  }

  #addOwn({ stem, weight, rarity }: PlannedTerm, index: InvertedIndex, growth: number): void {
    const factor = weight * rarity * growth * ROUNDING;
    const { values, length } = index.postings(stem);
    for (let at = 0; at < length; at++)
      this.#add(documentOf(values[at]!), factor * SATURATED[impactAt(values[at]!)]!);
  }

  #addWithRelated(
    { stem, weight, rarity, related }: PlannedTerm,
    index: InvertedIndex,
    growth: number,
  ): number {
    let touched = 0;
    const addSums = (stem: number, share: number, sums: Float32Array) => {
      const { values, length } = index.postings(stem);
      for (let at = 0; at < length; at++) {
        const document = documentOf(values[at]!);
        if (this.#own[document] === 0 && this.#related[document] === 0)
          this.#touched[touched++] = document;
        sums[document]! += share * GREATEST_SUM[impactAt(values[at]!)]!;
      }
    };
    if (stem !== -1) addSums(stem, 1, this.#own);
    for (const other of related) addSums(other.stem, other.share, this.#related);
    let having = 0;
    for (let at = 0; at < touched; at++)
      if (index.entry(this.#touched[at]!) !== undefined) having++;
    const relatedRarity = Math.min(stem === -1 ? Infinity : rarity, rarityOf(having, index.size));
    for (let at = 0; at < touched; at++) {
      const document = this.#touched[at]!;
      const own = this.#own[document]!;
      const alone = saturate(own);
      const bound =
        rarity * alone * growth +
        relatedRarity * (saturate(own + this.#related[document]!) - alone);
      this.#add(document, weight * bound * ROUNDING);
      this.#own[document] = 0;
      this.#related[document] = 0;
    }
    return relatedRarity;
  }
}

/**
 * Returns the maximum factor by which exact words and adjacent words can increase each term's
 * score. A pair of adjacent words increases only the score of its rarer word.
 */
function growthOf({ terms, pairs }: QueryPlan): number[] {
  const growth = terms.map(({ words }) => 1 + RANKING.exactWord * words.length);
  for (const { first, second, worth } of pairs) {
    const rarer = terms[first]!.rarity >= terms[second]!.rarity ? first : second;
    const { weight, rarity } = terms[rarer]!;
    if (weight * rarity > 0) growth[rarer]! += worth / (weight * rarity);
  }
  return growth;
}

/**
 * Returns the best candidates, best first. The result is exact: a candidate is skipped only if its
 * bound can't reach the worst result found so far.
 */
export function bestDocuments(
  { documents, bounds }: Candidates,
  scorer: DocumentScorer,
  index: InvertedIndex,
  limit: number,
  accept: (entry: ToolEntry) => boolean,
): readonly ScoredDocument[] {
  const best = new TopK(limit, isBetter);
  const offer = (document: number) => {
    const entry = index.entry(document);
    if (entry === undefined || !accept(entry)) return;
    const score = scorer.score(document);
    if (score > 0) best.offer({ document, entry, score });
  };
  const promising = highestOf(bounds, Math.max(FIRST_SCORED, limit));
  for (const place of promising) offer(documents[place]!);
  const done = new Set(promising);
  let enough = best.worst?.score ?? 0;
  for (let place = 0; place < documents.length; place++) {
    const bound = bounds[place]!;
    // At first, assumes the maximum bonus, as if the query matched the tool's whole name.
    if (bound * (1 + RANKING.nameCoverage) < enough || done.has(place)) continue;
    // The actual bonus is fast to compute and small for most names.
    if (bound * scorer.nameFactor(documents[place]!) < enough) continue;
    offer(documents[place]!);
    enough = best.worst?.score ?? 0;
  }
  return best.sorted();
}

function highestOf(bounds: Float32Array, count: number): readonly number[] {
  const highest = new TopK<number>(
    count,
    (a, b) => bounds[a]! > bounds[b]! || (bounds[a] === bounds[b] && a < b),
  );
  let least = 0;
  for (let place = 0; place < bounds.length; place++) {
    if (bounds[place]! < least) continue;
    highest.offer(place);
    if (highest.worst !== undefined) least = bounds[highest.worst]!;
  }
  return highest.sorted();
}

/** Returns true if the first document ranks higher: by score, then by priority, then by name. */
function isBetter(a: ScoredDocument, b: ScoredDocument): boolean {
  if (a.score !== b.score) return a.score > b.score;
  if (a.entry.priority !== b.entry.priority) return a.entry.priority < b.entry.priority;
  return a.entry.name === b.entry.name ? a.document < b.document : a.entry.name < b.entry.name;
}

/** Collects the best of many items under a total order, in a heap with the worst item on top. */
class TopK<T> {
  readonly #heap: T[] = [];

  constructor(
    private readonly limit: number,
    private readonly isBetter: (a: T, b: T) => boolean,
  ) {}

  /**
   * The worst item, or undefined until the heap is full. Only better items are added to a full
   * heap.
   */
  get worst(): T | undefined {
    return this.#heap.length < this.limit ? undefined : this.#heap[0];
  }

  offer(candidate: T): void {
    const heap = this.#heap;
    if (heap.length < this.limit) {
      let at = heap.push(candidate) - 1;
      for (
        let parent = (at - 1) >> 1;
        at > 0 && this.isBetter(heap[parent]!, candidate);
        parent = (at - 1) >> 1
      ) {
        heap[at] = heap[parent]!;
        at = parent;
      }
      heap[at] = candidate;
    } else if (this.limit > 0 && this.isBetter(candidate, heap[0]!)) {
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child + 1 < heap.length && this.isBetter(heap[child]!, heap[child + 1]!)) child++;
        if (child >= heap.length || !this.isBetter(candidate, heap[child]!)) break;
        heap[at] = heap[child]!;
        at = child;
      }
      heap[at] = candidate;
    }
  }

  /** Returns the items, best first. */
  sorted(): T[] {
    return [...this.#heap].sort((a, b) => (this.isBetter(a, b) ? -1 : 1));
  }
}
