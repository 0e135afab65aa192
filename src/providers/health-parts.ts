import { z } from 'zod';
import { once } from '../core/options.js';
import { NO_CALLS, sampleOf, type HealthCalls } from './rolling-health.js';

/**
 * The calls that one process made under one name, dated by the store's clock.
 *
 * It only grows, and one process alone adds to it: of two forms of a part, the one with more calls is the later one. Of
 * its samples those stay that are among the last ones of all processes.
 */
export interface HealthPart extends HealthCalls {
  /** The time of its last write. */
  readonly seen: number;
}

/** The calls of all processes under one name, by the id of the part. */
export type HealthParts = ReadonlyMap<string, HealthPart>;

export const NO_PART: HealthPart = Object.freeze({ ...NO_CALLS, seen: 0 });

/** The part of the processes that wrote longest ago, when there are more than so many: it counts all parts that were seen no later. */
const FOLDED = '';
const MOST_PARTS = 256;

/** Returns both together. */
export function addedTo(
  one: HealthPart,
  other: HealthCalls & { readonly seen?: number },
): HealthPart {
  const provider =
    one.provider === null || (other.provider !== null && other.provider[1] >= one.provider[1])
      ? other.provider
      : one.provider;
  return {
    seen: Math.max(one.seen, other.seen ?? 0),
    total: one.total + other.total,
    success: one.success + other.success,
    samples: [...one.samples, ...other.samples],
    provider,
  };
}

/** Returns the calls of a part after an earlier form of it. */
export function callsSince(part: HealthPart, earlier: HealthPart): HealthPart {
  const total = part.total - earlier.total;
  return {
    ...part,
    total,
    success: part.success - earlier.success,
    samples: part.samples.slice(Math.max(0, part.samples.length - total)),
  };
}

/** Returns the same calls by a clock that is so much ahead. */
export function datedBy(calls: HealthCalls, skewMs: number): HealthCalls {
  if (skewMs === 0) return calls;
  return {
    ...calls,
    samples: calls.samples.map((sample) => sampleOf(sample, sample.at + skewMs)),
    provider: calls.provider && [calls.provider[0], calls.provider[1] + skewMs],
  };
}

/** Returns the later form of every part; whatever the order in which parts are joined, the result is the same. */
export function joinedParts(one: HealthParts, other: HealthParts): Map<string, HealthPart> {
  const joined = new Map(one);
  for (const [id, part] of other) {
    const known = joined.get(id) ?? NO_PART;
    const later = part.total > known.total ? part : known;
    joined.set(id, { ...later, seen: Math.max(part.seen, known.seen) });
  }
  const { seen } = joined.get(FOLDED) ?? NO_PART;
  for (const [id, part] of joined) if (id !== FOLDED && part.seen <= seen) joined.delete(id);
  return joined;
}

/** Returns the parts within bounds: the last `size` calls, and those of long ago as one part. */
export function boundedParts(parts: HealthParts, size: number): HealthParts {
  const times = [...parts]
    .flatMap(([id, { seen }]) => (id === FOLDED ? [] : [seen]))
    .sort((a, b) => b - a);
  const until = times[MOST_PARTS] ?? 0;
  const last = new Set(windowOf(parts, size).samples);
  const bounded = new Map<string, HealthPart>();
  for (const [id, part] of parts) {
    const into = part.seen <= until ? FOLDED : id;
    const kept = { ...part, samples: part.samples.filter((sample) => last.has(sample)) };
    bounded.set(into, addedTo(bounded.get(into) ?? NO_PART, kept));
  }
  return bounded;
}

/** Returns all parts as one, with the last `size` calls in the order of their dates. */
export function windowOf(parts: HealthParts, size: number): HealthPart {
  const all = [...parts.values()].reduce(addedTo, NO_PART);
  return { ...all, samples: [...all.samples].sort((a, b) => a.at - b.at).slice(-size) };
}

/** Returns a time that is later than that of any part. */
export function laterThan(parts: HealthParts, time: number): number {
  return [...parts.values()].reduce(
    (latest, { seen }) => Math.max(latest, seen + 1),
    Math.max(1, time),
  );
}

/** Returns true if these parts have calls that the others lack. */
export function hasMore(parts: HealthParts, others: HealthParts): boolean {
  return [...parts].some(([id, { total }]) => total > (others.get(id) ?? NO_PART).total);
}

/**
 * Writes parts as lists instead of objects: a window of 100 calls is some 3 KB. Each call begins with 1 for success, 0 for
 * failure, 2 for an abandoned call.
 */
export function encodeParts(parts: HealthParts): string {
  return JSON.stringify({
    v: 2,
    parts: [...parts].map(([id, { seen, total, success, provider, samples }]) => [
      id,
      seen,
      total,
      success,
      provider,
      samples.map(({ success, latencyMs, at, abandoned }) => [
        success ? 1 : abandoned ? 2 : 0,
        latencyMs,
        at,
      ]),
    ]),
  });
}

const schema = once(() => {
  const count = z.int().min(0);
  // Checked by hand, as there are many of them.
  const samples = z.custom<readonly (readonly [ended: number, latencyMs: number, at: number])[]>(
    (list) =>
      Array.isArray(list) &&
      list.every(
        (sample) => Array.isArray(sample) && sample.length === 3 && sample.every(Number.isFinite),
      ),
  );
  const part = z
    .tuple([
      z.string(),
      z.number(),
      count,
      count,
      z.tuple([z.string(), z.number()]).nullable(),
      samples,
    ])
    .refine(([, , total, success]) => success <= total);
  return z.object({ v: z.literal(2), parts: z.array(part) });
});

/** Reads the parts in a text; none from a text of another version or a damaged one. */
export function decodeParts(text: string | undefined): HealthParts {
  try {
    const { parts } = schema().parse(JSON.parse(text ?? ''));
    return new Map(
      parts.map(([id, seen, total, success, provider, samples]) => [
        id,
        {
          seen,
          total,
          success,
          provider,
          samples: samples.map(([ended, latencyMs, at]) =>
            sampleOf({ success: ended === 1, latencyMs, abandoned: ended === 2 }, at),
          ),
        },
      ]),
    );
  } catch {
    return new Map();
  }
}
