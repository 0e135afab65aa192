import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearDuplicates } from '../../src/registry/lint/near-duplicates.js';
import { splitWords } from '../../src/search/split-words.js';
import { stem } from '../../src/search/stem.js';

describe('nearDuplicates', () => {
  const word = fc.constantFrom('read', 'reads', 'file', 'write', 'the', 'of', 'branch', 'web', 'page', 'text', 'line', 'list');

  it('finds exactly the pairs that comparing all texts finds', () => {
    fc.assert(
      fc.property(fc.array(fc.array(word, { maxLength: 8 }).map((words) => words.join(' ')), { maxLength: 12 }), (texts) => {
        const sets = texts.map((text) => new Set(splitWords(text).map(({ whole }) => stem(whole))));
        const expected = sets.flatMap((a, first) =>
          sets.flatMap((b, second) => {
            const shared = [...a].filter((each) => b.has(each)).length;
            // In whole numbers: shared / union is at least four fifths.
            return first < second && shared > 0 && 5 * shared >= 4 * (a.size + b.size - shared) ? [[first, second]] : [];
          }),
        );
        expect([...nearDuplicates(texts)].sort(([a, b], [c, d]) => a - c || b - d)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('does not find texts alike that have no words', () => {
    expect(nearDuplicates(['', '', '!!!', '🔥'])).toEqual([]);
  });
});
