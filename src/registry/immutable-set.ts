/** A set that can't be changed, so it can be shared without copying. Serializes to a JSON array. */
export class ImmutableSet<T> extends Set<T> {
  constructor(values: Iterable<T> = []) {
    super();
    for (const value of values) super.add(value);
  }

  override add(): never {
    throw new TypeError("Couldn't add: the registry's sets are read-only. Copy the set first.");
  }

  override delete(): never {
    throw new TypeError("Couldn't delete: the registry's sets are read-only. Copy the set first.");
  }

  override clear(): never {
    throw new TypeError("Couldn't clear: the registry's sets are read-only. Copy the set first.");
  }

  toJSON(): T[] {
    return [...this];
  }
}
