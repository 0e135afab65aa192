import type { Work } from '../../core/clock.js';

/**
 * The largest number of earlier texts that one is compared with: the time is linear in the number of texts, even when
 * all have the same few words.
 */
const MOST_COMPARED = 1_000;

/** A text among others, as the different stems of its words. */
interface ComparedText {
  readonly stems: readonly string[];
  /** The owner: the text is compared with texts of the same owner, and with the shared ones (`''`). */
  readonly owner: string;
}

/**
 * Finds for every text that is nearly the same as an earlier one the position of such an earlier one: one with equal
 * words before all others, then the first.
 *
 * Two texts are nearly the same when their sets of stems are at least 0.8 alike (Jaccard). Sets this similar share at
 * least one of their rarest stems (prefix filtering, Chaudhuri, Ganti and Kaushik, 2006), so only those that do are
 * compared.
 *
 * @param meet tells whether an earlier text and a later one are ever seen together.
 */
export function* nearDuplicates(
  texts: readonly ComparedText[],
  meet: (earlier: number, later: number) => boolean = () => true,
): Work<ReadonlyMap<number, number>> {
  const sets = yield* rarestFirst(texts);
  const found = new Map<number, number>();
  /** The texts so far, by owner and a stem that is among their rarest, and by owner and all their stems. */
  const seen = new Map<string, number[]>();
  for (const [index, { owner }] of texts.entries()) {
    yield;
    const set = sets[index]!;
    if (set.length === 0) continue;
    const owners = owner === '' ? [''] : ['', owner];
    const whole = set.join(' ');
    const rarest = set.slice(0, set.length - Math.ceil((4 * set.length) / 5) + 1);
    const [equal] = owners
      .flatMap((each) => seen.get(`${each}=${whole}`)?.find((other) => meet(other, index)) ?? [])
      .sort((a, b) => a - b);
    const nearest =
      equal ??
      candidates(rarest, owners, seen).find(
        (other) => isSimilar(sets[other]!, set) && meet(other, index),
      );
    if (nearest !== undefined) found.set(index, nearest);
    for (const key of [`${owner}=${whole}`, ...rarest.map((stem) => `${owner}/${stem}`)]) {
      const same = seen.get(key);
      if (same === undefined) seen.set(key, [index]);
      else if (same.length < MOST_COMPARED) same.push(index);
    }
  }
  return found;
}

/** The stems of every text as numbers in one order, in which stems of few texts come before those of many. */
function* rarestFirst(texts: readonly ComparedText[]): Work<readonly (readonly number[])[]> {
  const frequency = new Map<string, number>();
  for (const { stems } of texts) {
    yield;
    for (const stem of stems) frequency.set(stem, (frequency.get(stem) ?? 0) + 1);
  }
  // Counted, not sorted: there may be more stems than can be sorted in one slice of work.
  const next: number[] = [0];
  for (const count of frequency.values()) next[count] = (next[count] ?? 0) + 1;
  let sum = 0;
  for (let count = 0; count < next.length; count++)
    [next[count], sum] = [sum, sum + (next[count] ?? 0)];
  const ranks = new Map<string, number>();
  for (const [stem, count] of frequency) ranks.set(stem, next[count]!++);
  const sets: number[][] = [];
  for (const { stems } of texts) {
    yield;
    sets.push(stems.map((stem) => ranks.get(stem)!).sort((a, b) => a - b));
  }
  return sets;
}

/** The texts that share a stem, in order; if there are too many, those that share the rarest ones. */
function candidates(
  rarest: readonly number[],
  owners: readonly string[],
  seen: ReadonlyMap<string, readonly number[]>,
): readonly number[] {
  const found = new Set<number>();
  for (const stem of rarest) {
    for (const owner of owners) {
      for (const text of seen.get(`${owner}/${stem}`) ?? [])
        if (found.size < MOST_COMPARED) found.add(text);
    }
  }
  return [...found].sort((a, b) => a - b);
}

function isSimilar(a: readonly number[], b: readonly number[]): boolean {
  // In whole numbers: the shared stems are at least four fifths of all.
  const enough = (4 * (a.length + b.length)) / 9;
  let shared = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (shared + Math.min(a.length - i, b.length - j) < enough) return false;
    const order = a[i]! - b[j]!;
    if (order === 0) shared++;
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  return shared > 0 && shared >= enough;
}
