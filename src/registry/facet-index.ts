import { unknownValue } from '../core/issues.js';
import { ImmutableSet } from './immutable-set.js';
import type { ToolEntry } from '../tool/tool-definition.js';

const NO_ENTRIES: readonly ToolEntry[] = Object.freeze([]);
const NO_NAMES: ReadonlySet<string> = new ImmutableSet<string>();

/**
 * An index of tools by the value of one property.
 *
 * A query takes a single map lookup, however many tools there are. Results are immutable snapshots,
 * created on the first query after a change and shared by all callers.
 */
export class FacetIndex<Value> {
  readonly #buckets = new Map<Value, Bucket>();
  readonly #valuesOf: (entry: ToolEntry) => readonly Value[];
  readonly #allowed: Readonly<Record<string, string | number>> | undefined;

  /** @param allowed The property's enum, if it has one. */
  constructor(
    valuesOf: (entry: ToolEntry) => readonly Value[],
    allowed?: Readonly<Record<string, string | number>>,
  ) {
    this.#valuesOf = valuesOf;
    this.#allowed = allowed;
  }

  add(entry: ToolEntry): void {
    for (const value of this.#valuesOf(entry)) {
      const bucket = this.#buckets.get(value);
      if (bucket === undefined) this.#buckets.set(value, new Bucket(entry));
      else bucket.add(entry);
    }
  }

  remove(entry: ToolEntry): void {
    for (const value of this.#valuesOf(entry)) {
      const bucket = this.#buckets.get(value);
      if (bucket === undefined) continue;
      if (bucket.size === 1) this.#buckets.delete(value);
      else bucket.remove(entry);
    }
  }

  /**
   * Returns the entries with this value, in registration order. @throws ToolError
   * `INVALID_ARGUMENT` if the value isn't in the enum.
   */
  entries(value: Value): readonly ToolEntry[] {
    const bucket = this.#buckets.get(value);
    if (bucket !== undefined) return bucket.entries();
    if (this.#allowed !== undefined && !Object.values<unknown>(this.#allowed).includes(value))
      throw unknownValue(value, this.#allowed);
    return NO_ENTRIES;
  }

  /** Returns the names of the tools with this value, in registration order. */
  names(value: Value): ReadonlySet<string> {
    return this.#buckets.get(value)?.names() ?? NO_NAMES;
  }

  count(value: Value): number {
    return this.#buckets.get(value)?.size ?? 0;
  }

  /** Returns the values used by at least one tool. */
  values(): Iterable<Value> {
    return this.#buckets.keys();
  }
}

/**
 * The entries that share one value. Most keywords belong to a single tool, so the set is created
 * only when a second tool is added.
 */
class Bucket {
  #members: ToolEntry | Set<ToolEntry>;
  #entries: readonly ToolEntry[] | undefined;
  #names: ReadonlySet<string> | undefined;

  constructor(first: ToolEntry) {
    this.#members = first;
  }

  get size(): number {
    return this.#members instanceof Set ? this.#members.size : 1;
  }

  add(entry: ToolEntry): void {
    if (this.#members instanceof Set) this.#members.add(entry);
    else this.#members = new Set([this.#members, entry]);
    this.#forget();
  }

  /** Removes an entry. The index removes a bucket before it becomes empty. */
  remove(entry: ToolEntry): void {
    if (this.#members instanceof Set) this.#members.delete(entry);
    this.#forget();
  }

  entries(): readonly ToolEntry[] {
    return (this.#entries ??= Object.freeze(
      this.#members instanceof Set ? [...this.#members] : [this.#members],
    ));
  }

  names(): ReadonlySet<string> {
    return (this.#names ??= new ImmutableSet(this.entries().map(({ name }) => name)));
  }

  #forget(): void {
    this.#entries = undefined;
    this.#names = undefined;
  }
}
