import type { ToolEntry } from '../tool/tool-definition.js';
import {
  bestDocuments,
  CandidateFinder,
  type Candidates,
  type ScoredDocument,
} from './best-documents.js';
import { RANKING, SEARCH_FIELDS } from './bm25f.js';
import { DocumentScorer } from './document-scorer.js';
import { InvertedIndex } from './inverted-index.js';
import { CHATTY, parseQuery, planQuery, type Query, type QueryPlan } from './query.js';
import {
  checkRelatedWords,
  readRelatedWords,
  type RelatedWords,
  type RelatedWordsOptions,
} from './related-words.js';

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
  /** The same as one line for users. */
  readonly explanation: string;
}

type Accept = (entry: ToolEntry) => boolean;

/** A text, ready to be ranked. */
interface Prepared {
  readonly index: InvertedIndex;
  readonly query: Query;
  readonly plan: QueryPlan;
  readonly candidates: Candidates;
}

/** Different requests that are remembered for each tool that served them; the oldest goes first. */
const REMEMBERED = 20;
/** Words of one remembered request. Honest requests have about ten that tell what they are about, long ones thirty. */
const MOST_WORDS = 64;

/** Ranked search over everything known of a tool. docs/search-and-scoring.md explains it in words. */
export class SearchIndex {
  #index = new InvertedIndex();
  readonly #finder = new CandidateFinder();
  readonly #options: RelatedWordsOptions;
  #relatedWords: RelatedWords | undefined;
  /** The last requests that each tool served, as words, by tool name. */
  readonly #served = new Map<string, readonly (readonly string[])[]>();

  constructor(options?: RelatedWordsOptions) {
    this.#options = options === undefined ? {} : checkRelatedWords(options);
  }

  add(entry: ToolEntry): void {
    this.#index.add(entry, this.#served.get(entry.name));
  }

  remove(entry: ToolEntry): void {
    this.#index.remove(entry);
  }

  /** Remembers that a tool served a request: its words count like those of half an example. */
  recordUse(text: string, entry: ToolEntry): void {
    const words = tellingWords(parseQuery(text));
    if (words.length === 0) return;
    // The same request again says nothing new.
    const before = (this.#served.get(entry.name) ?? []).filter((each) => !isEqual(each, words));
    this.#served.set(entry.name, [...before, words].slice(-REMEMBERED));
    this.remove(entry);
    this.add(entry);
  }

  /** Returns the best tools for a text among those that `accept` lets through, best first; equal scores by priority, then by name. */
  search(text: string, limit: number, accept: Accept = () => true): readonly SearchResult[] {
    return this.find(text, limit, accept).best.map(({ result }) => result);
  }

  /** Finds the same, with the tools themselves and with all others that have a word of the text, accepted or not. */
  find(
    text: string,
    limit: number,
    accept: Accept,
  ): {
    readonly best: readonly { readonly entry: ToolEntry; readonly result: SearchResult }[];
    readonly having: () => readonly ToolEntry[];
  } {
    const prepared = this.#prepare(text);
    const { index, plan, candidates } = prepared;
    const scorer = new DocumentScorer(plan, candidates.relatedRarities, index);
    const best = bestDocuments(candidates, scorer, index, limit, accept);
    return {
      best: best.map((each) => ({ entry: each.entry, result: explain(each, prepared) })),
      having: () => [...candidates.documents].flatMap((document) => index.entry(document) ?? []),
    };
  }

  #prepare(text: string): Prepared {
    this.#index = this.#index.compacted();
    this.#index.update();
    const index = this.#index;
    const query = parseQuery(text);
    const plan = planQuery(query, index, (this.#relatedWords ??= readRelatedWords(this.#options)));
    return { index, query, plan, candidates: this.#finder.find(plan, index) };
  }
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word, place) => word === other[place]);
}

/**
 * Returns the words that say what a request is about: not what users say to any helper, and no values (numbers, quoted
 * text, addresses), which are nobody else's business.
 */
function tellingWords({ terms }: Query): readonly string[] {
  return terms
    .filter(({ stem, weight }) => weight > RANKING.address && !CHATTY.has(stem))
    .slice(0, MOST_WORDS)
    .map(({ words }) => words[0]!);
}

/** Says which words of the request are where in a tool. */
function explain(
  { entry, document, score }: ScoredDocument,
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
    ...(truncated ? ['the end of the text was not read'] : []),
  ];
  return Object.freeze({
    toolName: entry.name,
    score,
    matches: Object.freeze(matches),
    corrections,
    truncated,
    explanation: notes.join('; '),
  });
}
