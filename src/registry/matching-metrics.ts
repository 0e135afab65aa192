import { compareText } from '../core/plain-data.js';

/** How often something was hit. */
export interface HitCount {
  readonly name: string;
  readonly hits: number;
}

const TOP_KEYWORDS = 10;
const TOP_CATEGORIES = 5;

/** What a registry's keyword matching was asked, and how well it could answer; as JSON, the figures. */
export class MatchingMetrics {
  #queries = 0;
  #matches = 0;
  #emptyResults = 0;
  #totalTimeMs = 0;
  // Bounded by the registry's own vocabulary: only declared keywords and categories are ever counted.
  readonly #keywordHits = new Map<string, number>();
  readonly #categoryHits = new Map<string, number>();

  /** How many texts were matched. */
  get queries(): number {
    return this.#queries;
  }

  /** How many results they had together. */
  get matches(): number {
    return this.#matches;
  }

  /** How many texts matched nothing. */
  get emptyResults(): number {
    return this.#emptyResults;
  }

  /** Milliseconds a text, on average; 0 before the first. */
  get averageTimeMs(): number {
    return this.#queries === 0 ? 0 : this.#totalTimeMs / this.#queries;
  }

  /** The ten keywords found most often, each counted once a text. */
  get topKeywords(): readonly HitCount[] {
    return top(this.#keywordHits, TOP_KEYWORDS);
  }

  /** The five categories detected most often. */
  get topCategories(): readonly HitCount[] {
    return top(this.#categoryHits, TOP_CATEGORIES);
  }

  /** Forgets everything counted so far. */
  reset(): void {
    this.#queries = this.#matches = this.#emptyResults = this.#totalTimeMs = 0;
    this.#keywordHits.clear();
    this.#categoryHits.clear();
  }

  /** Called by the registry after each matched text. */
  recordQuery(results: number, keywords: ReadonlySet<string>, timeMs: number): void {
    this.#queries += 1;
    this.#matches += results;
    if (results === 0) this.#emptyResults += 1;
    this.#totalTimeMs += timeMs;
    for (const keyword of keywords) this.#keywordHits.set(keyword, (this.#keywordHits.get(keyword) ?? 0) + 1);
  }

  /** Called by the registry after each detection. */
  recordCategories(categories: Iterable<string>): void {
    for (const category of categories) this.#categoryHits.set(category, (this.#categoryHits.get(category) ?? 0) + 1);
  }

  toJSON(): object {
    const { queries, matches, emptyResults, averageTimeMs, topKeywords, topCategories } = this;
    return { queries, matches, emptyResults, averageTimeMs, topKeywords, topCategories };
  }
}

function top(hits: ReadonlyMap<string, number>, count: number): readonly HitCount[] {
  return [...hits]
    .map(([name, times]) => ({ name, hits: times }))
    .sort((a, b) => b.hits - a.hits || compareText(a.name, b.name))
    .slice(0, count);
}
