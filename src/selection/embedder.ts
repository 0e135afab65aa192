import { ToolError } from '../core/errors.js';
import { LIMITS } from '../core/limits.js';
import { describeValue } from '../core/plain-data.js';
import { textOf } from '../search/inverted-index.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** An embedder turns texts into vectors that lie close together when the texts mean about the same. */
export interface Embedder {
  /**
   * Returns one vector for each text, in their order and all of one length. The signal fires when the answer is no
   * longer needed.
   */
  embed(
    texts: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly (readonly number[] | Float32Array | Float64Array)[]>;
}

/** The part of the AI SDK's `embedMany` that is used, described here so that nothing of that package is imported. */
export type EmbedMany<Model> = (options: {
  model: Model;
  values: string[];
  abortSignal?: AbortSignal;
}) => PromiseLike<{ readonly embeddings: readonly (readonly number[])[] }>;

/**
 * Returns an embedder that asks a model through `embedMany` of the AI SDK: `embedderOf(embedMany, model)`.
 *
 * Make it once: the vectors of tools are kept with the embedder.
 */
export function embedderOf<Model>(embedMany: EmbedMany<Model>, model: Model): Embedder {
  return Object.freeze<Embedder>({
    embed: async (texts, { signal } = {}) =>
      (
        await embedMany({
          model,
          values: [...texts],
          ...(signal === undefined ? {} : { abortSignal: signal }),
        })
      ).embeddings,
  });
}

/** The similarities of the request to each of the tools: the cosine of their vectors, from −1 to 1, to six places. */
export type Similarities = readonly number[];
/** A vector of length 1, or 0 if all its numbers are 0. */
type Vector = Float32Array;

/** Texts of one call: providers commonly take as many at once. */
const BATCH = 100;
/** Tools kept for one embedder, and so the most that can be compared: 150 MB of vectors of 1,536 numbers. */
const MOST_TOOLS = 25_000;
/** Numbers of one vector: twice what the largest models give. */
const LONGEST_VECTOR = 8_192;
/** The precision of scores: smaller differences are noise of single precision, and must not decide the order. */
const PRECISION = 1e6;

/** The vectors of tools by embedder and digest, the earliest first. */
const known = new WeakMap<Embedder, Map<string, Vector>>();

/**
 * Asks for the vectors of the request and of the tools that have none yet, in batches one after the other.
 *
 * Every batch that arrives is kept, so a call that is stopped half-way is not lost: the next one goes on from there.
 *
 * @throws ToolError `LIMIT_EXCEEDED` for too many tools, `EXECUTION_FAILED` for an answer that cannot be used; and
 * whatever the embedder throws.
 */
export async function similaritiesOf(
  text: string,
  entries: readonly ToolEntry[],
  embedder: Embedder,
  signal: AbortSignal,
): Promise<Similarities> {
  if (entries.length > MOST_TOOLS)
    throw new ToolError(
      'LIMIT_EXCEEDED',
      `Expected at most ${MOST_TOOLS} tools to embed, got ${entries.length}. Narrow them down with a filter.`,
    );
  let kept = known.get(embedder);
  if (kept === undefined) known.set(embedder, (kept = new Map<string, Vector>()));

  // A copy, because other calls change `kept` meanwhile.
  const vectors = new Map(
    entries.flatMap(({ digest }) =>
      kept.has(digest) ? [[digest, kept.get(digest)!] as const] : [],
    ),
  );
  const request = 'the request';
  const wanted = [request, ...entries.filter(({ digest }) => !vectors.has(digest))] as const;
  let asked: Vector | undefined;
  for (let start = 0; start < wanted.length; start += BATCH) {
    signal.throwIfAborted();
    const batch = wanted.slice(start, start + BATCH);
    const texts = batch.map((each) => (each === request ? readable(text) : textToEmbed(each)));
    const answer = toVectors(await embedder.embed(texts, { signal }), texts.length, asked?.length);
    signal.throwIfAborted();
    if (asked === undefined) {
      asked = answer[0]!;
      const { length } = asked;
      if ([...vectors.values()].some((vector) => vector.length !== length)) {
        kept.clear(); // Another model answers now: its vectors cannot be compared with those kept.
        throw unusable(
          'vectors of as many numbers as before (the tools will be embedded again)',
          `one of ${length}`,
        );
      }
    }
    for (const [index, each] of batch.entries()) {
      if (each === request) continue;
      vectors.set(each.digest, answer[index]!);
      keep(kept, each.digest, answer[index]!);
    }
  }
  return entries.map(({ digest }) => cosine(asked!, vectors.get(digest)!));
}

function keep(kept: Map<string, Vector>, digest: string, vector: Vector): void {
  kept.set(digest, vector);
  for (const earliest of kept.keys()) {
    if (kept.size <= MOST_TOOLS) return;
    kept.delete(earliest);
  }
}

/** The text of a tool that search reads, a line for each field. */
function textToEmbed(entry: ToolEntry): string {
  const lines = textOf(entry).map((pieces) => pieces.filter((piece) => piece !== '').join(', '));
  return readable(lines.filter((line) => line !== '').join('\n'));
}

/** Cuts a text at the length that is read, never within a character: services refuse halves. */
function readable(text: string): string {
  return text.slice(0, LIMITS.queryLength).replace(/\p{Surrogate}/gu, '\uFFFD');
}

function toVectors(answer: unknown, count: number, length: number | undefined): readonly Vector[] {
  if (!Array.isArray(answer) || answer.length !== count)
    throw unusable(`${count} vectors`, describeValue(answer));
  let expected = length;
  return Array.from(answer as readonly unknown[], (vector) => {
    if (!isVector(vector) || vector.length === 0 || vector.length > LONGEST_VECTOR)
      throw unusable(`vectors of 1 to ${LONGEST_VECTOR} numbers`, describeValue(vector));
    expected ??= vector.length;
    if (vector.length !== expected)
      throw unusable(`vectors that all have ${expected} numbers`, `one of ${vector.length}`);
    return unit(vector);
  });
}

/** Returns true for a list or typed array of any values. */
function isVector(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

function unit(vector: ArrayLike<unknown>): Vector {
  const numbers = Array.from(vector, (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw unusable('vectors of finite numbers', describeValue(value));
    return value;
  });
  // Scaled to about 1 first: squares of very large and very small numbers overflow.
  const largest = numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (largest === 0) return new Float32Array(numbers.length);
  const scaled = numbers.map((value) => value / largest);
  const length = Math.sqrt(scaled.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(scaled, (value) => value / length);
}

function cosine(a: Vector, b: Vector): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += a[index]! * b[index]!;
  return Math.round(sum * PRECISION) / PRECISION;
}

function unusable(expected: string, found: string): ToolError {
  return new ToolError('EXECUTION_FAILED', `Expected ${expected} from the embedder, got ${found}.`);
}
