import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exponentialBackoff, RollingHealth } from '../../src/providers.js';
import { percentile } from '../../src/providers/rolling-health.js';
import { ManualClock } from '../../src/testing/manual-clock.js';

// The recorded behavior of the recorded system's router. Where the recorded system's documents and code differ, the
// documents apply: ascending priority instead of a score, check intervals that are respected, and
// separate health for each configuration.
const file = resolve(import.meta.dirname, '../../../shared/golden/atlas.json');
const present = existsSync(file);
if (!present)
  console.warn('test/providers/golden-atlas.test.ts skips: ../shared/golden/atlas.json is absent');

interface Spec {
  readonly name: string;
  readonly priority?: number;
  readonly health_check_interval?: number;
  readonly config?: Readonly<Record<string, unknown>>;
}
interface Step {
  readonly t: number;
  readonly trace: readonly {
    readonly provider: string;
    readonly op: 'call' | 'health_check';
    readonly ok: boolean | 'raise';
  }[];
}
interface Golden {
  readonly backoff_formula: {
    readonly cases: readonly { readonly consecutive_failures: number; readonly delay_s: number }[];
  };
  readonly percentile: {
    readonly cases: readonly {
      readonly values: readonly number[];
      readonly p: number;
      readonly output: number | null;
    }[];
  };
  readonly rolling_window: {
    readonly cases: readonly {
      readonly name: string;
      readonly samples: readonly {
        readonly success: boolean;
        readonly latency_ms: unknown;
        readonly timestamp: number;
      }[];
      readonly summary: Readonly<Record<string, number | null>>;
    }[];
  };
  readonly router: {
    readonly cases: readonly {
      readonly name: string;
      readonly specs: readonly Spec[];
      readonly trace: readonly Step[];
    }[];
  };
}

const golden = present ? (JSON.parse(readFileSync(file, 'utf8')) as Golden) : undefined;

describe.skipIf(!present)('recorded backoffs', () => {
  it('equal the backoffs that tooldex computes without jitter', () => {
    const cases = golden!.backoff_formula.cases;
    expect(cases.length).toBeGreaterThan(5);
    for (const { consecutive_failures, delay_s } of cases)
      expect(exponentialBackoff(consecutive_failures, { jitter: 'none' })).toBe(delay_s * 1_000);
  });
});

describe.skipIf(!present)('recorded percentiles', () => {
  it('equal the percentiles that tooldex computes', () => {
    for (const { values, p, output } of golden!.percentile.cases) {
      if (output === null) expect(percentile(values, p)).toBeNull();
      else expect(percentile(values, p)).toBeCloseTo(output, 9);
    }
  });
});

describe.skipIf(!present)('recorded windows', () => {
  it('give the same health summary in tooldex, except for the success rate without calls and for invalid latencies', () => {
    for (const { name, samples, summary } of golden!.rolling_window.cases) {
      const clock = new ManualClock(0);
      const health = new RollingHealth({ clock });
      const record = () => {
        for (const { success, latency_ms, timestamp } of samples) {
          clock.shiftDate(timestamp - clock.now());
          health.record({ kind: 'tool', name: 'tool', success, latencyMs: latency_ms as number });
        }
      };
      if (name === 'badlat') {
        expect(record).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
        continue;
      }
      record();
      const ours = health.summary('tool', 'tool');
      const successRate = name === 'empty' ? null : summary['success_rate'];
      expect(ours).toMatchObject({
        total: summary['total'],
        success: summary['success'],
        failure: summary['failure'],
        successRate,
        averageLatencyMs: summary['average_latency_ms'],
        lastSampleAt: summary['last_sample_at'],
      });
      if (summary['p95_latency_ms'] == null) expect(ours.p95LatencyMs).toBeNull();
      else expect(ours.p95LatencyMs).toBeCloseTo(summary['p95_latency_ms'], 9);
    }
  });
});
