/** Metrics of a ranking for one request. Every value is between 0 and 1. */
export interface Scores {
  readonly ndcg: number;
  readonly recall1: number;
  readonly recall3: number;
  readonly recall5: number;
  readonly recall10: number;
  readonly mrr: number;
}

export const METRICS = [
  'ndcg',
  'recall1',
  'recall3',
  'recall5',
  'recall10',
  'mrr',
] as const satisfies readonly (keyof Scores)[];

/** Scores the first ten entries of a ranking. A repeated tool counts once, at its first place. */
export function scoresOf(ranking: readonly string[], relevant: readonly string[]): Scores {
  const ranked = [...new Set(ranking)];
  const wanted = new Set(relevant);
  return {
    ndcg: ndcgAt(10, ranked, wanted),
    recall1: recallAt(1, ranked, wanted),
    recall3: recallAt(3, ranked, wanted),
    recall5: recallAt(5, ranked, wanted),
    recall10: recallAt(10, ranked, wanted),
    mrr: reciprocalRank(10, ranked, wanted),
  };
}

/** The discounted gain with gains of 0 and 1, divided by the gain of the best possible first `k`. */
export function ndcgAt(
  k: number,
  ranking: readonly string[],
  relevant: ReadonlySet<string>,
): number {
  const discount = (place: number) => 1 / Math.log2(place + 2);
  const gained = sum(
    ranking.slice(0, k).map((id, place) => (relevant.has(id) ? discount(place) : 0)),
  );
  const ideal = sum(
    Array.from({ length: Math.min(k, relevant.size) }, (_, place) => discount(place)),
  );
  return ideal === 0 ? 0 : gained / ideal;
}

/** The share of the relevant tools among the first `k`. */
export function recallAt(
  k: number,
  ranking: readonly string[],
  relevant: ReadonlySet<string>,
): number {
  return relevant.size === 0
    ? 0
    : ranking.slice(0, k).filter((id) => relevant.has(id)).length / relevant.size;
}

/** One divided by the place of the first relevant tool, or 0 if no relevant tool is among the first `k`. */
export function reciprocalRank(
  k: number,
  ranking: readonly string[],
  relevant: ReadonlySet<string>,
): number {
  const place = ranking.slice(0, k).findIndex((id) => relevant.has(id));
  return place === -1 ? 0 : 1 / (place + 1);
}

/** The mean of each metric over requests of one set, or over sets for the macro mean. */
export function meanScores(all: readonly Scores[]): Scores {
  return Object.fromEntries(
    METRICS.map((metric) => [metric, mean(all.map((each) => each[metric]))]),
  ) as unknown as Scores;
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

/** The smallest value that at least this share of the values doesn't exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}

/**
 * The similarity of two sets: the size of the intersection divided by the size of the union. Two empty
 * sets are equal.
 */
export function jaccard<T>(one: ReadonlySet<T>, other: ReadonlySet<T>): number {
  let shared = 0;
  for (const each of one) if (other.has(each)) shared += 1;
  const either = one.size + other.size - shared;
  return either === 0 ? 1 : shared / either;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
