/** What a ranking is worth for one request; every figure is between 0 and 1. */
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

/** Scores the first ten of a ranking. A tool that is named twice counts once, at its first place. */
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

/** Discounted gain with gains of 0 and 1, divided by that of the best possible first `k`. */
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

/** The share of the relevant ones among the first `k`. */
export function recallAt(
  k: number,
  ranking: readonly string[],
  relevant: ReadonlySet<string>,
): number {
  return relevant.size === 0
    ? 0
    : ranking.slice(0, k).filter((id) => relevant.has(id)).length / relevant.size;
}

/** One divided by the place of the first relevant one; 0 when it is not among the first `k`. */
export function reciprocalRank(
  k: number,
  ranking: readonly string[],
  relevant: ReadonlySet<string>,
): number {
  const place = ranking.slice(0, k).findIndex((id) => relevant.has(id));
  return place === -1 ? 0 : 1 / (place + 1);
}

/** The mean of each figure; over requests for one set, over sets for the macro mean. */
export function meanScores(all: readonly Scores[]): Scores {
  return Object.fromEntries(
    METRICS.map((metric) => [metric, mean(all.map((each) => each[metric]))]),
  ) as unknown as Scores;
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

/** The smallest value that at least this share of the values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}

/** How alike two sets are: what they share divided by what either has. Two empty ones are equal. */
export function jaccard<T>(one: ReadonlySet<T>, other: ReadonlySet<T>): number {
  let shared = 0;
  for (const each of one) if (other.has(each)) shared += 1;
  const either = one.size + other.size - shared;
  return either === 0 ? 1 : shared / either;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
