import { z } from 'zod';
import { oneOrMore, text, type FieldsOf } from '../../core/options.js';

export type OneOrMore<T extends string = string> = T | readonly T[];

/** The conditions that every query of items with health may have. */
export interface HealthQuery {
  /** The least share of the last calls that succeeded, from 0 to 1. */
  readonly minSuccessRate?: number;
  /** Leaves items without calls out, beside `minSuccessRate`. @default false */
  readonly requireCalls?: boolean;
}

/** A condition on texts, in the form in which they are compared. Blank ones are refused, as nothing could meet them. */
export const wanted = oneOrMore(text.transform(comparable)).optional();

/** A condition that any of a few known values meets, written in any case. */
export function anyOf<T extends string>(values: readonly T[]) {
  return oneOrMore(z.preprocess((value) => (typeof value === 'string' ? comparable(value) : value), z.enum(values)) as unknown as z.ZodType<T, T>).optional();
}

/** The condition on owners, which `parsePersonas` reads. */
export const personas = oneOrMore(z.string()).optional();

/** The conditions on health. A rate of 80 is refused: it may mean 80 %, or be a slip. */
export const healthShape = {
  minSuccessRate: z.custom<number>((value) => typeof value === 'number' && value >= 0 && value <= 1, 'a number from 0 to 1').optional(),
  requireCalls: z.boolean().default(false),
} satisfies FieldsOf<HealthQuery>;

/** Returns true if all wanted values are among some, in any case. */
export function hasAll(asked: readonly string[] | undefined, values: readonly string[]): boolean {
  if (asked === undefined) return true;
  let there = comparableSets.get(values);
  if (there === undefined) comparableSets.set(values, (there = new Set(values.map(comparable))));
  const known = there;
  return asked.every((value) => known.has(value));
}

/** The sets of frozen lists that tools keep: they are read with every query. */
const comparableSets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Returns the test of a success rate, which is `null` without calls. */
export function rateFilter({ minSuccessRate, requireCalls }: { readonly minSuccessRate?: number | undefined; readonly requireCalls: boolean }): (rate: () => number | null) => boolean {
  if (minSuccessRate === undefined) return requireCalls ? (rate) => rate() !== null : () => true;
  return (rate) => {
    const value = rate();
    return value === null ? !requireCalls : value >= minSuccessRate;
  };
}

function comparable(value: string): string {
  return value.trim().toLowerCase();
}
