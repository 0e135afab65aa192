import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearDuplicates } from '../../src/registry/lint/near-duplicates.js';
import { propertyRuns } from '../property-runs.js';

/** Does the same by comparing every pair. */
function byAllPairs(
  texts: readonly ReadonlySet<string>[],
  meet: (a: number, b: number) => boolean,
): readonly (readonly [number, number])[] {
  const likeness = (a: number, b: number) => {
    const common = [...texts[a]!].filter((each) => texts[b]!.has(each)).length;
    return common === 0 ? 0 : (100 * common) / (texts[a]!.size + texts[b]!.size - common);
  };
  return [...texts.keys()].flatMap((index) => {
    const first = [...texts.keys()].find(
      (other) => other < index && meet(other, index) && likeness(other, index) >= 80,
    );
    return first === undefined ? [] : [[index, first] as const];
  });
}

describe('nearDuplicates', () => {
  const text = fc.uniqueArray(fc.constantFrom(...'abcdefghijkl'), { maxLength: 8 });

  it('nearDuplicates finds the same first duplicates as comparing all pairs', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), fc.nat({ max: 3 }), (texts, apart) => {
        const sets = texts.map((words) => new Set(words));
        const meet = (a: number, b: number) => (a + b) % 4 !== apart;
        expect([...nearDuplicates(sets, meet)]).toEqual(byAllPairs(sets, meet));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('nearDuplicates compares a text with a limited number of others', () => {
    const texts = Array.from(
      { length: 1_000 },
      (_, number) => new Set([...'abcdefghi', `${number}`]),
    );
    let compared = 0;
    nearDuplicates(texts, (_, later) => (later === 999 && compared++, false));
    expect(compared).toBeLessThanOrEqual(300);
  });
});
