import { splitWords } from '../../search/split-words.js';
import { stem } from '../../search/stem.js';

/** Descriptions that share this much of their words (Jaccard) are hard to tell apart. */
const SIMILARITY = 0.8;

/**
 * Pairs of texts whose sets of word stems are at least 0.8 alike, as positions, the earlier first.
 *
 * Exact and without comparing every pair: texts this similar share at least one of their rarest stems (prefix
 * filtering, Chaudhuri, Ganti and Kaushik, 2006), so only those that do are compared.
 */
export function nearDuplicates(texts: readonly string[]): readonly (readonly [number, number])[] {
  const sets = texts.map((text) => new Set(splitWords(text).map(({ whole }) => stem(whole))));
  const frequency = new Map<string, number>();
  for (const set of sets) for (const each of set) frequency.set(each, (frequency.get(each) ?? 0) + 1);

  const seenWith = new Map<string, number[]>();
  const pairs: [number, number][] = [];
  for (const [index, set] of sets.entries()) {
    const rarestFirst = [...set].sort((a, b) => frequency.get(a)! - frequency.get(b)! || (a < b ? -1 : 1));
    const prefix = rarestFirst.slice(0, set.size - Math.ceil(SIMILARITY * set.size) + 1);
    const candidates = new Set(prefix.flatMap((each) => seenWith.get(each) ?? []));
    for (const other of candidates) if (similarity(sets[other]!, set) >= SIMILARITY) pairs.push([other, index]);
    for (const each of prefix) {
      const seen = seenWith.get(each);
      if (seen === undefined) seenWith.set(each, [index]);
      else seen.push(index);
    }
  }
  return pairs;
}

function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const each of a) if (b.has(each)) shared++;
  return shared / (a.size + b.size - shared);
}
