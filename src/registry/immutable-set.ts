/** A set that refuses changes, so it can be shared without copying. Its JSON is a list. */
export class ImmutableSet<T> extends Set<T> {
  constructor(values: Iterable<T> = []) {
    super();
    for (const value of values) super.add(value);
  }

  override add(): never {
    throw new TypeError("Couldn't add: sets of the registry can't be changed. Copy the set first.");
  }

  override delete(): never {
    throw new TypeError(
      "Couldn't delete: sets of the registry can't be changed. Copy the set first.",
    );
  }

  override clear(): never {
    throw new TypeError(
      "Couldn't clear: sets of the registry can't be changed. Copy the set first.",
    );
  }

  toJSON(): T[] {
    return [...this];
  }
}
