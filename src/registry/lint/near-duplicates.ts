import { splitWords } from '../../search/text/split-words.js';
import { stem } from '../../search/text/stem.js';

/** Descriptions that share this much of their words (Jaccard) are hard to tell apart. */
const SIMILARITY = 0.8;

/**
 * For every text that is nearly the same as an earlier one, the position of such an earlier one.
 *
 * Two texts are nearly the same when their sets of word stems are at least 0.8 alike. Exact and without comparing every
 * pair: equal sets are grouped first, and sets this similar share at least one of their rarest stems (prefix filtering,
 * Chaudhuri, Ganti and Kaushik, 2006), so only those that do are compared.
 */
export function nearDuplicates(texts: readonly string[]): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  const firstWith = new Map<string, number>();
  const sets = new Map<number, ReadonlySet<string>>();
  for (const [index, text] of texts.entries()) {
    const set = new Set(splitWords(text).map(({ whole }) => stem(whole)));
    if (set.size === 0) continue;
    const key = [...set].sort().join(' ');
    const first = firstWith.get(key);
    if (first !== undefined) found.set(index, first);
    else {
      firstWith.set(key, index);
      sets.set(index, set);
    }
  }
  for (const [index, other] of similarSets(sets)) found.set(index, other);
  return found;
}

function* similarSets(sets: ReadonlyMap<number, ReadonlySet<string>>): Generator<[number, number]> {
  const frequency = new Map<string, number>();
  for (const set of sets.values()) for (const each of set) frequency.set(each, (frequency.get(each) ?? 0) + 1);

  const seenWith = new Map<string, number[]>();
  for (const [index, set] of sets) {
    const rarestFirst = [...set].sort((a, b) => frequency.get(a)! - frequency.get(b)! || (a < b ? -1 : 1));
    const prefix = rarestFirst.slice(0, set.size - Math.ceil(SIMILARITY * set.size) + 1);
    const candidates = [...new Set(prefix.flatMap((each) => seenWith.get(each) ?? []))].sort((a, b) => a - b);
    const similar = candidates.find((other) => similarity(sets.get(other)!, set) >= SIMILARITY);
    if (similar !== undefined) yield [index, similar];
    for (const each of prefix) {
      const seen = seenWith.get(each);
      if (seen === undefined) seenWith.set(each, [index]);
      else seen.push(index);
    }
  }
}

function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const each of a) if (b.has(each)) shared++;
  return shared / (a.size + b.size - shared);
}
