import { z } from 'zod';
import { systemClock, type Clock } from '../../core/clock.js';
import { anObject, checkOptions, once, wholeBetween, type FieldsOf } from '../../core/options.js';
import { HEALTH_KEYS, HEALTH_WINDOW, healthKey, requireRecord, sampleOf, summarizeSamples, type HealthKind, type HealthLog, type HealthRecord, type HealthSummary, type LifetimeCounts, type Sample } from './health-samples.js';

export interface RollingHealthOptions {
  /** The number of calls in a window, at most 10,000. @default 100 */
  readonly size?: number;
  /** The number of names that are kept; the least recently recorded give way. @default 10_000 */
  readonly maxKeys?: number;
  readonly clock?: Clock;
}

const optionsSchema = once(() => z.strictObject({ size: wholeBetween(1, 10_000).default(HEALTH_WINDOW), maxKeys: wholeBetween(1, 1_000_000).default(HEALTH_KEYS), clock: anObject<Clock>('a clock').default(systemClock) } satisfies FieldsOf<RollingHealthOptions>));

interface Window {
  /** A ring: the oldest sample is at `next` once it is full. */
  readonly samples: Sample[];
  next: number;
  total: number;
  success: number;
  lastProvider: string | null;
  /**
   * The summary of these samples, once it was asked for: percentiles take time, and are often asked for between two
   * calls.
   */
  summary: HealthSummary | undefined;
}

/**
 * Keeps the last calls of every tool, provider and job in this process, and answers in numbers.
 *
 * The window is a count of calls, not a time. Recording takes the same time whatever was recorded before; percentiles
 * are computed on demand. A name without records has a summary of zeros and `null`.
 */
export class RollingHealth implements HealthLog {
  readonly #size: number;
  readonly #maxKeys: number;
  readonly #clock: Clock;
  /** The least recently recorded first. */
  readonly #windows = new Map<string, Window>();

  constructor(options: RollingHealthOptions = {}) {
    const { size, maxKeys, clock } = checkOptions(optionsSchema, options, 'options of RollingHealth');
    this.#size = size;
    this.#maxKeys = maxKeys;
    this.#clock = clock;
  }

  /** Adds one call. @throws ToolError `INVALID_ARGUMENT` for a wrong record, such as a latency that is no number. */
  record(record: HealthRecord): void {
    requireRecord(record);
    const key = healthKey(record.kind, record.name);
    const window = this.#windows.get(key) ?? { samples: [], next: 0, total: 0, success: 0, lastProvider: null, summary: undefined };
    window.samples[window.next] = sampleOf(record, this.#clock.now());
    window.next = (window.next + 1) % this.#size;
    window.total += 1;
    window.summary = undefined;
    if (record.success) {
      window.success += 1;
      window.lastProvider = record.provider ?? window.lastProvider;
    }
    this.#windows.delete(key);
    this.#windows.set(key, window);
    if (this.#windows.size > this.#maxKeys) this.#windows.delete(this.#windows.keys().next().value!);
  }

  summary(kind: HealthKind, name: string): HealthSummary {
    const window = this.#windows.get(healthKey(kind, name));
    if (window === undefined) return summarizeSamples([]);
    return (window.summary ??= summarizeSamples(this.samples(kind, name)));
  }

  samples(kind: HealthKind, name: string): readonly Sample[] {
    const window = this.#windows.get(healthKey(kind, name));
    if (window === undefined) return Object.freeze([]);
    const { samples, next } = window;
    return Object.freeze(samples.length < this.#size ? [...samples] : [...samples.slice(next), ...samples.slice(0, next)]);
  }

  lifetime(kind: HealthKind, name: string): LifetimeCounts {
    const { total, success } = this.#windows.get(healthKey(kind, name)) ?? { total: 0, success: 0 };
    return Object.freeze({ total, success, failure: total - success });
  }

  lastCall(kind: HealthKind, name: string): Sample | null {
    const window = this.#windows.get(healthKey(kind, name));
    return window?.samples.at(window.next - 1) ?? null;
  }

  lastProvider(toolName: string): string | null {
    return this.#windows.get(healthKey('tool', toolName))?.lastProvider ?? null;
  }
}
