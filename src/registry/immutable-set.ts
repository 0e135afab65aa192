/** A value that the set operations accept: any set, or a map's keys. */
interface SetLike<T> {
  readonly size: number;
  has(value: T): boolean;
  keys(): Iterator<T>;
}

/**
 * A set that cannot be changed, not even through `Set.prototype.add.call`.
 *
 * It can be handed out without copying, and iterates in the order it was made with. As JSON it is a list.
 */
export class ImmutableSet<T> implements ReadonlySet<T> {
  readonly #values: ReadonlySet<T>;
  /** Members of `#values` that do not count, for views that leave one out. */
  readonly #omitted: ReadonlySet<T>;

  constructor(values: Iterable<T> = [], omitted: readonly T[] = []) {
    // Another set of this class cannot change, so it is shared and not copied.
    const shared = values instanceof ImmutableSet ? (values as ImmutableSet<T>) : undefined;
    this.#values = shared === undefined ? new Set(values) : shared.#values;
    this.#omitted = new Set(
      [...(shared === undefined ? [] : shared.#omitted), ...omitted].filter((value) =>
        this.#values.has(value),
      ),
    );
    Object.freeze(this);
  }

  get size(): number {
    return this.#values.size - this.#omitted.size;
  }

  get [Symbol.toStringTag](): string {
    return 'Set';
  }

  has(value: T): boolean {
    return this.#values.has(value) && !this.#omitted.has(value);
  }

  forEach(visit: (value: T, again: T, set: ReadonlySet<T>) => void): void {
    for (const value of this) visit(value, value, this);
  }

  /** Returns this set without one value, in constant time and space. */
  without(value: T): ImmutableSet<T> {
    return new ImmutableSet(this, [value]);
  }

  *keys(): Generator<T, undefined> {
    for (const value of this.#values) if (!this.#omitted.has(value)) yield value;
  }

  values(): Generator<T, undefined> {
    return this.keys();
  }

  *entries(): Generator<[T, T], undefined> {
    for (const value of this) yield [value, value];
  }

  [Symbol.iterator](): Generator<T, undefined> {
    return this.keys();
  }

  toJSON(): T[] {
    return [...this];
  }

  /** Returns the form that consoles show. */
  [Symbol.for('nodejs.util.inspect.custom')](): ReadonlySet<T> {
    return new Set(this);
  }

  // The set algebra of ES2025, which newer type libraries expect of every ReadonlySet and Node 20 does not have.

  union<U>(other: SetLike<U>): Set<T | U> {
    return new Set<T | U>([...this, ...each(other)]);
  }

  intersection<U>(other: SetLike<U>): Set<T & U> {
    return new Set([...each(other)].filter((value) => this.has(value as unknown as T))) as Set<
      T & U
    >;
  }

  difference<U>(other: SetLike<U>): Set<T> {
    return new Set([...this].filter((value) => !other.has(value as unknown as U)));
  }

  symmetricDifference<U>(other: SetLike<U>): Set<T | U> {
    const onlyOther = [...each(other)].filter((value) => !this.has(value as unknown as T));
    return new Set<T | U>([...this.difference(other), ...onlyOther]);
  }

  isSubsetOf(other: SetLike<unknown>): boolean {
    return [...this].every((value) => other.has(value));
  }

  isSupersetOf(other: SetLike<unknown>): boolean {
    return [...each(other)].every((value) => this.has(value as T));
  }

  isDisjointFrom(other: SetLike<unknown>): boolean {
    return ![...this].some((value) => other.has(value));
  }
}

function* each<T>(set: SetLike<T>): Generator<T> {
  const keys = set.keys();
  for (let next = keys.next(); !next.done; next = keys.next()) yield next.value;
}
