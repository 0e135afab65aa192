import { compareText } from '../core/plain-data.js';
import { finish, type Work } from '../core/clock.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { applyVotes, votedAgainst, type Voted } from './feedback/apply-votes.js';
import type { UseOutcome } from './feedback/past-requests.js';
import { UsageHistory } from './feedback/usage-history.js';
import { DocumentIndex } from './index/document-index.js';
import { Best } from './ranking/best.js';
import { DocumentScorer } from './ranking/document-scorer.js';
import { explainMatch, type SearchResult } from './ranking/explain-match.js';
import { RANKING } from './ranking/parameters.js';
import { planQuery, type QueryPlan } from './ranking/query-plan.js';
import { parseRequest, type Request } from './ranking/request.js';
import { ScoreBounds } from './ranking/score-bounds.js';
import { ScorerScratch } from './ranking/scorer-scratch.js';
import { correctSpelling } from './ranking/spelling.js';
import { checkRelatedWords, RelatedWords, type RelatedWordsOptions } from './tables/related-words.js';

interface Scored {
  readonly document: number;
  readonly entry: ToolEntry;
  readonly score: number;
  /** The part of the score that past use gave or took. */
  readonly usage?: number;
}

/** A text as it is ranked. */
interface Planned extends Pick<SearchResult, 'corrections' | 'truncated'> {
  readonly asWritten: Request;
  readonly plan: QueryPlan;
}

/** What a search found. */
export interface Found {
  /** The best, best first. */
  readonly best: readonly { readonly entry: ToolEntry; readonly result: SearchResult }[];
  /** Every tool that has a word of the text or one that stands in, in no order, whether or not it was accepted. */
  readonly having: readonly ToolEntry[];
}

/** Arrays as long as the catalogue or its vocabulary, which serve one request after the other. */
interface Workspace {
  readonly bounds: ScoreBounds;
  readonly scratch: ScorerScratch;
}

/** How many documents with the highest bounds are scored first, so that the others have a score to beat. */
const FIRST_SCORED = 16;

/** Ranked search over everything known of a tool. docs/search-and-scoring.md explains it in words. */
export class SearchIndex {
  /** Which tools served past requests. */
  readonly usage = new UsageHistory();

  readonly #index = new DocumentIndex();
  readonly #options: RelatedWordsOptions;
  #tables: RelatedWords | undefined;
  #workspace: Workspace | undefined;

  constructor(options: RelatedWordsOptions = {}) {
    this.#options = checkRelatedWords(options);
  }

  /** Made by the first search: many programs never search. */
  get #relatedWords(): RelatedWords {
    return (this.#tables ??= finish(RelatedWords.of(this.#options)));
  }

  add(entry: ToolEntry): void {
    this.#index.add(entry);
  }

  remove(entry: ToolEntry): void {
    this.#index.remove(entry);
  }

  /** Remembers that a tool served a request, or failed to. */
  recordUse(text: string, toolName: string, outcome: UseOutcome): void {
    this.usage.record(parseRequest(text), toolName, outcome);
  }

  /** Indexes what came since the last search as work that pauses; otherwise the next search does it at once. */
  *preparing(): Work<void> {
    yield* this.#index.updating();
    this.#tables ??= yield* RelatedWords.of(this.#options);
  }

  /** The best tools for a text among those that `accept` lets through, best first; equal scores by priority, then by name. */
  search(text: string, limit: number, accept: (entry: ToolEntry) => boolean = () => true): readonly SearchResult[] {
    return finish(this.#explained(this.#planOf(text), limit, accept, this.usage)).map(({ result }) => result);
  }

  /**
   * Finds the same with the tools themselves and with all others that have a word of the text, as work that pauses; by the
   * votes of another history if one is given. It begins again when tools come or go meanwhile.
   */
  *finding(text: string, limit: number, accept: (entry: ToolEntry) => boolean, usage: UsageHistory = this.usage): Work<Found> {
    for (;;) {
      yield* this.preparing();
      const { version } = this.#index;
      const work = this.#finding(text, limit, accept, usage);
      for (let step = work.next(); ; step = work.next()) {
        if (step.done === true) return step.value!;
        yield;
        if (this.#index.version !== version) break;
      }
      work.return(undefined);
    }
  }

  *#finding(text: string, limit: number, accept: (entry: ToolEntry) => boolean, usage: UsageHistory): Work<Found | undefined> {
    const planned = this.#planOf(text);
    yield;
    const best = yield* this.#explained(planned, limit, accept, usage);
    yield;
    return { best, having: yield* this.#having(planned.plan) };
  }

  #planOf(text: string): Planned {
    this.#index.update();
    const asWritten = parseRequest(text);
    const { request, corrections } = correctSpelling(asWritten, this.#index, this.#relatedWords);
    return { asWritten, truncated: request.truncated, corrections, plan: planQuery(request, this.#index, this.#relatedWords) };
  }

  *#explained({ asWritten, plan, corrections, truncated }: Planned, limit: number, accept: (entry: ToolEntry) => boolean, usage: UsageHistory): Work<Found['best']> {
    const best = yield* usage.size === 0 ? this.#best(plan, limit, accept) : this.#bestWithUsage(asWritten, plan, limit, accept, usage);
    const explained: Found['best'][number][] = [];
    for (const { document, entry, score, usage: byUse = 0 } of best) {
      yield;
      explained.push({ entry, result: explainMatch(entry, score, document, plan, this.#index, { corrections, truncated, usage: byUse }) });
    }
    return explained;
  }

  *#having(plan: QueryPlan): Work<readonly ToolEntry[]> {
    const workspace = this.#takeWorkspace();
    const { bounds } = workspace;
    try {
      bounds.compute(plan, this.#index);
      const having: ToolEntry[] = [];
      for (let at = 0; at < bounds.count; at++) {
        yield;
        const entry = this.#index.entry(bounds.documents[at]!);
        if (entry !== undefined) having.push(entry);
      }
      return having;
    } finally {
      bounds.clear();
      this.#workspace = workspace;
    }
  }

  /** As `#best`, with the votes of past requests added to the scores. */
  *#bestWithUsage(request: Request, plan: QueryPlan, limit: number, accept: (entry: ToolEntry) => boolean, usage: UsageHistory): Work<readonly Scored[]> {
    const index = this.#index;
    const votes = usage.votesOn(request, {
      state: [index.vocabulary, index.store.documents, index.size],
      size: index.size,
      documentsWith: (stem) => {
        const number = index.vocabulary.stemNumber(stem);
        return number === undefined ? 0 : index.documentsWith(number);
      },
    });
    const ranked = yield* this.#best(plan, limit + votedAgainst(votes), accept);
    if (votes.size === 0) return ranked;
    const best = new Best<Voted>(limit, isBetter);
    const workspace = this.#takeWorkspace();
    const scorer = new DocumentScorer(plan, index, workspace.scratch);
    try {
      const voted = applyVotes(ranked, limit, votes, (toolName) => {
        for (const document of index.documentsNamed(toolName)) {
          const entry = index.entry(document)!;
          if (accept(entry)) return { document, entry, score: scorer.score(document) };
        }
        return undefined;
      });
      for (const tool of voted) best.offer(tool);
    } finally {
      scorer.release();
      this.#workspace = workspace;
    }
    return best.sorted();
  }

  /** Exactly the best: a document is passed over only when its bound cannot reach the worst of the kept. */
  *#best(plan: QueryPlan, limit: number, accept: (entry: ToolEntry) => boolean): Work<readonly Scored[]> {
    const workspace = this.#takeWorkspace();
    const scorer = new DocumentScorer(plan, this.#index, workspace.scratch);
    try {
      workspace.bounds.compute(plan, this.#index);
      yield;
      return yield* this.#bestByBounds(scorer, workspace.bounds, limit, accept);
    } finally {
      // Also when `accept` throws: the arrays serve the next request.
      workspace.bounds.clear();
      scorer.release();
      this.#workspace = workspace;
    }
  }

  /** Lends the arrays that requests share, to be put back. A search that comes while another is under way gets its own. */
  #takeWorkspace(): Workspace {
    const workspace = this.#workspace ?? { bounds: new ScoreBounds(), scratch: new ScorerScratch() };
    this.#workspace = undefined;
    return workspace;
  }

  *#bestByBounds(scorer: DocumentScorer, scoreBounds: ScoreBounds, limit: number, accept: (entry: ToolEntry) => boolean): Work<readonly Scored[]> {
    const best = new Best<Scored>(limit, isBetter);
    const { bounds, documents, count } = scoreBounds;
    const offer = (document: number) => {
      const entry = this.#index.entry(document);
      if (entry === undefined || !accept(entry)) return;
      const score = scorer.score(document);
      if (score > 0) best.offer({ document, entry, score });
    };

    const promising = withHighestBounds(scoreBounds, Math.max(FIRST_SCORED, limit));
    for (const document of promising) {
      yield;
      offer(document);
    }
    const done = new Set(promising);
    // The request may cover a tool's whole name, whatever its words.
    const growth = 1 + RANKING.nameCoverage;
    let enough = best.worst?.score ?? 0;
    for (let at = 0; at < count; at++) {
      const document = documents[at]!;
      const bound = bounds[document]!;
      if (bound * growth < enough || done.has(document)) continue;
      // The name alone is quickly read, and most names have little to do with the request.
      if (bound * scorer.nameFactor(document) < enough) continue;
      yield;
      offer(document);
      enough = best.worst?.score ?? 0;
    }
    return best.sorted();
  }
}

function withHighestBounds({ bounds, documents, count }: ScoreBounds, number: number): readonly number[] {
  const highest = new Best<number>(number, (a, b) => bounds[a]! > bounds[b]! || (bounds[a] === bounds[b] && a < b));
  let least = 0;
  for (let at = 0; at < count; at++) {
    const document = documents[at]!;
    if (bounds[document]! < least) continue;
    highest.offer(document);
    if (highest.worst !== undefined) least = bounds[highest.worst]!;
  }
  return highest.sorted();
}

function isBetter(a: Scored, b: Scored): boolean {
  if (a.score !== b.score) return a.score > b.score;
  if (a.entry.priority !== b.entry.priority) return a.entry.priority < b.entry.priority;
  return (compareText(a.entry.name, b.entry.name) || a.document - b.document) < 0;
}
