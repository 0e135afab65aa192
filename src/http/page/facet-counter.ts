/** Counts for every value of every axis the items that it would leave under the other filters. */
export class FacetCounter<Axis extends { readonly all: boolean }> {
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
