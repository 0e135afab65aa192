import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finish } from '../../src/core/clock.js';
import { nearDuplicates } from '../../src/registry/lint/near-duplicates.js';
import { splitWords, stem } from '../../src/search/words.js';

interface Text {
  readonly text: string;
  readonly owner: string;
}

const stemsOf = (text: string) => [...new Set(splitWords(text).map(({ whole }) => stem(whole)))];
const found = (texts: readonly Text[], meet?: (a: number, b: number) => boolean) =>
  finish(
    nearDuplicates(
      texts.map(({ text, owner }) => ({ stems: stemsOf(text), owner })),
      meet,
    ),
  );
const shared = (...texts: readonly string[]): readonly Text[] =>
  texts.map((text) => ({ text, owner: '' }));

/** The same by comparing every pair. */
function byAllPairs(
  texts: readonly Text[],
  meet: (a: number, b: number) => boolean,
): readonly (readonly [number, number])[] {
  const sets = texts.map(({ text }) => new Set(stemsOf(text)));
  const likeness = (a: number, b: number) => {
    const common = [...sets[a]!].filter((each) => sets[b]!.has(each)).length;
    return common === 0 ? 0 : (100 * common) / (sets[a]!.size + sets[b]!.size - common);
  };
  return [...texts.keys()].flatMap((index) => {
    const earlier = [...texts.keys()].filter(
      (other) =>
        other < index &&
        ['', texts[index]!.owner].includes(texts[other]!.owner) &&
        meet(other, index) &&
        likeness(other, index) >= 80,
    );
    const nearest = earlier.find((other) => likeness(other, index) === 100) ?? earlier[0];
    return nearest === undefined ? [] : [[index, nearest] as const];
  });
}

describe('nearDuplicates', () => {
  const word = fc.constantFrom(
    'read',
    'reads',
    'file',
    'write',
    'the',
    'of',
    'branch',
    'web',
    'page',
    'text',
    'line',
    'list',
  );
  const text = fc.record({
    text: fc.array(word, { maxLength: 8 }).map((words) => words.join(' ')),
    owner: fc.constantFrom('', '', 'a', 'b'),
  });

  it('names for every text the earlier one that comparing all pairs finds: an equal one, or else the first', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), fc.nat({ max: 3 }), (texts, apart) => {
        const meet = (a: number, b: number) => (a + b) % 4 !== apart;
        expect([...found(texts, meet)]).toEqual(byAllPairs(texts, meet));
      }),
      { numRuns: 500 },
    );
  });

  it('names the first of equal ones, whether it is shared or of the same owner', () => {
    expect([...found(['a', '', 'a'].map((owner) => ({ text: 'Reads the file', owner })))]).toEqual([
      [2, 0],
    ]);
  });

  it('does not find texts alike that have no words', () => {
    expect(found(shared('', '', '!!!', '🔥')).size).toBe(0);
  });

  it('names one earlier text only, however many there are', () => {
    expect([
      ...found(shared('Reads a file', 'reads the file', 'Reads a file', 'a file reads')),
    ]).toEqual([
      [2, 0],
      [3, 0],
    ]);
  });

  it('compares texts of an owner with those of everybody and its own, not with those of others', () => {
    const texts = ['', 'atlas', 'nova'].map((owner) => ({
      text: `Reads the ${owner === '' ? 'shared' : 'personal'} file`,
      owner,
    }));
    expect(found(texts).size).toBe(0);
    expect([
      ...found([
        ...texts,
        { text: 'Reads the shared file', owner: 'nova' },
        { text: 'Reads the personal file', owner: 'nova' },
      ]),
    ]).toEqual([
      [3, 0],
      [4, 2],
    ]);
  });

  it('compares a text with 1,000 others at most, and finds equal ones among any number', () => {
    const common = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    const texts = Array.from({ length: 1_200 }, (_, number) => ({
      stems: [...common, String(number)],
      owner: '',
    }));
    const compared = new Map<number, number>();
    finish(
      nearDuplicates(
        texts,
        (_, later) => (compared.set(later, (compared.get(later) ?? 0) + 1), false),
      ),
    );
    expect(Math.max(...compared.values())).toBe(1_000);
    expect([
      ...finish(
        nearDuplicates(
          [...texts, texts[1_199]!],
          (earlier, later) => earlier > 1_100 && later > 1_199,
        ),
      ),
    ]).toEqual([[1_200, 1_199]]);
  });

  it('pauses between any two texts', () => {
    const work = nearDuplicates(
      shared(...Array.from({ length: 50 }, (_, number) => `text ${number}`)).map(
        ({ text: each, owner }) => ({ stems: stemsOf(each), owner }),
      ),
    );
    let pauses = 0;
    while (work.next().done !== true) pauses++;
    expect(pauses).toBe(150);
  });
});
