import type { LifetimeCounts, Sample } from './health-samples.js';

/** Calls of one process that were not yet, or may not yet have been, written. */
export interface Batch {
  /** Rises with every batch of a process for one key. */
  readonly sequence: number;
  readonly samples: readonly Sample[];
  readonly total: number;
  readonly success: number;
  readonly lastProvider: string | null;
}

/** What all processes together know of one name. */
export interface StoredHealth extends Omit<Batch, 'sequence'> {
  /** The last batch that counts of each process, the least recent process first. */
  readonly writers: ReadonlyMap<string, number>;
}

/** Processes that are remembered. One that is forgotten and repeats a batch after that would be counted twice. */
const MOST_WRITERS = 256;

export const NO_HEALTH: StoredHealth = Object.freeze({ samples: [], total: 0, success: 0, lastProvider: null, writers: new Map() });

/** Adds a batch; the window keeps the last `size` samples by their dates. The same object when the batch counts already. */
export function mergeBatch(stored: StoredHealth, writer: string, batch: Batch, size: number): StoredHealth {
  // Its write was answered by an error, and happened all the same.
  if ((stored.writers.get(writer) ?? 0) >= batch.sequence) return stored;
  const writers = new Map(stored.writers);
  writers.delete(writer);
  writers.set(writer, batch.sequence);
  if (writers.size > MOST_WRITERS) writers.delete(writers.keys().next().value!);
  return {
    samples: [...stored.samples, ...batch.samples].sort((a, b) => a.at - b.at).slice(-size),
    total: stored.total + batch.total,
    success: stored.success + batch.success,
    lastProvider: batch.lastProvider ?? stored.lastProvider,
    writers,
  };
}

export function countsOf({ total, success }: { readonly total: number; readonly success: number }): LifetimeCounts {
  return Object.freeze({ total, success, failure: total - success });
}

/** Lists instead of objects: a window of 100 calls is some 3 KB. */
export function encodeHealth({ samples, total, success, lastProvider, writers }: StoredHealth): string {
  return JSON.stringify({ v: 1, samples: samples.map(({ success, latencyMs, at }) => [success ? 1 : 0, latencyMs, at]), total, success, lastProvider, writers: [...writers] });
}

/** The stored health of a text; none for a text of another version or that is damaged. */
export function decodeHealth(text: string | undefined): StoredHealth | undefined {
  if (text === undefined) return undefined;
  try {
    const { v, samples, total, success, lastProvider, writers } = JSON.parse(text) as Record<string, unknown>;
    if (v !== 1 || !isCount(total) || !isCount(success) || success > total) return undefined;
    if (!Array.isArray(samples) || !samples.every(isTriple) || !Array.isArray(writers) || !writers.every(isWriter)) return undefined;
    return {
      samples: samples.map(([succeeded, latencyMs, at]) => Object.freeze({ success: succeeded === 1, latencyMs, at })),
      total,
      success,
      lastProvider: typeof lastProvider === 'string' ? lastProvider : null,
      writers: new Map(writers),
    };
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTriple(value: unknown): value is [number, number, number] {
  return Array.isArray(value) && value.length === 3 && value.every((item) => Number.isFinite(item));
}

function isWriter(value: unknown): value is [string, number] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && isCount(value[1]);
}
