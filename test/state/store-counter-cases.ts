import assert from 'node:assert/strict';
import { LONG_MS, refused, type NamedRun } from './store-case.js';

/** The cases for counters, with and without windows. */
export const COUNTER_CASES: readonly NamedRun[] = [
  [
    'adds up 100 concurrent additions',
    async (store) => {
      // The first round has a new key, and the second round an existing key.
      for (const before of [0, 100]) {
        const sums = await Promise.all(
          Array.from({ length: 100 }, () => store.increment('count', 1)),
        );
        assert.deepEqual(
          sums.map(({ value }) => value).sort((a, b) => a! - b!),
          Array.from({ length: 100 }, (_, index) => before + index + 1),
        );
        assert.equal(Number(await store.get('count')), before + 100);
      }
    },
  ],
  [
    'adds numbers like JavaScript',
    async (store) => {
      const numbers = [
        0.1,
        0.2,
        -0.3,
        1e-7,
        1e21,
        -1e21,
        1 / 3,
        5e-324,
        9_007_199_254_740_991,
        2,
        -0,
        123_456_789.123_456_79,
      ];
      let sum = 0;
      for (const number of numbers) {
        sum += number;
        assert.deepEqual(await store.increment('sum', number), { applied: true, value: sum });
        assert.equal(Number(await store.get('sum')), sum);
      }
    },
  ],
  [
    'never exceeds the maximum, even with concurrent additions',
    async (store) => {
      const results = await Promise.all(
        Array.from({ length: 100 }, () => store.increment('budget', 0.5, { max: 10 })),
      );
      assert.equal(results.filter(({ applied }) => applied).length, 20);
      assert.ok(results.every(({ value }) => value! <= 10));
      assert.deepEqual(await store.increment('budget', 0.5, { max: 10 }), {
        applied: false,
        value: 10,
      });
      assert.deepEqual(await store.increment('budget', -1, { max: 10 }), {
        applied: true,
        value: 9,
      });
      assert.deepEqual(await store.increment('new', 11, { max: 10 }), {
        applied: false,
        value: undefined,
      });
      assert.equal(await store.get('new'), undefined);
      assert.deepEqual(await store.increment('zero', 0, { max: 0 }), { applied: true, value: 0 });
    },
  ],
  [
    "rejects a sum that isn't a finite number",
    async (store) => {
      await store.increment('huge', Number.MAX_VALUE);
      assert.deepEqual(await store.increment('huge', Number.MAX_VALUE), {
        applied: false,
        value: Number.MAX_VALUE,
      });
    },
  ],
  [
    'adds to numbers stored as text, and rejects other text',
    async (store) => {
      for (const [index, text] of ['41', '-1.5', '1e3', '.5', '007'].entries()) {
        await store.compareAndSet(`number ${index}`, undefined, text);
        assert.deepEqual(await store.increment(`number ${index}`, 1), {
          applied: true,
          value: Number(text) + 1,
        });
      }
      for (const text of ['', 'text', 'Infinity', 'nan', '1e999', '.', '1.2.3', '1,5']) {
        await store.compareAndSet(`not ${text}`, undefined, text);
        await refused(() => store.increment(`not ${text}`, 1), 'INVALID_ARGUMENT');
        assert.equal(await store.get(`not ${text}`), text);
      }
    },
  ],
  [
    'keeps the lifetime of a number when adding to it',
    async (store, { advance }) => {
      await store.increment('short', 1, { ttlMs: 1_000 });
      await store.increment('short', 1, { ttlMs: LONG_MS });
      await store.increment('for good', 1);
      await store.increment('for good', 1, { ttlMs: 40 });
      await advance(1_020);
      assert.equal(await store.get('short'), undefined);
      assert.deepEqual(await store.increment('for good', 1), { applied: true, value: 3 });
    },
  ],
  [
    'counts within a window that starts with the first addition',
    async (store, { advance }) => {
      const add = (by: number) => store.increment('window', by, { max: 10, windowMs: 1_000 });
      assert.deepEqual(await add(4), { applied: true, value: 4 });
      await advance(60);
      assert.deepEqual(await add(6), { applied: true, value: 10 });
      assert.deepEqual(await add(1), { applied: false, value: 10 });
      await advance(960);
      assert.equal(await store.get('window'), undefined);
      assert.deepEqual(await add(1), { applied: true, value: 1 });
    },
  ],
  [
    'never exceeds the limit of a window, even with concurrent additions',
    async (store) => {
      const results = await Promise.all(
        Array.from({ length: 100 }, () =>
          store.increment('window', 1, { max: 10, windowMs: LONG_MS }),
        ),
      );
      assert.equal(results.filter(({ applied }) => applied).length, 10);
    },
  ],
];
