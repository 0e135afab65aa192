/** One line of a comparison: in both texts, or in one of them only. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Cells of the comparison table, of four bytes each: 2 000 changed lines against 2 000 others. */
const MAX_CELLS = 4_000_000;

/**
 * Compares two lists of lines by their longest common subsequence.
 *
 * When the parts that differ are too large for that, they are given as removed and added as a whole, which is right but
 * not the shortest way; `minimal` tells which it was.
 */
export function diffLines(before: readonly string[], after: readonly string[]): { readonly lines: readonly DiffLine[]; readonly minimal: boolean } {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const oldPart = before.slice(start, before.length - end);
  const newPart = after.slice(start, after.length - end);
  const minimal = (oldPart.length + 1) * (newPart.length + 1) <= MAX_CELLS;
  const middle = minimal ? shortest(oldPart, newPart) : [...as('removed', oldPart), ...as('added', newPart)];
  return { lines: [...as('same', before.slice(0, start)), ...middle, ...as('same', before.slice(before.length - end))], minimal };
}

function shortest(before: readonly string[], after: readonly string[]): DiffLine[] {
  const width = after.length + 1;
  // Cell (i, j): length of the longest common subsequence of what follows i and j.
  const common = new Uint32Array((before.length + 1) * width);
  const cell = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = before[i] === after[j] ? cell(i + 1, j + 1) + 1 : Math.max(cell(i + 1, j), cell(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const [old, fresh] = [before[i], after[j]];
    if (old !== undefined && old === fresh) {
      lines.push({ kind: 'same', text: old });
      i += 1;
      j += 1;
    } else if (old !== undefined && (fresh === undefined || cell(i + 1, j) >= cell(i, j + 1))) {
      lines.push({ kind: 'removed', text: old });
      i += 1;
    } else {
      lines.push({ kind: 'added', text: fresh ?? '' });
      j += 1;
    }
  }
  return lines;
}

function as(kind: DiffLine['kind'], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ kind, text }));
}
