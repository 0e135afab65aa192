import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryStateStore, RedisStateStore, type StateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';
import { RedisServer, redisPresent } from './redis-server.js';

describe('a state store in memory', () => {
  it('does not grow with keys that have expired', async () => {
    const clock = new ManualClock();
    const store = new MemoryStateStore({ clock });
    for (let key = 0; key < 20_000; key++) {
      await store.increment(`key ${key}`, 1, { ttlMs: 100 });
      clock.advance(1);
    }
    expect(store.size).toBeLessThan(2_000);
    expect(clock.pending).toBe(0);
  });

  it('refuses unknown options', () => {
    expect(() => new MemoryStateStore({ time: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  it('does not mind when the date is set', async () => {
    const clock = new ManualClock();
    const store = new MemoryStateStore({ clock });
    await store.compareAndSet('key', undefined, 'a', { ttlMs: 1_000 });
    clock.shiftDate(3_600_000);
    expect(await store.get('key')).toBe('a');
    clock.shiftDate(-7_200_000);
    clock.advance(1_000);
    expect(await store.get('key')).toBeUndefined();
  });
});

type Step = (store: StateStore) => Promise<unknown>;

const key = fc.constantFrom('a', 'b');
const text = fc.option(
  fc.oneof(
    fc.constantFrom('1', '-2.5', 'text', ''),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  ),
  { nil: undefined },
);
const number = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(key, text, text).map(
    ([name, expected, next]): Step =>
      (store) =>
        store.compareAndSet(name, expected, next),
  ),
  fc.tuple(key, text).map(
    ([name, next]): Step =>
      async (store) =>
        store.compareAndSet(name, await store.get(name), next),
  ),
  fc.tuple(key, number, fc.option(number, { nil: undefined }), fc.boolean()).map(
    ([name, by, max, mustExist]): Step =>
      (store) =>
        store.increment(name, by, max === undefined ? { mustExist } : { max, mustExist }),
  ),
  // Which spelling of a number `get` gives is not promised.
  key.map((name): Step => async (store) => {
    const held = await store.get(name);
    return held === undefined || held === '' || Number.isNaN(Number(held))
      ? held
      : Number(held) + 0;
  }),
);

describe.skipIf(!redisPresent)('a state store in memory (skipped without redis-server)', () => {
  it('answers as one on Redis does, whatever is asked in whatever order', async () => {
    const server = await RedisServer.start();
    const redis = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
          await server.flush();
          const memory = new MemoryStateStore();
          for (const take of steps) {
            const [expected, found] = await Promise.allSettled([take(memory), take(redis)]);
            const shown = (result: PromiseSettledResult<unknown>) =>
              result.status === 'fulfilled'
                ? result.value
                : (result.reason as { code: string }).code;
            expect(shown(found)).toEqual(shown(expected));
          }
        }),
        { numRuns: 150 },
      );
    } finally {
      await redis.close();
      await server.stop();
    }
  });
});
