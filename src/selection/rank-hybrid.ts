import { z } from 'zod';
import { isToolError, ToolError } from '../core/errors.js';
import { LIMITS } from '../core/limits.js';
import { compareText } from '../core/plain-data.js';
import { compileFilter, type ToolFilter } from '../registry/tool-filter.js';
import type { SearchOptions, ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import {
  aFunction,
  anObject,
  checkOptions,
  milliseconds,
  once,
  signal,
  wholeBetween,
  withMethods,
  type FieldsOf,
} from '../core/options.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { similaritiesOf, type Embedder, type Similarities } from './embedder.js';
import type { Ranking } from './selection-request.js';

/** The options of `rankHybrid`. */
export interface HybridOptions {
  /** The embedder; pass the same object every time, as the vectors of tools are kept with it. */
  readonly embedder: Embedder;
  /** The maximum number of tools. @default 50 */
  readonly limit?: number;
  /** The time that the embedder may take in all, in milliseconds. @default 1000 */
  readonly timeoutMs?: number;
  /** The tools that are embedded and ranked. @default all */
  readonly filter?: SearchOptions['filter'];
  /** A signal that fires when the answer is no longer wanted. @default none */
  readonly signal?: AbortSignal;
  /** Calls back after so many milliseconds, unless the returned function is called before. @default setTimeout */
  readonly startTimer?: (callback: () => void, milliseconds: number) => () => void;
}

/** A ranking by words and meaning together. */
export interface HybridRanking {
  /** The ranking, best first, for `selectTools({ranking})`. */
  readonly ranking: Ranking;
  /**
   * The reason why the ranking is the registry's own search alone; its `cause` is the embedder's error. Missing if all
   * went well.
   */
  readonly degraded?: ToolError;
}

/**
 * The number of best tools of each ranking that are fused, whatever the limit: a smaller limit returns the first of the
 * same results.
 */
const FUSED = 60;
/**
 * The weight of similarity beside search, in standard deviations: the largest at which static word vectors cost no
 * measured set half a point.
 */
const SIMILARITY_WEIGHT = 0.3;

const optionsSchema = once(() =>
  z.strictObject({
    embedder: withMethods<Embedder>('an object with a function embed', 'embed'),
    limit: wholeBetween(0).default(50),
    timeoutMs: milliseconds(0).default(1_000),
    filter: z
      .union(
        [aFunction<(entry: ToolEntry) => boolean>(), anObject<ToolFilter>()],
        'a filter or a function',
      )
      .optional(),
    signal: signal().optional(),
    startTimer: aFunction<NonNullable<HybridOptions['startTimer']>>().default(() => startTimeout),
  } satisfies FieldsOf<HybridOptions>),
);
type CheckedOptions = z.output<ReturnType<typeof optionsSchema>>;

/** A tool with its score in a ranking. */
interface Placed {
  readonly entry: ToolEntry;
  readonly score: number;
  readonly explanation: string;
}

/**
 * Ranks tools by the registry's search and by the meaning of the request: the best 60 of either are scored by
 * z(search) + 0.3 · z(cosine), where z is the distance from the mean of these tools in standard deviations. So a score
 * is comparable within one ranking only, and may be negative. Equal scores are ordered by priority, then by name.
 *
 * When the embedder fails, gives what cannot be used, or is slow, the result is the registry's own search, and `degraded`
 * says why. It is an object, and not a list with a reason on it: `ranking` goes to `selectTools` as it is, and a property of
 * a list would be lost wherever the list is copied or written as JSON.
 *
 * The first call embeds every tool, which may well take longer than `timeoutMs`; what arrives in time is kept. So call it
 * once with a long `timeoutMs` when the program starts. It only ranks: what may not be offered is up to `selectTools`.
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong or unknown options, `ABORTED` when `signal` says so.
 */
export async function rankHybrid(
  registry: ToolMetadataRegistry,
  text: string,
  options: HybridOptions,
): Promise<HybridRanking> {
  const { limit, filter, ...asked } = checkOptions(optionsSchema, options, 'options of rankHybrid');
  if (asked.signal?.aborted) throw abortedBy(asked.signal);
  const accept = typeof filter === 'object' ? compileFilter(filter) : (filter ?? (() => true));
  // Both rankings are of the same tools, even if tools come and go while the embedder works.
  const hits = registry.search(text, { limit: Math.max(limit, FUSED), filter: accept });
  const lexical = hits.map(({ toolName, score, explanation }): Placed => ({
    entry: registry.require(toolName),
    score,
    explanation,
  }));
  const entries = [...registry].filter(accept);
  if (limit === 0 || entries.length === 0 || text.slice(0, LIMITS.queryLength).trim() === '')
    return Object.freeze({ ranking: toRanking(lexical, limit) });
  try {
    const similarities = await beforeDeadline(
      (stop) => similaritiesOf(text, entries, asked.embedder, stop),
      asked,
    );
    return Object.freeze({
      ranking: toRanking(fuse(lexical.slice(0, FUSED), entries, similarities), limit),
    });
  } catch (error) {
    if (asked.signal?.aborted) throw abortedBy(asked.signal);
    return Object.freeze({ ranking: toRanking(lexical, limit), degraded: degradation(error) });
  }
}

/** Joins the hits of search and the tools nearest to the request; a tool whose cosine is 0 or below is not near. */
function fuse(
  hits: readonly Placed[],
  entries: readonly ToolEntry[],
  similarities: Similarities,
): readonly Placed[] {
  const cosines = new Map(entries.map((entry, index) => [entry, similarities[index]!]));
  const similar = Array.from(cosines, ([entry, score]): Placed => ({
    entry,
    score,
    explanation: `similar in meaning (${score.toFixed(2)})`,
  })).filter(({ score }) => score > 0);
  const near = new Map(
    bestFirst(similar)
      .slice(0, FUSED)
      .map((each) => [each.entry, each]),
  );
  const found = new Set(hits.map(({ entry }) => entry));
  const candidates = [
    ...hits.map(({ entry, score, explanation }) => ({
      entry,
      score,
      explanation: near.has(entry)
        ? `${explanation}; ${near.get(entry)!.explanation}`
        : explanation,
    })),
    ...[...near.values()]
      .filter(({ entry }) => !found.has(entry))
      .map(({ entry, explanation }) => ({ entry, score: 0, explanation })),
  ];
  const bySearch = standardized(candidates.map(({ score }) => score));
  const bySimilarity = standardized(candidates.map(({ entry }) => cosines.get(entry)!));
  return bestFirst(
    candidates.map(({ entry, explanation }, index) => ({
      entry,
      score: bySearch[index]! + SIMILARITY_WEIGHT * bySimilarity[index]!,
      explanation,
    })),
  );
}

/** Returns the distances of values from their mean in standard deviations; 0 where all are equal. */
function standardized(values: readonly number[]): readonly number[] {
  if (values.every((value) => value === values[0])) return values.map(() => 0);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const deviation = Math.sqrt(
    values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length,
  );
  return values.map((value) => (value - mean) / deviation);
}

function bestFirst(placed: readonly Placed[]): readonly Placed[] {
  return [...placed].sort(
    (a, b) =>
      b.score - a.score ||
      a.entry.priority - b.entry.priority ||
      compareText(a.entry.name, b.entry.name),
  );
}

function toRanking(placed: readonly Placed[], limit: number): Ranking {
  return Object.freeze(
    placed
      .slice(0, limit)
      .map(({ entry, score, explanation }) =>
        Object.freeze({ toolName: entry.name, score, explanation }),
      ),
  );
}

type Deadline = Pick<CheckedOptions, 'timeoutMs' | 'signal' | 'startTimer'>;

/** Waits for work until the deadline or the caller's signal. Then the work is told to stop, and its result is ignored. */
async function beforeDeadline<T>(
  work: (stop: AbortSignal) => Promise<T>,
  { timeoutMs, signal, startTimer }: Deadline,
): Promise<T> {
  const stop = new AbortController();
  let giveUp: (error: ToolError) => void = () => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    giveUp = (error) => {
      reject(error);
      stop.abort(error);
    };
  });
  const onAbort = () => giveUp(abortedBy(signal));
  const stopTimer = startTimer(
    () =>
      giveUp(
        new ToolError(
          'TIMEOUT',
          `Expected the embedder to answer within ${timeoutMs} ms, got nothing in time. Raise timeoutMs.`,
        ),
      ),
    timeoutMs,
  );
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work(stop.signal), stopped]);
  } finally {
    stopTimer();
    signal?.removeEventListener('abort', onAbort);
  }
}

function startTimeout(callback: () => void, milliseconds: number): () => void {
  const timer = setTimeout(callback, milliseconds);
  return () => clearTimeout(timer);
}

/** The error behind a degraded ranking. The embedder's own may name addresses and keys: it is the cause and not repeated. */
function degradation(error: unknown): ToolError {
  const isOurs =
    isToolError(error, 'TIMEOUT') ||
    isToolError(error, 'LIMIT_EXCEEDED') ||
    isToolError(error, 'EXECUTION_FAILED');
  return isOurs
    ? error
    : new ToolError(
        'EXECUTION_FAILED',
        'Expected vectors from the embedder, got an error. See its cause.',
        { cause: error },
      );
}

function abortedBy(signal: AbortSignal | undefined): ToolError {
  return new ToolError('ABORTED', 'Expected to rank tools, got an abort from the caller.', {
    cause: signal?.reason,
  });
}
