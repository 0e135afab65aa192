import { isPlainObject } from '../../core/plain-data.js';
import { invalidArgument, suggestNames } from '../../core/issues.js';

export type OneOrMore<T extends string = string> = T | readonly T[];

/** What every query of things with health may ask. */
export interface HealthQuery {
  /** At least this share of the last calls succeeded, from 0 to 1. */
  readonly minSuccessRate?: number;
  /** Whether things without calls are left out by `minSuccessRate`. @default false */
  readonly requireCalls?: boolean;
}

/** @throws ToolError `INVALID_ARGUMENT` for what is no object, and for a condition that is not known: ignored, it would widen the answer. */
export function requireConditions(query: unknown, known: readonly string[]): void {
  if (!isPlainObject(query)) throw invalidArgument('a query as an object', query);
  const unknown = Object.keys(query).find((condition) => !known.includes(condition));
  if (unknown === undefined) return;
  const hint = suggestNames(unknown, known)[0];
  throw invalidArgument(`only the conditions ${known.join(', ')}`, hint === undefined ? unknown : `${unknown}, perhaps for ${hint}`);
}

/** The values of a condition as they are compared; `undefined` when nothing was asked. */
export function wantedOf(value: unknown, condition: string): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.map((item) => {
    if (typeof item !== 'string' || item.trim() === '') throw invalidArgument(`${condition} as a text that is not blank, or a list of such`, item);
    return comparable(item);
  });
}

/** The same, of a few allowed values. */
export function oneOf<T extends string>(value: unknown, condition: string, allowed: readonly T[]): ReadonlySet<T> | undefined {
  const wanted = wantedOf(value, condition);
  const wrong = wanted?.find((item) => !(allowed as readonly string[]).includes(item));
  if (wrong !== undefined) throw invalidArgument(`${condition} as one of ${allowed.join(', ')}`, wrong);
  return wanted === undefined ? undefined : new Set(wanted as readonly T[]);
}

export function optionalBoolean(value: unknown, condition: string): boolean | undefined {
  if (value !== undefined && typeof value !== 'boolean') throw invalidArgument(`${condition} as true or false`, value);
  return value;
}

/** Whether all wanted values are among some, in any case. */
export function hasAll(wanted: readonly string[] | undefined, values: readonly string[]): boolean {
  if (wanted === undefined) return true;
  let there = comparableSets.get(values);
  if (there === undefined) comparableSets.set(values, (there = new Set(values.map(comparable))));
  const known = there;
  return wanted.every((value) => known.has(value));
}

/** Of frozen lists that tools keep: they are asked with every query. */
const comparableSets = new WeakMap<readonly string[], ReadonlySet<string>>();

/**
 * Whether a success rate, `null` without calls, is high enough.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a rate that is not between 0 and 1: 80 may mean 80 %, and 1.5 anything.
 */
export function rateFilter({ minSuccessRate, requireCalls }: HealthQuery): (rate: () => number | null) => boolean {
  const hideUncalled = optionalBoolean(requireCalls, 'requireCalls') ?? false;
  if (minSuccessRate === undefined) return hideUncalled ? (rate) => rate() !== null : () => true;
  if (typeof minSuccessRate !== 'number' || !(minSuccessRate >= 0 && minSuccessRate <= 1)) throw invalidArgument('minSuccessRate as a number from 0 to 1', minSuccessRate);
  return (rate) => {
    const value = rate();
    return value === null ? !hideUncalled : value >= minSuccessRate;
  };
}

function comparable(value: string): string {
  return value.trim().toLowerCase();
}
