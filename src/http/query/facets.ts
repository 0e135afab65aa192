import { fieldsOn, type FieldName } from '../../tool/metadata/tool-fields.js';

/** A field that tools are filtered by, for the server and for the page. */
export interface FacetAxis {
  readonly field: FieldName;
  /** The name of its parameter. */
  readonly key: string;
  /** Whether all chosen values must hold, rather than one. */
  readonly all: boolean;
}

export const FACET_AXES: readonly FacetAxis[] = fieldsOn('axis').map(([field, { wire, filter }]) => ({ field, key: filter?.param ?? wire, all: filter?.all === true }));

/** Counts for every value of every axis how many items it would leave with the other filters as they are. */
export class FacetCounter<Axis extends Pick<FacetAxis, 'all'>> {
  readonly #counts: ReadonlyMap<Axis, Map<string, number>>;

  constructor(axes: readonly Axis[]) {
    this.#counts = new Map(axes.map((axis) => [axis, new Map<string, number>()]));
  }

  /**
   * Counts one item; returns whether it passes.
   *
   * @param failing the axes whose chosen values it does not have.
   */
  add(failing: readonly Axis[], valuesOf: (axis: Axis) => readonly string[]): boolean {
    // Another value of the only axis that says no would let it in; a further one, where all must hold, would not.
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

/** Returns the values of a field on the wire: none, one or several, each as a text; what has a name, by its name. */
export function valuesOn(value: unknown): readonly string[] {
  if (value === null || value === undefined || value === '') return [];
  if (!Array.isArray(value)) return [typeof value === 'string' ? value : JSON.stringify(value)];
  return [...new Set(value.map((each: unknown) => (typeof each === 'object' && each !== null && 'name' in each ? String(each.name) : String(each))))];
}
