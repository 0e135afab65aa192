import type { MetricsWire } from '../../capability/wire-types.js';
import { fieldsOn, type FieldName } from '../../tool/tool-fields.js';

/** A field by which tools are filtered, for the server and for the page. */
export interface FacetAxis {
  readonly field: FieldName;
  /** The name of its parameter. */
  readonly key: string;
  /** Says that all chosen values must hold, rather than one. */
  readonly all: boolean;
}

export const FACET_AXES: readonly FacetAxis[] = fieldsOn('axis').map(
  ([field, { wire, filter }]) => ({ field, key: filter?.param ?? wire, all: filter?.all === true }),
);

/** Counts for every value of every axis the items that it would leave under the other filters. */
export class FacetCounter<Axis extends Pick<FacetAxis, 'all'>> {
  readonly #counts: ReadonlyMap<Axis, Map<string, number>>;

  constructor(axes: readonly Axis[]) {
    this.#counts = new Map(axes.map((axis) => [axis, new Map<string, number>()]));
  }

  /**
   * Counts one item; returns true if it passes.
   *
   * @param failing the axes whose chosen values it does not have.
   */
  add(failing: readonly Axis[], valuesOf: (axis: Axis) => readonly string[]): boolean {
    // If a single axis fails, another of its values would let the item in; where all must hold, a further one would
    // not.
    if (failing.length > 1 || failing.some(({ all }) => all)) return false;
    for (const axis of failing.length === 1 ? failing : this.#counts.keys()) {
      const counts = this.#counts.get(axis)!;
      for (const value of new Set(valuesOf(axis))) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return failing.length === 0;
  }

  of(axis: Axis): ReadonlyMap<string, number> {
    return this.#counts.get(axis)!;
  }
}

/** Returns the values of a field on the wire: none, one or several, each as a text; an object with a name, by its name. */
export function valuesOn(value: unknown): readonly string[] {
  if (value === null || value === undefined || value === '') return [];
  if (!Array.isArray(value)) return [typeof value === 'string' ? value : JSON.stringify(value)];
  return [
    ...new Set(
      value.map((each: unknown) =>
        typeof each === 'object' && each !== null && 'name' in each
          ? String(each.name)
          : String(each),
      ),
    ),
  ];
}

export const HEALTH_LEVELS = ['good', 'uneven', 'failing', 'no calls'] as const;
export type HealthLevel = (typeof HEALTH_LEVELS)[number];

/** The success rates from which health is called good and uneven; below them it is failing. */
const GOOD = 0.95;
const UNEVEN = 0.8;

/** Returns one word for the results of the last calls. */
export function healthLevelOf({ success_rate }: MetricsWire): HealthLevel {
  if (success_rate === null) return 'no calls';
  if (success_rate >= GOOD) return 'good';
  return success_rate >= UNEVEN ? 'uneven' : 'failing';
}
