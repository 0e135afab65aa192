/** A set that refuses changes, so that it can be handed out without copying. As JSON it is a list. */
export class ImmutableSet<T> extends Set<T> {
  constructor(values: Iterable<T> = []) {
    super();
    for (const value of values) super.add(value);
  }

  override add(): never {
    throw new TypeError('Expected no change to a set of the registry, got add. Copy it first.');
  }

  override delete(): never {
    throw new TypeError('Expected no change to a set of the registry, got delete. Copy it first.');
  }

  override clear(): never {
    throw new TypeError('Expected no change to a set of the registry, got clear. Copy it first.');
  }

  toJSON(): T[] {
    return [...this];
  }
}
