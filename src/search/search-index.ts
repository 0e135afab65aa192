import { compareText } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { DocumentIndex } from './index/document-index.js';
import { Best } from './ranking/best.js';
import { DocumentScorer } from './ranking/document-scorer.js';
import { explainMatch, type SearchResult } from './ranking/explain-match.js';
import { RANKING } from './ranking/parameters.js';
import { planQuery, type QueryPlan } from './ranking/query-plan.js';
import { parseRequest } from './ranking/request.js';
import { ScoreBounds } from './ranking/score-bounds.js';
import { correctSpelling } from './ranking/spelling.js';
import { RelatedWords, type RelatedWordsOptions } from './tables/related-words.js';

interface Scored {
  readonly document: number;
  readonly entry: ToolEntry;
  readonly score: number;
}

/** How many documents with the highest bounds are scored first, so that the others have a score to beat. */
const FIRST_SCORED = 32;

/** Ranked search over everything known of a tool. docs/search-and-scoring.md explains it in words. */
export class SearchIndex {
  readonly #index = new DocumentIndex();
  readonly #relatedWords: RelatedWords;
  readonly #bounds = new ScoreBounds();

  constructor(options: RelatedWordsOptions = {}) {
    this.#relatedWords = new RelatedWords(options);
  }

  add(entry: ToolEntry): void {
    this.#index.add(entry);
  }

  remove(entry: ToolEntry): void {
    this.#index.remove(entry);
  }

  /** The best tools for a text among those that `accept` lets through, best first; equal scores by priority, then by name. */
  search(text: string, limit: number, accept: (entry: ToolEntry) => boolean = () => true): readonly SearchResult[] {
    this.#index.update();
    const { request, corrections } = correctSpelling(parseRequest(text), this.#index.vocabulary, this.#relatedWords);
    const plan = planQuery(request, this.#index, this.#relatedWords);
    const best = this.#best(plan, limit, accept);
    return best.map(({ document, entry, score }) => explainMatch(entry, score, document, plan, this.#index, { corrections, truncated: request.truncated }));
  }

  /** Exactly the best: a document is passed over only when its bound cannot reach the worst of the kept. */
  #best(plan: QueryPlan, limit: number, accept: (entry: ToolEntry) => boolean): readonly Scored[] {
    const scorer = new DocumentScorer(plan, this.#index);
    const best = new Best<Scored>(limit, isBetter);
    const bounds = this.#bounds;
    bounds.compute(plan, this.#index);
    const offer = (document: number) => {
      const entry = this.#index.entry(document);
      if (entry === undefined || !accept(entry)) return;
      const score = scorer.score(document);
      if (score > 0) best.offer({ document, entry, score });
    };

    const promising = this.#withHighestBounds(Math.max(FIRST_SCORED, limit));
    for (const document of promising) offer(document);
    const done = new Set(promising);
    // The request may cover a tool's whole name, whatever its words.
    const growth = 1 + RANKING.nameCoverage;
    for (let at = 0; at < bounds.count; at++) {
      const document = bounds.documents[at]!;
      const enough = best.worst?.score ?? 0;
      const bound = bounds.bounds[document]!;
      if (bound * growth < enough || done.has(document)) continue;
      // The name alone is quickly read, and most names have little to do with the request.
      if (bound * scorer.nameFactor(document) >= enough) offer(document);
    }
    bounds.clear();
    return best.sorted();
  }

  #withHighestBounds(count: number): readonly number[] {
    const { bounds } = this.#bounds;
    const highest = new Best<number>(count, (a, b) => bounds[a]! > bounds[b]! || (bounds[a] === bounds[b] && a < b));
    for (let at = 0; at < this.#bounds.count; at++) highest.offer(this.#bounds.documents[at]!);
    return highest.sorted();
  }
}

function isBetter(a: Scored, b: Scored): boolean {
  if (a.score !== b.score) return a.score > b.score;
  if (a.entry.priority !== b.entry.priority) return a.entry.priority < b.entry.priority;
  return compareText(a.entry.name, b.entry.name) < 0;
}
