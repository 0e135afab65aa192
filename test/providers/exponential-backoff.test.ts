import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exponentialBackoff } from '../../src/providers.js';
import { seededRandom } from '../../src/testing/seeded-random.js';

describe('exponentialBackoff', () => {
  it('the backoff doubles from one second up to one minute', () => {
    expect(
      [0, 1, 2, 3, 6, 7, 50].map((failures) => exponentialBackoff(failures, { jitter: 'none' })),
    ).toEqual([0, 1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
  });

  it('the backoff stays below its limit for any number of failures and any base', () => {
    fc.assert(
      fc.property(
        fc.nat(2_000),
        fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, baseMs, share) => {
          for (const jitter of ['full', 'none'] as const) {
            const ms = exponentialBackoff(failures, { baseMs, random: () => share, jitter });
            expect(ms).toBeGreaterThanOrEqual(0);
            expect(ms).toBeLessThanOrEqual(60_000);
          }
        },
      ),
    );
  });

  it('full jitter is evenly distributed: 10,000 samples average half the limit, within 2 %', () => {
    for (let failures = 1; failures <= 8; failures += 1) {
      const random = seededRandom(failures);
      const bound = exponentialBackoff(failures, { jitter: 'none' });
      const draws = Array.from({ length: 10_000 }, () => exponentialBackoff(failures, { random }));
      expect(draws.every((ms) => ms >= 0 && ms < bound)).toBe(true);
      const mean = draws.reduce((sum, ms) => sum + ms, 0) / draws.length;
      expect(Math.abs(mean / bound - 0.5)).toBeLessThan(0.01);
    }
  });

  it.each([[-1], [NaN], [undefined]])('throws for %s as the number of failures', (failures) => {
    expect(() => exponentialBackoff(failures as number)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  it.each([[{ base: 1 }], [{ capMs: -1 }], [{ random: 0.5 }], [null]])(
    'throws for the options %o',
    (options) => {
      expect(() => exponentialBackoff(1, options as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    },
  );
});
