/** The path of a leaf in JSON, outermost key first. */
export type LeafPath = readonly (string | number)[];

/** Returns the paths of all leaves, and of empty lists and objects. */
export function leavesOf(value: unknown, path: LeafPath = []): LeafPath[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Object.entries(value);
  if (entries.length === 0) return [path];
  return entries.flatMap(([key, item]) =>
    leavesOf(item, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/** Returns a copy of the value with one leaf replaced. */
export function withLeaf(value: unknown, path: LeafPath, leaf: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return leaf;
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      index === step ? withLeaf(item, rest, leaf) : item,
    );
  return Object.fromEntries(
    Object.entries(value as object).map(([key, item]) => [
      key,
      key === step ? withLeaf(item, rest, leaf) : (item as unknown),
    ]),
  );
}

/** Returns the same data with the keys of every object in a different order. */
export function shuffleKeys(value: unknown, seed: number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffleKeys(item, seed));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(
    ([key, item]) => [key, shuffleKeys(item, seed)] as const,
  );
  const turn = entries.length === 0 ? 0 : seed % entries.length;
  return Object.fromEntries([...entries.slice(turn), ...entries.slice(0, turn)].reverse());
}

/**
 * Returns true if nothing that is reachable through own properties can be changed. Functions count as
 * leaves.
 */
export function isDeepFrozen(value: unknown, seen = new Set<unknown>()): boolean {
  if (typeof value !== 'object' || value === null || seen.has(value)) return true;
  seen.add(value);
  return (
    Object.isFrozen(value) &&
    Reflect.ownKeys(value).every((key) =>
      isDeepFrozen((value as Record<PropertyKey, unknown>)[key], seen),
    )
  );
}
