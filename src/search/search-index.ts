import { finish, type Work } from '../core/clock.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import {
  bestDocuments,
  CandidateFinder,
  type Candidates,
  type ScoredDocument,
} from './best-documents.js';
import { SEARCH_FIELDS } from './bm25f.js';
import { DocumentScorer } from './document-scorer.js';
import { InvertedIndex } from './inverted-index.js';
import { parseQuery, planQuery, type Query, type QueryPlan } from './query.js';
import {
  checkRelatedWords,
  readRelatedWords,
  type RelatedWords,
  type RelatedWordsOptions,
} from './related-words.js';
import { UsageHistory } from './usage-history.js';
import { applyVotes, tellingStems, votedAgainst, votesOn } from './votes.js';

/** A tool that fits a request, and why. */
export interface SearchResult {
  readonly toolName: string;
  readonly score: number;
  /** The words of the request that the tool has, and where; `related` marks one for which it has only words that mean about the same. */
  readonly matches: readonly {
    readonly word: string;
    readonly fields: readonly (typeof SEARCH_FIELDS)[number][];
    readonly related: boolean;
  }[];
  /** The words of the request that no tool has, and the words as which they were read. */
  readonly corrections: readonly { readonly word: string; readonly readAs: string }[];
  /** Marks a text that was longer than is read; the rest was ignored. */
  readonly truncated: boolean;
  /** The part of the score that past use of the tool gave, or, below zero, took; 0 when there was none. */
  readonly usage: number;
  /** The same as one line for users. */
  readonly explanation: string;
}

/** The results of a search. */
interface Found {
  /** The best, best first. */
  readonly best: readonly { readonly entry: ToolEntry; readonly result: SearchResult }[];
  /** Every tool that has a word of the text or one that stands in, in no order, accepted or not. */
  readonly having: readonly ToolEntry[];
}

type Accept = (entry: ToolEntry) => boolean;

/** A text, ready to be ranked. */
interface Prepared {
  readonly index: InvertedIndex;
  readonly query: Query;
  readonly plan: QueryPlan;
  readonly candidates: Candidates;
}

/** Ranked search over everything known of a tool. docs/search-and-scoring.md explains it in words. */
export class SearchIndex {
  #index = new InvertedIndex();
  readonly #finder = new CandidateFinder();
  readonly #options: RelatedWordsOptions;
  #relatedWords: RelatedWords | undefined;
  #usage: UsageHistory | undefined;

  constructor(options?: RelatedWordsOptions) {
    this.#options = options === undefined ? {} : checkRelatedWords(options);
  }

  /** The record of which tools served past requests. */
  get usage(): UsageHistory {
    return (this.#usage ??= new UsageHistory());
  }

  add(entry: ToolEntry): void {
    this.#index.add(entry);
  }

  remove(entry: ToolEntry): void {
    this.#index.remove(entry);
  }

  /** Remembers that a tool served a request, or failed to. */
  recordUse(text: string, toolName: string, outcome: 'success' | 'failure'): void {
    this.usage.record(tellingStems(parseQuery(text)), toolName, outcome);
  }

  /** Indexes what came since the last search as work that pauses; otherwise the next search does it at once. */
  *preparing(): Work<RelatedWords> {
    this.#index = this.#index.compacted();
    yield* this.#index.updating();
    return (this.#relatedWords ??= yield* readRelatedWords(this.#options));
  }

  /** Returns the best tools for a text among those that `accept` lets through, best first; equal scores by priority, then by name. */
  search(text: string, limit: number, accept: Accept = () => true): readonly SearchResult[] {
    return finish(this.#best(this.#prepare(text), limit, accept, this.#usage)).map(
      ({ result }) => result,
    );
  }

  /**
   * Finds the same with the tools themselves and with all others that have a word of the text, as work that pauses; by the
   * votes of another history if one is given. It begins again when tools come or go meanwhile.
   */
  *finding(text: string, limit: number, accept: Accept, usage = this.#usage): Work<Found> {
    for (;;) {
      yield* this.preparing();
      const { state } = this.#index;
      const work = this.#found(text, limit, accept, usage);
      for (let step = work.next(); ; step = work.next()) {
        if (step.done === true) return step.value;
        yield;
        if (this.#index.state !== state) break;
      }
    }
  }

  *#found(
    text: string,
    limit: number,
    accept: Accept,
    usage: UsageHistory | undefined,
  ): Work<Found> {
    const prepared = this.#prepare(text);
    yield;
    const best = yield* this.#best(prepared, limit, accept, usage);
    const having: ToolEntry[] = [];
    for (const document of prepared.candidates.documents) {
      yield;
      const entry = prepared.index.entry(document);
      if (entry !== undefined) having.push(entry);
    }
    return { best, having };
  }

  #prepare(text: string): Prepared {
    const relatedWords = finish(this.preparing());
    const index = this.#index;
    const query = parseQuery(text);
    const plan = planQuery(query, index, relatedWords);
    return { index, query, plan, candidates: this.#finder.find(plan, index) };
  }

  *#best(
    prepared: Prepared,
    limit: number,
    accept: Accept,
    usage: UsageHistory | undefined,
  ): Work<Found['best']> {
    const explained: Found['best'][number][] = [];
    for (const scored of yield* ranked(prepared, limit, accept, usage)) {
      yield;
      explained.push({ entry: scored.entry, result: explain(scored, prepared) });
    }
    return explained;
  }
}

function* ranked(
  { index, query, plan, candidates }: Prepared,
  limit: number,
  accept: Accept,
  usage: UsageHistory | undefined,
): Work<readonly ScoredDocument[]> {
  const scorer = new DocumentScorer(plan, candidates.relatedRarities, index);
  if (usage === undefined || usage.size === 0)
    return yield* bestDocuments(candidates, scorer, index, limit, accept);
  const votes = votesOn(query, usage, index);
  const best = yield* bestDocuments(candidates, scorer, index, limit + votedAgainst(votes), accept);
  return applyVotes(best, limit, votes, (toolName) => {
    const document = index.documentsNamed(toolName).find((each) => accept(index.entry(each)!));
    return document === undefined
      ? undefined
      : { document, entry: index.entry(document)!, score: scorer.score(document) };
  });
}

/** Says which words of the request are where in a tool. */
function explain(
  { entry, document, score, usage = 0 }: ScoredDocument,
  { index, query: { truncated }, plan: { terms, corrections } }: Prepared,
): SearchResult {
  const fieldsByStem = index.fieldsByStem(document);
  const namesOf = (fields: number) =>
    Object.freeze(SEARCH_FIELDS.filter((_, field) => (fields & (1 << field)) !== 0));
  const matches = terms.flatMap(({ word, stem, related }): SearchResult['matches'] => {
    const own = fieldsByStem.get(stem) ?? 0;
    const fields =
      own || related.reduce((all, other) => all | (fieldsByStem.get(other.stem) ?? 0), 0);
    return fields === 0
      ? []
      : [Object.freeze({ word, fields: namesOf(fields), related: own === 0 })];
  });
  const notes = [
    ...matches.map(
      ({ word, fields, related }) =>
        `${related ? `a word like "${word}"` : `"${word}"`} in ${fields.join(', ')}`,
    ),
    ...corrections.map(({ word, readAs }) => `"${word}" read as "${readAs}"`),
    ...(usage === 0
      ? []
      : [usage > 0 ? 'served similar requests before' : 'failed on similar requests before']),
    ...(truncated ? ['the end of the text was not read'] : []),
  ];
  return Object.freeze({
    toolName: entry.name,
    score,
    matches: Object.freeze(matches),
    corrections,
    truncated,
    usage,
    explanation: notes.join('; '),
  });
}
