import { z } from 'zod';
import { checkOptions, once, text, type FieldsOf } from '../../core/options.js';

/** The kind of things that have health. */
export type HealthKind = 'tool' | 'provider' | 'job';

/** One call that ended, as it is recorded. */
export interface HealthRecord {
  readonly kind: HealthKind;
  readonly name: string;
  readonly success: boolean;
  readonly latencyMs: number;
  /** The provider that answered, for calls of a tool. */
  readonly provider?: string;
  /** Says that the work still ran when the call was answered. */
  readonly abandoned?: boolean;
}

/** One call that ended, as it is kept; `at` in milliseconds since 1970. */
export interface Sample {
  readonly success: boolean;
  readonly latencyMs: number;
  readonly at: number;
  /** Says that the work still ran when the call was answered. */
  readonly abandoned?: true;
}

/** Returns a record as it is kept. */
export function sampleOf({ success, latencyMs, abandoned }: Pick<HealthRecord, 'success' | 'latencyMs' | 'abandoned'>, at: number): Sample {
  return Object.freeze({ success, latencyMs, at, ...(abandoned === true && { abandoned }) });
}

/** The last calls in numbers; `null` stands for a number that needs calls when there are none. */
export interface HealthSummary {
  readonly total: number;
  readonly success: number;
  readonly failure: number;
  /** The share of successful calls, from 0 to 1. */
  readonly successRate: number | null;
  readonly averageLatencyMs: number | null;
  readonly p95LatencyMs: number | null;
  /** Milliseconds since 1970. */
  readonly lastSampleAt: number | null;
  /** Calls whose work still ran when they were answered; missing when there were none. */
  readonly abandoned?: number;
}

/** All calls since counting began. */
export interface LifetimeCounts {
  readonly total: number;
  readonly success: number;
  readonly failure: number;
}

/** The backoff of a provider, as it is shown. */
export interface Backoff {
  /** The number of failures in a row. */
  readonly failures: number;
  /** The end in milliseconds since 1970; `null` while one call tries the provider out. */
  readonly until: number | null;
}

/** A log that records health and answers questions about it: of this process alone, or of several together. */
export interface HealthLog {
  record(record: HealthRecord): void;
  summary(kind: HealthKind, name: string): HealthSummary;
  lifetime(kind: HealthKind, name: string): LifetimeCounts;
  /** The calls behind the summary, the oldest first. */
  samples(kind: HealthKind, name: string): readonly Sample[];
  lastCall(kind: HealthKind, name: string): Sample | null;
  /** The provider that answered a tool's last successful call. */
  lastProvider(toolName: string): string | null;
  /** The shared backoff of a provider; `null` when it has none. Missing if the health is of one process. */
  backoff?(provider: string): Backoff | null;
  /** Reads the records of other processes, and follows them from then on. Never rejects. */
  load?(): Promise<void>;
}

/** The calls that a window holds, and the names that are kept: the least recently used give way. */
export const HEALTH_WINDOW = 100;
export const HEALTH_KEYS = 10_000;

const recordSchema = once(() => z.strictObject({ kind: z.enum(['tool', 'provider', 'job']), name: text(), success: z.boolean(), latencyMs: z.number().min(0), provider: text().optional(), abandoned: z.boolean().optional() } satisfies FieldsOf<HealthRecord>));

/** Checks a record. @throws ToolError `INVALID_ARGUMENT` for a wrong one. */
export function requireRecord(record: HealthRecord): void {
  checkOptions(recordSchema, record ?? null, 'fields of the record');
}

/** Returns the one text for a kind and a name. Kinds hold no colon, so that no two pairs share one. */
export function healthKey(kind: HealthKind, name: string): string {
  return `${kind}:${name}`;
}

/** The numbers of some samples, the oldest first. */
export function summarizeSamples(samples: readonly Sample[]): HealthSummary {
  const total = samples.length;
  const success = samples.filter((sample) => sample.success).length;
  const abandoned = samples.filter((sample) => sample.abandoned).length;
  const latencies = samples.map((sample) => sample.latencyMs);
  return Object.freeze({
    total,
    success,
    failure: total - success,
    successRate: total === 0 ? null : success / total,
    averageLatencyMs: total === 0 ? null : latencies.reduce((sum, latency) => sum + latency, 0) / total,
    p95LatencyMs: percentile(latencies, 0.95),
    lastSampleAt: samples.at(-1)?.at ?? null,
    ...(abandoned > 0 && { abandoned }),
  });
}

/** The value below which a share of the values lies, between two of them by linear interpolation; `null` without values. */
export function percentile(values: readonly number[], share: number): number | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
}
