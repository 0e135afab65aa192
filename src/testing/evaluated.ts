import { parseQuery } from '../search/query.js';
import { searchWords, stem } from '../search/words.js';
import type { Selection } from '../selection/selection.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A request and the tools that were selected for it. */
export interface Evaluated {
  readonly text: string;
  readonly wanted: readonly string[];
  readonly selection: Selection;
}

/** A wanted tool that wasn't offered to the model. */
export interface Miss {
  readonly text: string;
  readonly toolName: string;
  /**
   * The tool's position in the search results for the request, from 1. Missing if the tool contains
   * no word of the request.
   */
  readonly place?: number;
  /** The selection's reason for leaving the tool out. */
  readonly reason: string;
  /** The tools that were offered instead, best first, with the reason for each. */
  readonly instead: readonly { readonly toolName: string; readonly explanation: string }[];
}

/** Returns the names of the offered tools, in order. */
export function namesOf({ tools }: Selection): readonly string[] {
  return tools.map(({ toolName }) => toolName);
}

/** Returns the fraction of a request's wanted tools that were offered. */
export function recallOf({ wanted, selection }: Evaluated): number {
  const offered = namesOf(selection);
  return wanted.filter((name) => offered.includes(name)).length / wanted.length;
}

/**
 * Returns the nDCG of the offered tools: 1 / log2(i + 1) for a wanted tool at position i, divided
 * by the best possible sum.
 */
export function ndcgOf({ wanted, selection }: Evaluated): number {
  const gain = (place: number) => 1 / Math.log2(place + 2);
  const found = namesOf(selection)
    .map((name, place) => (wanted.includes(name) ? gain(place) : 0))
    .reduce(sum, 0);
  const best = wanted.map((_, place) => gain(place)).reduce(sum, 0);
  return found / best;
}

const MOST_WORDS = 5;
/** Words that say when or how rather than what, so they fit every tool. */
const CIRCUMSTANCES: ReadonlySet<string> = new Set(
  'again almost already always away back even ever here just late later maybe never new now often quick quickly really right soon still there today together tomorrow too urgent urgently usual usually well yesterday yet'.split(
    ' ',
  ),
);

/**
 * Returns the words in texts that can be keywords of a tool and whose stems aren't in `known`, most
 * frequent first. Values and words that users say to any assistant aren't included.
 */
export function newWords(texts: readonly string[], taken: ReadonlySet<string>): readonly string[] {
  const counts = new Map<string, { word: string; texts: number }>();
  for (const each of texts)
    for (const { stem: key, words, expandable } of parseQuery(each).terms) {
      const word = words[0]!;
      if (!expandable || taken.has(key) || key.length < 3 || CIRCUMSTANCES.has(word)) continue;
      counts.set(key, { word, texts: (counts.get(key)?.texts ?? 0) + 1 });
    }
  return [...counts.values()]
    .sort((a, b) => b.texts - a.texts)
    .slice(0, MOST_WORDS)
    .map(({ word }) => word);
}

export function stemsIn(text: string): readonly string[] {
  return searchWords(text).words.map(stem);
}

/** Returns the stems in a tool's name, description, keywords, and examples. */
export function stemsOf({ name, description, keywords, examples }: ToolEntry): readonly string[] {
  return stemsIn([name, description, ...keywords, ...examples].join('\n'));
}

/** Returns the mean, or 0 for an empty list. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce(sum, 0) / values.length;
}

export function sum(a: number, b: number): number {
  return a + b;
}
