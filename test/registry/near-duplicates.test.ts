import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearDuplicates } from '../../src/registry/lint/near-duplicates.js';
import { splitWords } from '../../src/search/text/split-words.js';
import { stem } from '../../src/search/text/stem.js';

describe('nearDuplicates', () => {
  const word = fc.constantFrom('read', 'reads', 'file', 'write', 'the', 'of', 'branch', 'web', 'page', 'text', 'line', 'list');

  it('names for every text an earlier one that is nearly the same, exactly where comparing all texts finds one', () => {
    fc.assert(
      fc.property(fc.array(fc.array(word, { maxLength: 8 }).map((words) => words.join(' ')), { maxLength: 12 }), (texts) => {
        const sets = texts.map((text) => new Set(splitWords(text).map(({ whole }) => stem(whole))));
        const alike = (a: number, b: number) => {
          const shared = [...sets[a]!].filter((each) => sets[b]!.has(each)).length;
          // In whole numbers: shared / union is at least four fifths.
          return shared > 0 && 5 * shared >= 4 * (sets[a]!.size + sets[b]!.size - shared);
        };
        const found = nearDuplicates(texts);
        for (const index of texts.keys()) {
          const earlier = [...texts.keys()].filter((other) => other < index && alike(other, index));
          if (earlier.length === 0) expect(found.has(index)).toBe(false);
          else expect(earlier).toContain(found.get(index));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('does not find texts alike that have no words', () => {
    expect(nearDuplicates(['', '', '!!!', '🔥']).size).toBe(0);
  });

  it('names one earlier text only, however many there are', () => {
    expect([...nearDuplicates(['Reads a file', 'reads the file', 'Reads a file', 'a file reads'])]).toEqual([[2, 0], [3, 0]]);
  });
});
