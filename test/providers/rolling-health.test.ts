import { expect, it } from 'vitest';
import { RollingHealth } from '../../src/providers.js';
import { ManualClock } from '../../src/testing/manual-clock.js';

const call = (latencyMs: number, success = true) => ({
  kind: 'tool' as const,
  name: 'search',
  success,
  latencyMs,
});

it('RollingHealth returns no success rate for a name without calls', () => {
  const health = new RollingHealth();
  expect(health.summary('tool', 'search')).toEqual({
    total: 0,
    success: 0,
    failure: 0,
    successRate: null,
    averageLatencyMs: null,
    p95LatencyMs: null,
    lastSampleAt: null,
  });
  expect(health.lastCall('tool', 'search')).toBeNull();
  expect(health.lastProvider('search')).toBeNull();
});

it('RollingHealth keeps the last 100 calls and counts every call', () => {
  const clock = new ManualClock(5_000);
  const health = new RollingHealth({ clock });
  for (let index = 0; index < 105; index += 1) {
    health.record(call(index, index >= 5));
    clock.advance(1);
  }
  expect(health.summary('tool', 'search')).toMatchObject({
    total: 100,
    success: 100,
    failure: 0,
    successRate: 1,
    averageLatencyMs: 54.5,
    lastSampleAt: 5_104,
  });
  expect(health.summary('tool', 'search').p95LatencyMs).toBeCloseTo(99.05, 9);
  expect(health.lifetime('tool', 'search')).toEqual({ total: 105, success: 100, failure: 5 });
  expect(health.lastCall('tool', 'search')).toEqual({ success: true, latencyMs: 104, at: 5_104 });
});

it('RollingHealth distinguishes tools, providers, and jobs with the same name', () => {
  const health = new RollingHealth();
  for (const name of ['__proto__', 'constructor', 'toString', 'tool:a'])
    health.record({ kind: 'tool', name, success: true, latencyMs: 1 });
  expect(health.summary('provider', 'constructor').total).toBe(0);
  expect(health.summary('tool', '__proto__').total).toBe(1);
  expect(health.summary('job', 'constructor').total).toBe(0);
});

it('RollingHealth sets lastProvider to the provider of the last success, not of the last call', () => {
  const health = new RollingHealth();
  health.record({ ...call(1), provider: 'first' });
  health.record({ ...call(1, false), provider: 'second' });
  expect(health.lastProvider('search')).toBe('first');
});

it('RollingHealth drops the least recently recorded names when it exceeds its limit', () => {
  const health = new RollingHealth({ maxKeys: 2 });
  for (const name of ['a', 'b', 'a', 'c'])
    health.record({ kind: 'job', name, success: true, latencyMs: 1 });
  expect(['a', 'b', 'c'].map((name) => health.summary('job', name).total)).toEqual([2, 0, 1]);
});

it.each([NaN, '12.5', -1, undefined])('RollingHealth throws for a latency of %o', (latencyMs) => {
  expect(() => new RollingHealth().record({ ...call(1), latencyMs } as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
});

it.each([[{ size: 0 }], [{ maxKeys: NaN }], [{ window: 5 }]])(
  'RollingHealth throws for the options %o',
  (options) => {
    expect(() => new RollingHealth(options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  },
);
