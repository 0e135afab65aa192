import { ToolMetadataRegistry, type ToolDefinition } from '../../src/index.js';
import { jaccard, mean, scoresOf } from './metrics.js';
import { definitionsOf, type BenchQuery, type BenchSet } from './retrieval-sets.js';

/** The similarity from which a past request is too close to the tested request to be used. */
const TOO_ALIKE = 0.5;

interface Learning {
  recordUse(use: {
    readonly text: string;
    readonly toolName: string;
    readonly outcome: 'success' | 'failure';
  }): void;
}

export interface FeedbackResult {
  /** The mean nDCG@10 over the tested half of the requests, without and with history. */
  readonly cold: number;
  readonly warm: number;
  readonly asked: number;
  /** The number of tested requests for which some past requests are left out. */
  readonly withExclusions: number;
}

export function canLearn(): boolean {
  return (
    'recordUse' in ToolMetadataRegistry.prototype &&
    typeof ToolMetadataRegistry.prototype['recordUse' as never] === 'function'
  );
}

/**
 * Measures the value of past use. Every second request becomes history with a success for each of its
 * relevant tools, and the other requests are tested.
 *
 * History that is too similar to a tested request is left out for that request only. Requests that leave
 * out the same history share a registry.
 */
export function measureFeedback(set: BenchSet): FeedbackResult {
  const { definitions, idOf } = definitionsOf(set);
  const nameOf = new Map([...idOf].map(([name, id]) => [id, name]));
  const history = set.queries.filter((_, index) => index % 2 === 0);
  const asked = set.queries.filter((_, index) => index % 2 === 1);
  const score = (registry: ToolMetadataRegistry, query: BenchQuery) => {
    const ranking = registry
      .search(query.text, { limit: 10 })
      .map(({ toolName }) => idOf.get(toolName)!);
    return scoresOf(ranking, query.relevant).ndcg;
  };

  const fresh = registryWith(definitions);
  const cold = asked.map((query) => score(fresh, query));
  const warm: number[] = [];
  let withExclusions = 0;
  for (const { excluded, queries } of groupByExclusion(history, asked)) {
    const registry = registryWith(definitions);
    for (const [index, past] of history.entries()) {
      if (excluded.has(index)) continue;
      for (const id of past.relevant)
        (registry as unknown as Learning).recordUse({
          text: past.text,
          toolName: nameOf.get(id)!,
          outcome: 'success',
        });
    }
    for (const query of queries) warm.push(score(registry, query));
    if (excluded.size > 0) withExclusions += queries.length;
  }
  return { cold: mean(cold), warm: mean(warm), asked: asked.length, withExclusions };
}

/** Groups the tested requests by the history that is left out for them. */
export function groupByExclusion(
  history: readonly BenchQuery[],
  asked: readonly BenchQuery[],
): { readonly excluded: ReadonlySet<number>; readonly queries: readonly BenchQuery[] }[] {
  const past = history.map(({ text }) => lowerCasedWords(text));
  const groups = new Map<string, { excluded: Set<number>; queries: BenchQuery[] }>();
  for (const query of asked) {
    const words = lowerCasedWords(query.text);
    const excluded = past.flatMap((other, index) =>
      canBeAlike(words.size, other.size) && jaccard(words, other) >= TOO_ALIKE ? [index] : [],
    );
    const key = excluded.join(' ');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { excluded: new Set(excluded), queries: [query] });
    else group.queries.push(query);
  }
  return [...groups.values()];
}

/**
 * The Jaccard similarity is at most the smaller size divided by the larger, so most pairs needn't be
 * compared.
 */
function canBeAlike(one: number, other: number): boolean {
  return Math.min(one, other) >= TOO_ALIKE * Math.max(one, other);
}

function lowerCasedWords(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

function registryWith(definitions: readonly ToolDefinition[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(definitions);
  return registry;
}
