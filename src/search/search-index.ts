import { compareText } from '../core/plain-data.js';
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
import { CHATTY, parseQuery, planQuery, type SearchQuery, type QueryPlan } from './query.js';
import { relatedWords } from './related-words.js';
import { isStale, type CheckedHints } from './tool-hints.js';
import { VectorIndex, type Vector } from './tool-vectors.js';

/** A tool that matches a request, and the reason. */
export interface SearchResult {
  readonly toolName: string;
  readonly score: number;
  /**
   * The words of the request that occur in the tool, and where they occur. `related` marks a word
   * for which the tool contains only a synonym or concept.
   */
  readonly matches: readonly {
    readonly word: string;
    readonly fields: readonly (typeof SEARCH_FIELDS)[number][];
    readonly related: boolean;
  }[];
  /** The words of the request that no tool has, and the words that were used instead. */
  readonly corrections: readonly { readonly word: string; readonly readAs: string }[];
  /** True if the text was too long and its end was ignored. */
  readonly truncated: boolean;
  /** An explanation of the match for users, in one line. */
  readonly explanation: string;
}

type Accept = (entry: ToolEntry) => boolean;

/** A text that has been prepared for ranking. */
interface Prepared {
  readonly index: InvertedIndex;
  readonly query: SearchQuery;
  readonly plan: QueryPlan;
  readonly candidates: Candidates;
}

/** The number of distinct requests remembered per tool. The oldest request is dropped first. */
const REMEMBERED = 20;
/**
 * The maximum number of words per remembered request. Typical requests have about ten informative
 * words, and long requests have thirty.
 */
const MOST_WORDS = 64;

/** A result with its entry. */
interface Found {
  readonly entry: ToolEntry;
  readonly result: SearchResult;
}

/** Knowledge about tools in addition to their own text. */
interface Knowledge {
  readonly hints?: CheckedHints | undefined;
  readonly vectors?: VectorIndex | undefined;
}

/** The number of tools ranked together if a request has a vector: the best by words and by meaning. */
const RANKED_TOGETHER = 100;
/** The weight of the most similar meaning, compared with the best match by words. */
const MEANING = 0.6;

const acceptAll: Accept = () => true;

/** Ranks tools using all their metadata. See docs/search-and-scoring.md. */
export class SearchIndex {
  #index = new InvertedIndex((entry) => ({
    served: this.#served.get(entry.name) ?? [],
    hints: this.#hintsOf(entry),
  }));
  readonly #finder = new CandidateFinder();
  readonly #hints: CheckedHints;
  readonly #vectors: VectorIndex | undefined;
  /** The words of the last requests that each tool handled, by tool name. */
  readonly #served = new Map<string, readonly (readonly string[])[]>();

  constructor({ hints = {}, vectors }: Knowledge = {}) {
    this.#hints = hints;
    this.#vectors = vectors;
  }

  add(entry: ToolEntry): void {
    this.#index.add(entry);
    this.#vectors?.add(entry);
  }

  remove(entry: ToolEntry): void {
    this.#index.remove(entry);
    this.#vectors?.remove(entry);
  }

  /** Returns true if the tool has hints that were written for an earlier version of its text. */
  hasStaleHints(entry: ToolEntry): boolean {
    return Object.hasOwn(this.#hints, entry.name) && isStale(this.#hints[entry.name]!.of, entry);
  }

  /**
   * Remembers that a tool handled a request. The request's words count half as much as the words of
   * an example.
   */
  recordUse(text: string, entry: ToolEntry): void {
    const words = tellingWords(parseQuery(text));
    if (words.length === 0) return;
    // Repeating the same request adds nothing.
    const before = (this.#served.get(entry.name) ?? []).filter((each) => !isEqual(each, words));
    this.#served.set(entry.name, [...before, words].slice(-REMEMBERED));
    this.remove(entry);
    this.add(entry);
  }

  /**
   * Returns the tools that best match a text and pass `accept`, best first. Ties are ordered by
   * priority, then name. With a vector, tools with a similar meaning are found, too.
   */
  search(
    text: string,
    limit: number,
    accept: Accept = acceptAll,
    vector?: Vector,
  ): readonly SearchResult[] {
    return vector === undefined
      ? this.find(text, limit, accept).best.map(({ result }) => result)
      : this.#findWithMeaning(text, vector, limit, accept);
  }

  /**
   * Searches like `search`. Also returns the entries, and a function that lists all tools that
   * contain a word of the text, even if `accept` rejects them.
   */
  find(
    text: string,
    limit: number,
    accept: Accept,
  ): {
    readonly best: readonly Found[];
    readonly having: () => readonly ToolEntry[];
  } {
    const prepared = this.#prepare(text);
    return {
      best: bestOf(prepared, limit, accept).map((each) => ({
        entry: each.entry,
        result: explain(each, prepared),
      })),
      having: () =>
        [...prepared.candidates.documents].flatMap(
          (document) => prepared.index.entry(document) ?? [],
        ),
    };
  }

  /**
   * Ranks the best tools by words together with the most similar tools. A score is the tool's
   * share of the best score by words, plus 0.6 × its similarity, scaled so that the least similar of
   * these tools gets 0 and the most similar gets 1. The scale is that of all tools, so a tool's score
   * doesn't depend on `accept`.
   */
  #findWithMeaning(
    text: string,
    vector: Vector,
    limit: number,
    accept: Accept,
  ): readonly SearchResult[] {
    const vectors = this.#vectors ?? new VectorIndex({});
    const asked = vectors.read(vector);
    const prepared = this.#prepare(text);
    const together = (count: number, accept: Accept): readonly Ranked[] => {
      const byWords = new Map(bestOf(prepared, count, accept).map((each) => [each.entry, each]));
      const byMeaning = vectors.nearest(asked, count, accept);
      return [...new Set([...byWords.keys(), ...byMeaning])].map((entry) => ({
        entry,
        words: byWords.get(entry),
        similarity: vectors.similarity(asked, entry),
      }));
    };
    const ofAll = together(RANKED_TOGETHER, acceptAll);
    const scoreOf = scorerWithin(ofAll);
    const accepted =
      accept === acceptAll && limit <= RANKED_TOGETHER
        ? ofAll
        : together(Math.max(limit, RANKED_TOGETHER), accept);
    return accepted
      .map((each) => ({ ...each, score: scoreOf(each) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || byPriorityAndName(a.entry, b.entry))
      .slice(0, limit)
      .map((each) => explainWithMeaning(each, prepared));
  }

  #hintsOf(entry: ToolEntry): readonly (readonly string[])[] {
    if (!Object.hasOwn(this.#hints, entry.name) || this.hasStaleHints(entry)) return [];
    const { keywords, requests } = this.#hints[entry.name]!;
    return [...keywords, ...requests].map((text) => tellingWords(parseQuery(text)));
  }

  #prepare(text: string): Prepared {
    this.#index = this.#index.compacted();
    this.#index.update();
    const index = this.#index;
    const query = parseQuery(text);
    const plan = planQuery(query, index, relatedWords());
    return { index, query, plan, candidates: this.#finder.find(plan, index) };
  }
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word, place) => word === other[place]);
}

/**
 * Returns the words that describe a request. Omits words that users say to any assistant, and
 * values (numbers, quoted text, addresses), which can be private.
 */
function tellingWords({ terms }: SearchQuery): readonly string[] {
  return terms
    .filter(({ stem, weight }) => weight > RANKING.address && !CHATTY.has(stem))
    .slice(0, MOST_WORDS)
    .map(({ words }) => words[0]!);
}

function bestOf({ plan, candidates, index }: Prepared, limit: number, accept: Accept) {
  const scorer = new DocumentScorer(plan, candidates.relatedRarities, index);
  return bestDocuments(candidates, scorer, index, limit, accept);
}

/** A tool among the best by words (`words`), or by meaning, or both. */
interface Ranked {
  readonly entry: ToolEntry;
  readonly words: ScoredDocument | undefined;
  readonly similarity: number | undefined;
}

/** Returns a function that scores a tool by words and meaning, scaled to the given tools. */
function scorerWithin(tools: readonly Ranked[]): (tool: Ranked) => number {
  const best = Math.max(...tools.map(({ words }) => words?.score ?? 0));
  const similarities = tools.flatMap(({ similarity }) => similarity ?? []);
  const least = Math.min(...similarities);
  const range = Math.max(...similarities) - least;
  return ({ words, similarity }) =>
    (words ? words.score / best : 0) +
    (similarity === undefined || range === 0
      ? 0
      : MEANING * Math.max(0, (similarity - least) / range));
}

function explainWithMeaning(
  { entry, words, similarity, score }: Ranked & { readonly score: number },
  prepared: Prepared,
): SearchResult {
  const byWords = words ? explain(words, prepared) : notByWords(entry);
  const meaning = similarity === undefined ? [] : [`meaning ${similarity.toFixed(2)}`];
  const explanation = [byWords.explanation, ...meaning].filter(Boolean).join('; ');
  return Object.freeze({ ...byWords, score, explanation });
}

/** The result for a tool that contains no word of the request. */
function notByWords({ name }: ToolEntry): SearchResult {
  return {
    toolName: name,
    score: 0,
    matches: Object.freeze([]),
    corrections: Object.freeze([]),
    truncated: false,
    explanation: '',
  };
}

function byPriorityAndName(a: ToolEntry, b: ToolEntry): number {
  return a.priority - b.priority || compareText(a.name, b.name);
}

/** Explains which words of the request occur where in a tool. */
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
    ...(truncated ? ['the end of the text was ignored'] : []),
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
