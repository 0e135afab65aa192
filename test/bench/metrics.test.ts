import { expect, it } from 'vitest';
import { jaccard, mean, meanScores, ndcgAt, percentile, scoresOf } from './metrics.js';

const many = Array.from('abcdefghijkl');

it.each([
  ['1 if the relevant tools come first', 'xya', 'xy', 1],
  ['1 if the relevant tools come first, in another order', 'yxa', 'xy', 1],
  // Places 2 and 4: 1/log2(3) + 1/log2(5) = 0.63093 + 0.43068; ideal 1 + 0.63093.
  ['lower for later places', 'axby', 'xy', 1.06161 / 1.63093],
  ['lower if a relevant tool is missing', 'x', 'xy', 1 / 1.63093],
  ['1/log2(11) for the tenth place', 'abcdefghix', 'x', 0.28906],
  ['0 for the eleventh place', 'abcdefghijx', 'x', 0],
  ['1 if there are more relevant tools than ranks', 'cdefghijkl', 'abcdefghijkl', 1],
  ['0 for an empty ranking', '', 'xy', 0],
  ['0 if no tool is relevant', 'a', '', 0],
])('nDCG@10 is %s', (_, ranking, relevant, expected) => {
  expect(ndcgAt(10, [...ranking], new Set(relevant))).toBeCloseTo(expected, 4);
});

it('a ranking has all metrics, and a repeated tool counts once', () => {
  expect(scoresOf([...'aaxbcdy'], ['x', 'y', 'y'])).toMatchObject({
    recall1: 0,
    recall3: 0.5,
    recall5: 0.5,
    recall10: 1,
    mrr: 1 / 2,
  });
  expect(scoresOf(many, ['l'])).toMatchObject({ recall10: 0, mrr: 0 });
  const macro = meanScores([scoresOf(['x'], ['x']), scoresOf(['a', 'x'], ['x'])]);
  expect(macro).toMatchObject({ mrr: 0.75, recall1: 0.5 });
});

it('means, percentiles, and Jaccard similarities match values computed by hand', () => {
  expect([mean([]), mean([1, 2, 6])]).toEqual([0, 3]);
  const values = Array.from({ length: 20 }, (_, index) => 20 - index);
  expect([percentile(values, 0.5), percentile(values, 0.95)]).toEqual([10, 19]);
  expect([jaccard(new Set('abc'), new Set('bcd')), jaccard(new Set(), new Set())]).toEqual([
    0.5, 1,
  ]);
});
