import { unknownValue } from '../core/issues.js';
import { ImmutableSet } from './immutable-set.js';
import type { ToolEntry } from '../tool/tool-definition.js';

const NO_ENTRIES: readonly ToolEntry[] = Object.freeze([]);
const NO_NAMES: ReadonlySet<string> = new ImmutableSet<string>();

/**
 * An index of tools by the value of one property.
 *
 * A query is one map look-up, however many tools there are: answers are immutable snapshots, made when a value is first
 * asked for after a change and then shared by all callers.
 */
export class FacetIndex<Value> {
  readonly #buckets = new Map<Value, Bucket>();
  readonly #valuesOf: (entry: ToolEntry) => readonly Value[];
  readonly #allowed: Readonly<Record<string, Value & (string | number)>> | undefined;

  /** @param allowed the enum of the property, if no other values exist. */
  constructor(
    valuesOf: (entry: ToolEntry) => readonly Value[],
    allowed?: Readonly<Record<string, Value & (string | number)>>,
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

  /** The entries with this value, in registration order. @throws ToolError `INVALID_ARGUMENT` for a value that the enum does not have. */
  entries(value: Value): readonly ToolEntry[] {
    const bucket = this.#buckets.get(value);
    if (bucket !== undefined) return bucket.entries();
    if (this.#allowed !== undefined && !Object.values<unknown>(this.#allowed).includes(value))
      throw unknownValue(value, this.#allowed);
    return NO_ENTRIES;
  }

  /** The names of the tools with this value, in registration order. */
  names(value: Value): ReadonlySet<string> {
    return this.#buckets.get(value)?.names() ?? NO_NAMES;
  }

  count(value: Value): number {
    return this.#buckets.get(value)?.size ?? 0;
  }

  /** The values that at least one tool has. */
  values(): Iterable<Value> {
    return this.#buckets.keys();
  }
}

/** The entries with one value. Most keywords have one tool, so a set is made only for the second. */
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

  /** Removes an entry; a bucket that would be empty is dropped by its owner instead. */
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
