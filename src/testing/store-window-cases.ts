import assert from 'node:assert/strict';
import type { Increment } from '../state/state-store.js';
import { LONG_MS, type NamedRun } from './store-case.js';

function unmarked({ born: _, ...increment }: Increment): Increment {
  return increment;
}

/** The cases for what every state store counts within sliding windows. */
export const WINDOW_CASES: readonly NamedRun[] = [
  [
    'counts what was added during the last window, and nothing older',
    async (store, { advance }) => {
      const long = async (by: number) => unmarked(await store.increment('long', by, { max: 10, windowMs: LONG_MS }));
      assert.deepEqual(await store.increment('long', 1, { windowMs: LONG_MS, mustExist: true }), { applied: false, value: undefined });
      assert.deepEqual(await long(4), { applied: true, value: 4 });
      await advance(60);
      assert.deepEqual(await long(6), { applied: true, value: 10 });
      assert.deepEqual(await long(1), { applied: false, value: 10 });
      assert.deepEqual(await long(-0.5), { applied: true, value: 9.5 });
      const short = async (by: number) => unmarked(await store.increment('short', by, { max: 10, windowMs: 160 }));
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
        const add = async (by: number) => unmarked(await store.increment(`window ${windowMs}`, by, { max: 10, windowMs }));
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
        assert.deepEqual([both, third, fourth], [{ applied: true, value: 10 }, { applied: false, value: 10 }, { applied: true, value: 10 }]);
        return;
      }
      assert.fail('expected a machine that is less busy');
    },
  ],
  [
    'marks a window that began again otherwise, if it marks windows',
    async (store, { advance }) => {
      const add = async (windowMs: number) => (await store.increment('marked', 1, { windowMs })).born;
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
        const results = await Promise.all(Array.from({ length: 100 }, () => store.increment(key, 1, { max: 10, windowMs: LONG_MS })));
        assert.equal(results.filter(({ applied }) => applied).length, 10 - before);
      }
    },
  ],
];
