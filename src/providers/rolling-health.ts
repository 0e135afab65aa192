import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { anObject, checkOptions, once, wholeBetween, type FieldsOf } from '../core/options.js';
import { describeValue } from '../core/plain-data.js';

/** A finished call to record. */
export interface HealthRecord {
  readonly kind: 'tool' | 'provider' | 'job';
  readonly name: string;
  readonly success: boolean;
  readonly latencyMs: number;
  /** The provider that answered a tool call. */
  readonly provider?: string;
  /** True if the work was still running when the call was answered. */
  readonly abandoned?: boolean;
}

type Kind = HealthRecord['kind'];

/** A provider's consecutive failures, and the end of its backoff in milliseconds since 1970. */
export type Backoff = {
  readonly failures: number;
  readonly until: number;
};

/** A finished call as stored. `at` is in milliseconds since 1970. */
export interface Sample {
  readonly success: boolean;
  readonly latencyMs: number;
  readonly at: number;
  /** Marks a call that was answered while its work was still running. */
  readonly abandoned?: true;
}

/**
 * Statistics about the most recent calls. A value is `null` if there are no calls to compute it
 * from.
 */
export interface HealthSummary {
  readonly total: number;
  readonly success: number;
  readonly failure: number;
  /** The success rate, from 0 to 1. */
  readonly successRate: number | null;
  readonly averageLatencyMs: number | null;
  readonly p95LatencyMs: number | null;
  /** Milliseconds since 1970. */
  readonly lastSampleAt: number | null;
  /**
   * The number of calls whose work was still running when they were answered. Missing if there were
   * no such calls.
   */
  readonly abandoned?: number;
}

/** A log that records calls and summarizes their health, for one or several processes. */
export interface HealthLog {
  record(record: HealthRecord): void;
  summary(kind: Kind, name: string): HealthSummary;
  /** Returns the number of all calls since counting began. */
  lifetime(kind: Kind, name: string): Pick<HealthSummary, 'total' | 'success' | 'failure'>;
  /** Returns the calls that the summary is computed from, oldest first. */
  samples(kind: Kind, name: string): readonly Sample[];
  lastCall(kind: Kind, name: string): Sample | null;
  /** Returns the provider that answered a tool's last successful call. */
  lastProvider(toolName: string): string | null;
  /**
   * Returns a provider's backoff in any of the processes, or `null` if the provider isn't backing
   * off. A log that doesn't track backoffs lacks this method.
   */
  backoff?(provider: string): Backoff | null;
  /** Records that a provider is backing off. */
  backedOff?(provider: string, backoff: Backoff): void;
  /** Reads the records of other processes, and keeps reading them periodically. Never rejects. */
  load?(): Promise<void>;
}

/** The calls recorded under one name. */
export interface HealthCalls {
  total: number;
  success: number;
  /** The most recent calls, oldest first. */
  readonly samples: Sample[];
  /** The provider of the last successful call, and the time of its answer. */
  provider: readonly [name: string, at: number] | null;
}

const noCalls = (): HealthCalls => ({ total: 0, success: 0, samples: [], provider: null });

/** Returns the schema fields that all logs share. */
export const healthFields = () => ({
  size: wholeBetween(1, 10_000).default(100),
  maxKeys: wholeBetween(1, 1_000_000).default(10_000),
  clock: anObject<Clock>('a clock').default(systemClock),
});

/** The options of `RollingHealth`. */
export interface RollingHealthOptions {
  /** The number of calls to keep per name, at most 10,000. @default 100 */
  readonly size?: number;
  /**
   * The maximum number of names with records. The least recently recorded names are dropped.
   * @default 10_000
   */
  readonly maxKeys?: number;
  /** The clock. @default the system clock */
  readonly clock?: Clock;
}

const optionsSchema = once(() =>
  z.strictObject(healthFields() satisfies FieldsOf<RollingHealthOptions>),
);

/**
 * Stores the most recent calls of every tool, provider, and job in this process, and summarizes
 * them.
 *
 * The window is a number of calls, not a time span. Percentiles are computed on demand. For a name
 * without records, the summary contains zeros and `null`.
 */
export class RollingHealth implements HealthLog {
  /** The calls of this process by kind and name, with the least recently recorded names first. */
  protected readonly own = new Map<string, HealthCalls>();
  protected readonly backoffs = new Map<string, Backoff>();
  readonly #options: z.output<ReturnType<typeof optionsSchema>>;

  constructor(options: RollingHealthOptions = {}) {
    this.#options = checkOptions(optionsSchema, options, 'options of RollingHealth');
  }

  /**
   * Records one call. @throws ToolError `INVALID_ARGUMENT` unless the latency is a non-negative
   * number of milliseconds.
   */
  record({ kind, name, success, latencyMs, provider, abandoned }: HealthRecord): void {
    if (typeof latencyMs !== 'number' || !(latencyMs >= 0))
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot('latencyMs in milliseconds, 0 or more', describeValue(latencyMs)),
      );
    const { size, maxKeys, clock } = this.#options;
    const at = clock.now();
    const key = healthKey(kind, name);
    const calls = this.own.get(key) ?? noCalls();
    calls.total++;
    if (success) calls.success++;
    if (success && provider !== undefined) calls.provider = [provider, at];
    calls.samples.push(
      Object.freeze({ success, latencyMs, at, ...(abandoned === true && { abandoned }) }),
    );
    if (calls.samples.length > size) calls.samples.shift();
    this.own.delete(key); // Moves the name to the end, because the map is ordered by last use.
    this.own.set(key, calls);
    if (this.own.size > maxKeys) this.own.delete(this.own.keys().next().value!);
  }

  summary(kind: Kind, name: string): HealthSummary {
    return summarizeSamples(this.calls(healthKey(kind, name)).samples);
  }

  samples(kind: Kind, name: string): readonly Sample[] {
    return Object.freeze([...this.calls(healthKey(kind, name)).samples]);
  }

  /** Returns the number of all calls since counting began. */
  lifetime(kind: Kind, name: string): Pick<HealthSummary, 'total' | 'success' | 'failure'> {
    const { total, success } = this.calls(healthKey(kind, name));
    return Object.freeze({ total, success, failure: total - success });
  }

  lastCall(kind: Kind, name: string): Sample | null {
    return this.calls(healthKey(kind, name)).samples.at(-1) ?? null;
  }

  lastProvider(toolName: string): string | null {
    return this.calls(healthKey('tool', toolName)).provider?.[0] ?? null;
  }

  backoff(provider: string): Backoff | null {
    const backoff = this.backoffs.get(provider);
    return backoff !== undefined && backoff.until > this.#options.clock.now() ? backoff : null;
  }

  backedOff(provider: string, backoff: Backoff): void {
    this.backoffs.set(provider, backoff);
  }

  protected calls(key: string): HealthCalls {
    return this.own.get(key) ?? noCalls();
  }
}

/**
 * Combines a kind and a name into a key. Kinds don't contain colons, so every pair has a unique
 * key.
 */
function healthKey(kind: Kind, name: string): string {
  return `${kind}:${name}`;
}

function summarizeSamples(samples: readonly Sample[]): HealthSummary {
  const total = samples.length;
  const success = samples.filter((sample) => sample.success).length;
  const abandoned = samples.filter((sample) => sample.abandoned).length;
  const latencies = samples.map((sample) => sample.latencyMs);
  return Object.freeze({
    total,
    success,
    failure: total - success,
    successRate: total === 0 ? null : success / total,
    averageLatencyMs:
      total === 0 ? null : latencies.reduce((sum, latency) => sum + latency, 0) / total,
    p95LatencyMs: percentile(latencies, 0.95),
    lastSampleAt: samples.at(-1)?.at ?? null,
    ...(abandoned > 0 && { abandoned }),
  });
}

/**
 * Returns the value below which the given fraction of the values lies (linearly interpolated), or
 * `null` if there are no values.
 */
export function percentile(values: readonly number[], share: number): number | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
}
