import { areApart, areDisjoint, NO_CODE_POINTS, unionOf, type CodePointSet } from './code-point-set.js';
import { parsePattern, type PatternItem, type PatternSequence } from './parse-pattern.js';

/** Characters of a pattern at most. */
export const MAX_PATTERN_LENGTH = 128;
/** Higher powers of a text's length take too long even for texts of a line. */
const MAX_DEGREE = 3;
const MAX_FACTOR = 10_000;

/** How long a regular expression can take at most: `factor` × lengthᵈᵉᵍʳᵉᵉ steps of the matcher. */
export interface PatternCost {
  readonly factor: number;
  readonly degree: number;
}

/** The steps of matching a text of some length, at most. */
export function stepsOf({ factor, degree }: PatternCost, length: number): number {
  return factor * (length + 1) ** degree;
}

/**
 * What matching a pattern (flag `u`) costs at most, or `undefined` when it is not known to be safe.
 *
 * A backtracking matcher is slow where it has a choice that it finds out about too late. Here a repeated part is no
 * choice when the characters that may follow it cannot belong to it: its end is then known from the text. Every other
 * repetition multiplies the cost by the length of the text or its own bound, and inside another repetition there may be
 * none. So `^[a-z]+(-[a-z]+)*$` costs length¹, `^[^@]+@[^@]+\.[^@]+$` length², and `^(a+)+$` is not safe.
 *
 * A pattern without `^` is tried from every character of the text, which is one more power.
 */
export function safePatternCost(pattern: string): PatternCost | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return undefined;
  const choices = parsePattern(pattern);
  if (choices === undefined) return undefined;
  const cost = costOfChoices(choices, NO_CODE_POINTS);
  if (cost === undefined) return undefined;
  const anchored = choices.every(([first]) => first !== undefined && 'assertion' in first.atom && first.atom.assertion === 'start');
  const degree = cost.degree + (cost.unbounded ? 1 : 0) + (anchored ? 0 : 1);
  const factor = cost.factor * cost.size;
  return degree <= MAX_DEGREE && factor <= MAX_FACTOR ? { degree, factor } : undefined;
}

interface PartCost {
  /** How many choices are as many as the text is long. */
  readonly degree: number;
  /** The product of all other choices. */
  readonly factor: number;
  /** Characters that are compared on one way through, repetitions without bound counted once. */
  readonly size: number;
  readonly unbounded: boolean;
}

const NOTHING: PartCost = { degree: 0, factor: 1, size: 1, unbounded: false };

/** @param follow the characters that may come after. */
function costOfChoices(choices: readonly PatternSequence[], follow: CodePointSet): PartCost | undefined {
  const costs: PartCost[] = [];
  for (const choice of choices) {
    const cost = costOfSequence(choice, follow);
    if (cost === undefined) return undefined;
    costs.push(cost);
  }
  // Of choices that begin differently only one can fit; of others each may be tried with all that comes after.
  const exclusive = choices.length === 1 || (!choices.some(isNullable) && areApart(choices.map(firstOf)));
  const factors = costs.map(({ factor }) => factor);
  return {
    degree: Math.max(...costs.map(({ degree }) => degree)),
    factor: exclusive ? Math.max(...factors) : factors.reduce((sum, factor) => sum + factor, 0),
    size: costs.reduce((sum, { size }) => sum + size, 0),
    unbounded: costs.some(({ unbounded }) => unbounded),
  };
}

function costOfSequence(sequence: PatternSequence, follow: CodePointSet): PartCost | undefined {
  let total = NOTHING;
  let after = follow;
  for (const item of [...sequence].reverse()) {
    const cost = costOfItem(item, after);
    if (cost === undefined) return undefined;
    total = {
      degree: total.degree + cost.degree,
      factor: total.factor * cost.factor,
      size: total.size + cost.size,
      unbounded: total.unbounded || cost.unbounded,
    };
    after = isNullableItem(item) ? unionOf([firstOfItem(item), after]) : firstOfItem(item);
  }
  return total.factor > MAX_FACTOR || total.size > MAX_FACTOR ? undefined : total;
}

function costOfItem(item: PatternItem, follow: CodePointSet): PartCost | undefined {
  const { atom, min, max } = item;
  if ('assertion' in atom) return NOTHING;
  const first = firstOfItem(item);
  const isChoice = max > min && !areDisjoint(first, follow);
  const choices = isChoice && max !== Infinity ? max - min + 1 : 1;
  const unbounded = max === Infinity;
  const own: PartCost = { degree: isChoice && unbounded ? 1 : 0, factor: choices, size: unbounded ? min + 1 : max, unbounded };
  if ('set' in atom) return own;

  const body = costOfChoices(atom.choices, max > 1 ? unionOf([first, follow]) : follow);
  if (body === undefined || max === 1) return body && { ...body, factor: body.factor * choices };
  // Inside a repetition every choice multiplies with itself: (a+)+, (a?)* and (a|ab)* take twice as long per character.
  if (body.degree > 0 || body.factor > 1) return undefined;
  return { ...own, size: own.size * body.size, unbounded: unbounded || body.unbounded };
}

function isNullable(sequence: PatternSequence): boolean {
  return sequence.every(isNullableItem);
}

function isNullableItem({ atom, min }: PatternItem): boolean {
  return min === 0 || 'assertion' in atom || ('choices' in atom && atom.choices.some(isNullable));
}

/** The characters that a sequence may begin with. */
function firstOf(sequence: PatternSequence): CodePointSet {
  const sets: CodePointSet[] = [];
  for (const item of sequence) {
    sets.push(firstOfItem(item));
    if (!isNullableItem(item)) break;
  }
  return unionOf(sets);
}

function firstOfItem({ atom }: PatternItem): CodePointSet {
  if ('assertion' in atom) return NO_CODE_POINTS;
  return 'set' in atom ? atom.set : unionOf(atom.choices.map(firstOf));
}
