import { ImmutableSet } from './immutable-set.js';
import { compareText } from '../core/plain-data.js';
import { KeywordIndex, scoreKeywords, type KeywordMatchResult } from '../search/keyword-index.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { FacetIndex } from './facet-index.js';
import { MatchingMetrics } from './matching-metrics.js';

/** An index that finds the tools and categories whose keywords occur in a text. */
export class KeywordMatcher {
  readonly metrics = new MatchingMetrics();
  readonly keywords = new FacetIndex<string>((entry) => entry.keywords);
  readonly #mandatory = new FacetIndex<string>((entry) => entry.mandatoryKeywords);
  readonly #index = new KeywordIndex();
  readonly #mandatoryIndex = new KeywordIndex();
  readonly #now: () => number;

  /** @param now Returns the time in milliseconds, for the metrics. */
  constructor(now: () => number) {
    this.#now = now;
  }

  add(entry: ToolEntry): void {
    for (const keyword of entry.keywords)
      if (this.keywords.count(keyword) === 0) this.#index.add(keyword);
    for (const keyword of entry.mandatoryKeywords)
      if (this.#mandatory.count(keyword) === 0) this.#mandatoryIndex.add(keyword);
    this.keywords.add(entry);
    this.#mandatory.add(entry);
  }

  remove(entry: ToolEntry): void {
    this.keywords.remove(entry);
    this.#mandatory.remove(entry);
    for (const keyword of entry.keywords)
      if (this.keywords.count(keyword) === 0) this.#index.remove(keyword);
    for (const keyword of entry.mandatoryKeywords)
      if (this.#mandatory.count(keyword) === 0) this.#mandatoryIndex.remove(keyword);
  }

  /**
   * Returns the tools with a keyword in the text, best score first. Ties are ordered by priority,
   * then name.
   */
  scored(text: string, minScore: number, maxResults: number): readonly KeywordMatchResult[] {
    const started = this.#now();
    const keywords = this.#index.find(text);
    const matched = new Map<ToolEntry, string[]>();
    for (const keyword of keywords) {
      for (const entry of this.keywords.entries(keyword)) {
        const earlier = matched.get(entry);
        if (earlier === undefined) matched.set(entry, [keyword]);
        else earlier.push(keyword);
      }
    }
    const results = [...matched]
      .map(([entry, found]) => ({ entry, match: scoreKeywords(entry, found) }))
      .filter(({ match }) => match.score >= minScore);
    results.sort(
      (a, b) =>
        b.match.score - a.match.score ||
        a.entry.priority - b.entry.priority ||
        compareText(a.entry.name, b.entry.name),
    );
    const best = results.slice(0, Math.max(0, maxResults)).map(({ match }) => match);
    this.metrics.recordQuery(best.length, keywords, this.#now() - started);
    return Object.freeze(best);
  }

  /** Returns the names of tools with a mandatory keyword in the text, sorted by name. */
  mandatory(text: string): ReadonlySet<string> {
    const names = [...this.#mandatoryIndex.find(text)].flatMap((keyword) => [
      ...this.#mandatory.names(keyword),
    ]);
    return new ImmutableSet(names.sort(compareText));
  }

  /** Returns the categories of tools with a keyword in the text, sorted by name. */
  categories(text: string): ReadonlySet<string> {
    const found = new Set<string>();
    for (const keyword of this.#index.find(text)) {
      for (const { category } of this.keywords.entries(keyword))
        if (category !== undefined) found.add(category);
    }
    this.metrics.recordCategories(found);
    return new ImmutableSet([...found].sort(compareText));
  }
}
