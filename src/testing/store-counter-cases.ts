import assert from 'node:assert/strict';
import type { Increment } from '../state/state-store.js';
import { LONG_MS, refused, type NamedRun } from './store-case.js';

function unmarked({ born: _, ...increment }: Increment): Increment {
  return increment;
}

/** The cases for what every state store counts, for good and within sliding windows. */
export const COUNTER_CASES: readonly NamedRun[] = [
  [
    'adds up what 100 add at once',
    async (store) => {
      // First under a new key, then under one that exists.
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
    'adds as JavaScript does',
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
    'never passes the largest sum, whoever adds at the same time',
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
    'refuses a sum that is no finite number',
    async (store) => {
      await store.increment('huge', Number.MAX_VALUE);
      assert.deepEqual(await store.increment('huge', Number.MAX_VALUE), {
        applied: false,
        value: Number.MAX_VALUE,
      });
    },
  ],
  [
    'adds only to what exists, if told so',
    async (store) => {
      assert.deepEqual(await store.increment('key', 1, { mustExist: true }), {
        applied: false,
        value: undefined,
      });
      assert.equal(await store.get('key'), undefined);
      await store.increment('key', 1);
      assert.deepEqual(await store.increment('key', 1, { mustExist: true }), {
        applied: true,
        value: 2,
      });
    },
  ],
  [
    'adds to numbers written as text, and refuses other text',
    async (store) => {
      for (const [index, text] of ['41', '-1.5', '1e3', '.5', '007'].entries()) {
        await store.compareAndSet(`number ${index}`, undefined, text);
        assert.deepEqual(await store.increment(`number ${index}`, 1), {
          applied: true,
          value: Number(text) + 1,
        });
      }
      for (const text of [
        '',
        'text',
        ' 1',
        '0x10',
        'Infinity',
        'nan',
        '1e999',
        '.',
        '1.2.3',
        '1,5',
        '1\0',
      ]) {
        await store.compareAndSet(`not ${text}`, undefined, text);
        await refused(() => store.increment(`not ${text}`, 1), 'INVALID_ARGUMENT');
        assert.equal(await store.get(`not ${text}`), text);
      }
    },
  ],
  [
    'keeps the lifetime of a number that is added to',
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
    'counts what was added during the last window, and nothing older',
    async (store, { advance }) => {
      const long = async (by: number) =>
        unmarked(await store.increment('long', by, { max: 10, windowMs: LONG_MS }));
      assert.deepEqual(await store.increment('long', 1, { windowMs: LONG_MS, mustExist: true }), {
        applied: false,
        value: undefined,
      });
      assert.deepEqual(await long(4), { applied: true, value: 4 });
      await advance(60);
      assert.deepEqual(await long(6), { applied: true, value: 10 });
      assert.deepEqual(await long(1), { applied: false, value: 10 });
      assert.deepEqual(await long(-0.5), { applied: true, value: 9.5 });
      const short = async (by: number) =>
        unmarked(await store.increment('short', by, { max: 10, windowMs: 160 }));
      assert.deepEqual(await short(10), { applied: true, value: 10 });
      await advance(200);
      assert.deepEqual(await short(0.1), { applied: true, value: 0.1 });
      await advance(200);
      assert.equal(await store.get('short'), undefined);
    },
  ],
  [
    'counts all that was added within the window, however late in it',
    async (store, { advance }) => {
      for (const windowMs of [800, 3_200, 12_800]) {
        const add = async (by: number) =>
          unmarked(await store.increment(`window ${windowMs}`, by, { max: 10, windowMs }));
        const first = (await store.now()).time;
        await add(5);
        await advance(0.6 * windowMs);
        const second = (await store.now()).time;
        const both = await add(5);
        await advance(0.3 * windowMs);
        const third = await add(1);
        const isInTime = (await store.now()).time - first < windowMs;
        await advance(0.3 * windowMs);
        const fourth = await add(5);
        // On a busy machine more time may pass than was asked for: then once more, with a longer window.
        if (!isInTime || (await store.now()).time - second >= windowMs) continue;
        assert.deepEqual(
          [both, third, fourth],
          [
            { applied: true, value: 10 },
            { applied: false, value: 10 },
            { applied: true, value: 10 },
          ],
        );
        return;
      }
      assert.fail('expected a machine that is less busy');
    },
  ],
  [
    'marks a window that began again otherwise, if it marks windows',
    async (store, { advance }) => {
      const add = async (windowMs: number) =>
        (await store.increment('marked', 1, { windowMs })).born;
      const first = await add(LONG_MS);
      if (first === undefined) return;
      assert.equal(await add(LONG_MS), first);
      assert.equal((await store.increment('marked', 1, { windowMs: LONG_MS, max: 0 })).born, first);
      assert.equal(await store.expire('marked', 40), true);
      await advance(60);
      assert.notEqual(await add(LONG_MS), first);
    },
  ],
  [
    'never lets more into a window than its limit, whoever adds at the same time',
    async (store) => {
      for (const before of [0, 4]) {
        const key = `window after ${before}`;
        if (before > 0) await store.increment(key, before, { windowMs: LONG_MS });
        const results = await Promise.all(
          Array.from({ length: 100 }, () =>
            store.increment(key, 1, { max: 10, windowMs: LONG_MS }),
          ),
        );
        assert.equal(results.filter(({ applied }) => applied).length, 10 - before);
      }
    },
  ],
];
