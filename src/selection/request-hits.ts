import { LIMITS } from '../core/limits.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { SearchResult } from '../search/search-index.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { CheckedRequest } from './selection-request.js';

/** A tool that matches the request, or a clause of it. */
export interface Hit {
  readonly entry: ToolEntry;
  /** The score for the whole request, or a score for a clause in the same unit. */
  readonly score: number;
  readonly explanation: string;
}

/** The number of best hits that are searched for, as a multiple of `maxTools`. */
const WANTED = 2;
/** The best hits for the whole request come first, whatever its clauses want. */
const WHOLE_FIRST = 5;
/** The score of a clause's best hit, as a fraction of the best score for the whole request. */
const CLAUSE_SHARE = 0.8;
/** The maximum number of clauses that are searched for by themselves. */
const MOST_CLAUSES = 8;
/** Matches the ends of sentences and lines, and the words that join two wishes. */
const CLAUSE_END =
  /(?<=[\p{L}\p{M}\p{N}"”')\]])[.!?]+(?=\s)|[。！？]|;\s|\n|,?\s{1,8}(?:and then|and also|then also|after that|afterwards|also)\b[:,]?/iu;

/**
 * Returns the tools that match a request, best first.
 *
 * A request with several wishes is searched for as a whole, and clause by clause. First are the best
 * five hits for the whole that can be offered. All others are ordered by their score for the whole or,
 * if that's higher, for one clause. A clause's best hit counts 0.8 times as much as the best hit for
 * the whole.
 *
 * @param isOffered Returns true for tools that can be offered.
 * @param alwaysScored The names of tools that are offered anyway. The search provides their scores.
 */
export function hitsFor(
  registry: ToolMetadataRegistry,
  asked: CheckedRequest,
  isOffered: (entry: ToolEntry) => boolean,
  alwaysScored: ReadonlySet<string>,
): readonly Hit[] {
  const whole = hitsForWhole(registry, asked, isOffered, alwaysScored);
  const clauses = clausesOf(asked.text);
  if (clauses.length < 2) return whole;
  const offered = whole.filter(({ entry }) => isOffered(entry));
  const hits = new Map(whole.map((hit) => [hit.entry, hit]));
  for (const clause of clauses)
    for (const hit of hitsForClause(registry, asked, clause, offered[0]?.score ?? 1, isOffered))
      if (hit.score > (hits.get(hit.entry)?.score ?? 0)) hits.set(hit.entry, hit);
  const first = new Set(offered.slice(0, WHOLE_FIRST).map(({ entry }) => entry));
  const others = [...hits.values()].filter(({ entry }) => !first.has(entry)).sort(byRelevance);
  return [...[...first].map((entry) => hits.get(entry)!), ...others];
}

function hitsForWhole(
  registry: ToolMetadataRegistry,
  { text, maxTools, vector }: CheckedRequest,
  isOffered: (entry: ToolEntry) => boolean,
  alwaysScored: ReadonlySet<string>,
): readonly Hit[] {
  const results = new Map<string, SearchResult>();
  const search = (limit: number, filter: (entry: ToolEntry) => boolean) => {
    const found = registry.search(text, { limit, filter, ...(vector && { vector }) });
    for (const each of found) results.set(each.toolName, each);
    return found.length;
  };
  const limit = limitOf(maxTools);
  // The first search also finds forbidden tools, so that they're reported.
  if (search(limit, () => true) === limit) {
    search(limit, (entry) => !alwaysScored.has(entry.name) && isOffered(entry));
    const unscored = new Set([...alwaysScored].filter((name) => !results.has(name)));
    if (unscored.size > 0) search(unscored.size, ({ name }) => unscored.has(name));
  }
  return [...results.values()].map((result) => hitOf(registry, result)).sort(byRelevance);
}

/** Returns the hits for a clause. @param best The best score for the whole request. */
function hitsForClause(
  registry: ToolMetadataRegistry,
  { maxTools }: CheckedRequest,
  clause: string,
  best: number,
  isOffered: (entry: ToolEntry) => boolean,
): readonly Hit[] {
  const found = registry.search(clause, { limit: limitOf(maxTools), filter: isOffered });
  return found.map((result) => {
    const { entry, score, explanation } = hitOf(registry, result);
    return {
      entry,
      score: (CLAUSE_SHARE * best * score) / found[0]!.score,
      explanation: `for ${JSON.stringify(shortened(clause))}: ${explanation}`,
    };
  });
}

function limitOf(maxTools: number): number {
  return Math.max(1, maxTools) * WANTED;
}

/** Splits a request into its sentences, lines, and wishes joined by words such as "and then". */
function clausesOf(text: string): readonly string[] {
  return text
    .slice(0, LIMITS.queryLength)
    .split(CLAUSE_END)
    .map((clause) => clause.trim())
    .filter((clause) => clause !== '')
    .slice(0, MOST_CLAUSES);
}

function hitOf(
  registry: ToolMetadataRegistry,
  { toolName, score, explanation }: SearchResult,
): Hit {
  return { entry: registry.require(toolName), score, explanation };
}

/** Compares hits by score, then by priority. Ties keep their order. */
function byRelevance(a: Hit, b: Hit): number {
  return b.score - a.score || a.entry.priority - b.entry.priority;
}

function shortened(clause: string): string {
  return clause.length <= 40 ? clause : `${clause.slice(0, 39)}…`;
}
