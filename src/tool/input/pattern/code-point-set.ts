/** A set of code points as ranges [from, to], ascending and apart. */
export type CodePointSet = readonly (readonly [from: number, to: number])[];

export const LAST_CODE_POINT = 0x10ffff;
export const NO_CODE_POINTS: CodePointSet = [];
export const ALL_CODE_POINTS: CodePointSet = [[0, LAST_CODE_POINT]];

export function unionOf(sets: readonly CodePointSet[]): CodePointSet {
  if (sets.length === 1) return sets[0]!;
  const sorted = sets.flat().sort(([a], [b]) => a - b);
  const joined: [number, number][] = [];
  for (const [from, to] of sorted) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

export function complementOf(set: CodePointSet): CodePointSet {
  const gaps: [number, number][] = [];
  let from = 0;
  for (const [start, end] of set) {
    if (start > from) gaps.push([from, start - 1]);
    from = end + 1;
  }
  if (from <= LAST_CODE_POINT) gaps.push([from, LAST_CODE_POINT]);
  return gaps;
}

/** Whether no code point is in both. */
export function areDisjoint(a: CodePointSet, b: CodePointSet): boolean {
  return a.every(([from, to]) => b.every(([start, end]) => to < start || end < from));
}

/** Whether no code point is in two of the sets. */
export function areApart(sets: readonly CodePointSet[]): boolean {
  const ranges = sets.flat().sort(([a], [b]) => a - b);
  return ranges.every(([from], index) => index === 0 || from > ranges[index - 1]![1]);
}
