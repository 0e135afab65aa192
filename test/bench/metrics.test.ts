import { describe, expect, it } from 'vitest';
import {
  jaccard,
  mean,
  meanScores,
  ndcgAt,
  percentile,
  recallAt,
  reciprocalRank,
  scoresOf,
} from './metrics.js';

const relevant = new Set(['x', 'y']);

describe('nDCG', () => {
  it('is 1 if the relevant tools come first, in any order', () => {
    expect(ndcgAt(10, ['x', 'y', 'a'], relevant)).toBe(1);
    expect(ndcgAt(10, ['y', 'x', 'a'], relevant)).toBe(1);
  });

  it('matches values computed by hand', () => {
    // Places 2 and 4: 1/log2(3) + 1/log2(5) = 0.63093 + 0.43068; ideal 1 + 0.63093.
    expect(ndcgAt(10, ['a', 'x', 'b', 'y'], relevant)).toBeCloseTo(1.06161 / 1.63093, 4);
    // One of two relevant tools, in first place.
    expect(ndcgAt(10, ['x'], relevant)).toBeCloseTo(1 / 1.63093, 4);
    // Tenth place counts 1/log2(11) = 0.28906, and eleventh place counts nothing.
    const nine = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    expect(ndcgAt(10, [...nine, 'x'], new Set(['x']))).toBeCloseTo(0.28906, 4);
    expect(ndcgAt(10, [...nine, 'j', 'x'], new Set(['x']))).toBe(0);
  });

  it('can be 1 even if there are more relevant tools than ranks', () => {
    const many = Array.from({ length: 12 }, (_, index) => `t${index}`);
    expect(ndcgAt(10, many.slice(2), new Set(many))).toBeCloseTo(1, 12);
    expect(ndcgAt(10, many.slice(7), new Set(many))).toBeLessThan(1);
  });

  it('is 0 for an empty ranking and if no tool is relevant', () => {
    expect(ndcgAt(10, [], relevant)).toBe(0);
    expect(ndcgAt(10, ['a'], new Set())).toBe(0);
  });
});

describe('recall and reciprocal rank', () => {
  it('recall counts the relevant tools among the first k', () => {
    const ranking = ['a', 'x', 'b', 'c', 'd', 'y'];
    expect([1, 3, 5, 10].map((k) => recallAt(k, ranking, relevant))).toEqual([0, 0.5, 0.5, 1]);
    expect(recallAt(5, ranking, new Set())).toBe(0);
  });

  it('reciprocal rank uses the position of the first relevant tool', () => {
    expect(reciprocalRank(10, ['x'], relevant)).toBe(1);
    expect(reciprocalRank(10, ['a', 'b', 'y', 'x'], relevant)).toBeCloseTo(1 / 3, 12);
    expect(reciprocalRank(2, ['a', 'b', 'y'], relevant)).toBe(0);
    expect(reciprocalRank(10, [], relevant)).toBe(0);
  });
});

describe('scoresOf and meanScores', () => {
  it('return all metrics and count a repeated tool only once', () => {
    expect(scoresOf(['x', 'x', 'y'], ['x', 'y', 'y'])).toEqual({
      ndcg: 1,
      recall1: 0.5,
      recall3: 1,
      recall5: 1,
      recall10: 1,
      mrr: 1,
    });
    const macro = meanScores([scoresOf(['x'], ['x']), scoresOf(['a', 'x'], ['x'])]);
    expect(macro.mrr).toBe(0.75);
    expect(macro.recall1).toBe(0.5);
    expect(macro.ndcg).toBeCloseTo((1 + 0.63093) / 2, 4);
  });
});

describe('mean, percentile, and Jaccard', () => {
  it('match values computed by hand', () => {
    expect([mean([]), mean([1, 2, 6])]).toEqual([0, 3]);
    const values = Array.from({ length: 20 }, (_, index) => 20 - index);
    expect([percentile(values, 0.5), percentile(values, 0.95), percentile([7], 0.95)]).toEqual([
      10, 19, 7,
    ]);
    expect(jaccard(new Set(['a', 'b', 'c']), new Set(['b', 'c', 'd']))).toBe(0.5);
    expect(jaccard(new Set(['a']), new Set(['b']))).toBe(0);
    expect(jaccard(new Set(), new Set())).toBe(1);
  });
});
