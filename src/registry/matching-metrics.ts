import { compareText } from '../core/plain-data.js';

type HitCounts = MatchingMetrics['topKeywords'];

const TOP_KEYWORDS = 10;
const TOP_CATEGORIES = 5;

/** Statistics about a registry's keyword matching. Serializes to its counters (see `toJSON`). */
export class MatchingMetrics {
  #queries = 0;
  #matches = 0;
  #emptyResults = 0;
  #totalTimeMs = 0;
  // Counts only declared keywords and categories, so the vocabulary limits the size.
  readonly #keywordHits = new Map<string, number>();
  readonly #categoryHits = new Map<string, number>();

  /** The number of texts matched so far. */
  get queries(): number {
    return this.#queries;
  }

  /** The total number of results. */
  get matches(): number {
    return this.#matches;
  }

  /** The number of texts without any match. */
  get emptyResults(): number {
    return this.#emptyResults;
  }

  /** The average time per text in milliseconds, or 0 before the first text. */
  get averageTimeMs(): number {
    return this.#queries === 0 ? 0 : this.#totalTimeMs / this.#queries;
  }

  /** The ten keywords found most often. Each keyword counts once per text. */
  get topKeywords(): readonly { readonly name: string; readonly hits: number }[] {
    return top(this.#keywordHits, TOP_KEYWORDS);
  }

  /** The five most frequently detected categories. */
  get topCategories(): HitCounts {
    return top(this.#categoryHits, TOP_CATEGORIES);
  }

  /** Resets all counters. */
  reset(): void {
    this.#queries = this.#matches = this.#emptyResults = this.#totalTimeMs = 0;
    this.#keywordHits.clear();
    this.#categoryHits.clear();
  }

  /** Counts one matched text. Called by the registry. */
  recordQuery(results: number, keywords: ReadonlySet<string>, timeMs: number): void {
    this.#queries += 1;
    this.#matches += results;
    if (results === 0) this.#emptyResults += 1;
    this.#totalTimeMs += timeMs;
    for (const keyword of keywords)
      this.#keywordHits.set(keyword, (this.#keywordHits.get(keyword) ?? 0) + 1);
  }

  /** Counts the categories detected in one text. Called by the registry. */
  recordCategories(categories: Iterable<string>): void {
    for (const category of categories)
      this.#categoryHits.set(category, (this.#categoryHits.get(category) ?? 0) + 1);
  }

  toJSON(): object {
    const { queries, matches, emptyResults, averageTimeMs, topKeywords, topCategories } = this;
    return { queries, matches, emptyResults, averageTimeMs, topKeywords, topCategories };
  }
}

function top(hits: ReadonlyMap<string, number>, count: number): HitCounts {
  return [...hits]
    .map(([name, times]) => ({ name, hits: times }))
    .sort((a, b) => b.hits - a.hits || compareText(a.name, b.name))
    .slice(0, count);
}
