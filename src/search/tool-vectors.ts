import { z } from 'zod';
import { invalidArgument } from '../core/issues.js';
import { checkOptions, once, type FieldsOf } from '../core/options.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { isStale } from './tool-hints.js';

/** The numbers of an embedding. */
export type Vector = readonly number[] | Float32Array;

/** An embedding of each tool, by tool name, all from the same model. */
export type ToolVectors = Readonly<
  Record<
    string,
    {
      /**
       * The `textDigest` of the tool that was embedded. If the tool's text has changed since then, the
       * vector isn't used. @default it's always used
       */
      readonly of?: string | undefined;
      readonly vector: readonly number[] | Float32Array;
    }
  >
>;

const vectorsSchema = once(() =>
  z.record(
    z.string(),
    z.strictObject({
      of: z.string().optional(),
      vector: z.custom<Vector>(isVector, 'a list of finite numbers that are not all 0'),
    } satisfies FieldsOf<ToolVectors[string]>),
  ),
);

/** The tools' vectors, scaled to length 1, so that a product of two vectors is their cosine. */
export class VectorIndex {
  readonly #given: z.output<ReturnType<typeof vectorsSchema>>;
  /** The number of numbers in each vector. */
  readonly #length: number;
  /** The vectors of registered tools. Tools with a stale vector or without one aren't included. */
  readonly #vectors = new Map<ToolEntry, Float32Array>();

  /** @throws ToolError `INVALID_ARGUMENT` if a vector is invalid or the lengths differ. */
  constructor(vectors: ToolVectors) {
    this.#given = checkOptions(vectorsSchema, vectors, 'vectors');
    const [first, ...others] = Object.entries(this.#given);
    this.#length = first?.[1].vector.length ?? 0;
    const other = others.find(([, { vector }]) => vector.length !== this.#length);
    if (other !== undefined)
      throw invalidArgument(
        `vectors of the same length as that of ${first![0]} (${this.#length})`,
        other[1].vector.length,
        `Compute the vector of ${other[0]} with the same model.`,
      );
  }

  add(entry: ToolEntry): void {
    const own = Object.hasOwn(this.#given, entry.name) ? this.#given[entry.name] : undefined;
    if (own !== undefined && !isStale(own.of, entry))
      this.#vectors.set(entry, normalized(own.vector));
  }

  remove(entry: ToolEntry): void {
    this.#vectors.delete(entry);
  }

  /**
   * Scales a request's vector to length 1.
   *
   * @throws ToolError `INVALID_ARGUMENT` if it isn't of the tools' length.
   */
  read(vector: Vector): Float32Array {
    if (!isVector(vector) || vector.length !== this.#length)
      throw invalidArgument(
        this.#length === 0
          ? 'no vector, because the registry has no vectors'
          : `a vector of ${this.#length} finite numbers that are not all 0`,
        vector,
        'Pass the vectors of the tools and of the request from the same model.',
      );
    return normalized(vector);
  }

  /** Returns the cosine of a tool's vector and a request's, or `undefined` for a tool without one. */
  similarity(asked: Float32Array, entry: ToolEntry): number | undefined {
    const own = this.#vectors.get(entry);
    return own && product(asked, own);
  }

  /** Returns the accepted tools that are most similar to a request, in no particular order. */
  nearest(
    asked: Float32Array,
    count: number,
    accept: (entry: ToolEntry) => boolean,
  ): readonly ToolEntry[] {
    let near: { readonly entry: ToolEntry; readonly similarity: number }[] = [];
    let least = -Infinity;
    const keepNearest = () => {
      near = near.sort((a, b) => b.similarity - a.similarity).slice(0, count);
      least = near.length < count ? -Infinity : near[count - 1]!.similarity;
    };
    for (const [entry, own] of this.#vectors) {
      const similarity = product(asked, own);
      if (similarity <= least || !accept(entry)) continue;
      near.push({ entry, similarity });
      if (near.length >= 2 * count) keepNearest();
    }
    keepNearest();
    return near.map(({ entry }) => entry);
  }
}

function isVector(value: unknown): value is Vector {
  return (
    (Array.isArray(value) || value instanceof Float32Array) &&
    value.every((number) => Number.isFinite(number)) &&
    value.some((number) => number !== 0)
  );
}

function normalized(vector: Vector): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (number) => number / length);
}

function product(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += one[at]! * other[at]!;
  return sum;
}
