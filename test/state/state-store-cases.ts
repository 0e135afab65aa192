import assert from 'node:assert/strict';
import { LONG_MS, refused, type NamedRun, type StateStoreCase } from './store-case.js';
import { COUNTER_CASES } from './store-counter-cases.js';

/** Returns the promises that every `StateStore` keeps. Each case needs its own empty store. */
export function stateStoreCases(): readonly StateStoreCase[] {
  return [...CASES, ...COUNTER_CASES].map(([name, run]) => Object.freeze({ name, run }));
}

const KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'a b',
  'a:b:c',
  ':',
  '*',
  '{x}',
  'Ünïcödé 🗝️ 鍵',
  'line\nbreak\0nul',
  'k'.repeat(512),
];
const MIB = 1_048_576;

const CASES: readonly NamedRun[] = [
  [
    'is empty at first',
    async (store) => {
      for (const key of KEYS) assert.equal(await store.get(key), undefined);
    },
  ],
  [
    'writes only if the key has the expected value',
    async (store) => {
      assert.equal(await store.compareAndSet('key', 'a', 'b'), false);
      assert.equal(await store.get('key'), undefined);
      assert.equal(await store.compareAndSet('key', undefined, 'a'), true);
      assert.equal(await store.compareAndSet('key', undefined, 'b'), false);
      assert.equal(await store.compareAndSet('key', 'A', 'b'), false);
      assert.equal(await store.get('key'), 'a');
      assert.equal(await store.compareAndSet('key', 'a', 'b'), true);
      assert.equal(await store.get('key'), 'b');
    },
  ],
  [
    'distinguishes an empty string from a missing key',
    async (store) => {
      assert.equal(await store.compareAndSet('key', '', 'a'), false);
      assert.equal(await store.compareAndSet('key', undefined, ''), true);
      assert.equal(await store.get('key'), '');
      assert.equal(await store.compareAndSet('key', undefined, 'a'), false);
      assert.equal(await store.compareAndSet('key', '', 'a'), true);
    },
  ],
  [
    'removes a key that has the expected value',
    async (store) => {
      await store.compareAndSet('key', undefined, 'a');
      assert.equal(await store.compareAndSet('key', 'b', undefined), false);
      assert.equal(await store.get('key'), 'a');
      assert.equal(await store.compareAndSet('key', 'a', undefined), true);
      assert.equal(await store.get('key'), undefined);
      assert.equal(await store.compareAndSet('key', undefined, undefined), true);
    },
  ],
  [
    'lets exactly one of 100 concurrent writers win',
    async (store) => {
      for (const expected of [undefined, 'first'] as const) {
        const key = `race ${expected}`;
        if (expected !== undefined) await store.compareAndSet(key, undefined, expected);
        const won = await Promise.all(
          Array.from({ length: 100 }, (_, writer) =>
            store.compareAndSet(key, expected, `writer ${writer}`),
          ),
        );
        assert.deepEqual(won.filter(Boolean), [true]);
        assert.equal(await store.get(key), `writer ${won.indexOf(true)}`);
      }
    },
  ],
  [
    'drops a value when its lifetime ends',
    async (store, { advance }) => {
      await store.compareAndSet('short', undefined, 'a', { ttlMs: 40 });
      await store.compareAndSet('long', undefined, 'a', { ttlMs: LONG_MS });
      await store.compareAndSet('for good', undefined, 'a');
      await advance(60);
      assert.equal(await store.get('short'), undefined);
      assert.equal(await store.compareAndSet('short', undefined, 'b'), true);
      assert.equal(await store.get('long'), 'a');
      assert.equal(await store.get('for good'), 'a');
    },
  ],
  [
    'gives each new value its own lifetime',
    async (store, { advance }) => {
      await store.compareAndSet('shorter', undefined, 'a', { ttlMs: LONG_MS });
      await store.compareAndSet('shorter', 'a', 'a', { ttlMs: 40 });
      await store.compareAndSet('for good', undefined, 'a', { ttlMs: 1_000 });
      await store.compareAndSet('for good', 'a', 'b');
      await advance(1_020);
      assert.equal(await store.get('shorter'), undefined);
      assert.equal(await store.get('for good'), 'b');
    },
  ],
  [
    'changes the lifetime of existing keys only',
    async (store, { advance }) => {
      assert.equal(await store.expire('key', 40), false);
      await store.compareAndSet('key', undefined, 'a');
      assert.equal(await store.expire('key', LONG_MS), true);
      assert.equal(await store.expire('key', 40), true);
      await advance(60);
      assert.equal(await store.get('key'), undefined);
      assert.equal(await store.expire('key', 40), false);
    },
  ],
  [
    'keeps a key\'s lifetime if ttlMs is "keep"',
    async (store, { advance }) => {
      await store.compareAndSet('short', undefined, 'a', { ttlMs: 1_000 });
      assert.equal(await store.compareAndSet('short', 'a', 'b', { ttlMs: 'keep' }), true);
      await store.compareAndSet('for good', undefined, 'a', { ttlMs: 'keep' });
      await store.append('list', 'a', { max: 2, ttlMs: 1_000 });
      await advance(1_020);
      assert.equal(await store.get('short'), undefined);
      assert.equal(await store.get('for good'), 'a');
      assert.equal(await store.compareAndSet('short', undefined, 'c', { ttlMs: 'keep' }), true);
      assert.equal(await store.get('short'), 'c');
      await store.append('list', 'b', { max: 2 });
      assert.deepEqual(await store.read('list'), ['b']);
    },
  ],
  [
    "returns the current time and an identity that doesn't change",
    async (store, { advance }) => {
      const before = await store.now();
      await advance(60);
      const after = await store.now();
      assert.ok(
        Number.isFinite(before.time) && after.time - before.time >= 40,
        `${before.time} then ${after.time}`,
      );
      assert.ok(before.identity !== '');
      assert.equal(after.identity, before.identity);
    },
  ],
  [
    'accepts writes for its own identity and rejects writes for another',
    async (store) => {
      const { identity } = await store.now();
      assert.equal(await store.compareAndSet('text', undefined, 'a', { identity }), true);
      assert.deepEqual(await store.increment('count', 1, { identity }), {
        applied: true,
        value: 1,
      });
      assert.equal((await store.increment('window', 1, { identity, windowMs: LONG_MS })).value, 1);
      const other = { identity: `not ${identity}` };
      for (const write of [
        () => store.compareAndSet('text', 'a', 'b', other),
        () => store.increment('count', 1, other),
        () => store.increment('window', 1, { ...other, windowMs: LONG_MS }),
      ]) {
        const error = await refused(write, 'STATE_UNAVAILABLE');
        assert.equal(error.details['reason'], 'restarted');
        assert.equal(error.details['sent'], false);
      }
      assert.equal(await store.get('text'), 'a');
      assert.equal(await store.get('count'), '1');
      assert.equal((await store.increment('window', 0, { windowMs: LONG_MS })).value, 1);
    },
  ],
  [
    'keeps the newest items of a list, which can be read from any position',
    async (store, { advance }) => {
      assert.deepEqual(await store.read('list'), []);
      for (let item = 0; item < 120; item += 1)
        await store.append('list', `item ${item}`, { max: 120 });
      assert.equal((await store.read('list')).length, 100);
      assert.deepEqual(await store.read('list', { from: 118, limit: 1_000 }), [
        'item 118',
        'item 119',
      ]);
      assert.deepEqual(await store.read('list', { from: 200 }), []);
      await store.append('list', 'one more', { max: 120 });
      assert.deepEqual(await store.read('list', { limit: 1 }), ['item 1']);
      assert.deepEqual(await store.read('list', { from: 119 }), ['one more']);
      await store.append('list', 'fewer', { max: 2 });
      assert.deepEqual(await store.read('list'), ['one more', 'fewer']);
      await store.append('short', 'a', { max: 2, ttlMs: 1_000 });
      await store.append('short', 'b', { max: 2 });
      await advance(1_020);
      assert.deepEqual(await store.read('short'), []);
      assert.equal(await store.expire('list', 40), true);
      await advance(60);
      assert.deepEqual(await store.read('list'), []);
    },
  ],
  [
    'keeps an index sorted, which can be read from both ends and from any text',
    async (store, { advance }) => {
      assert.deepEqual(await store.pageOfIndex('index'), []);
      for (const member of ['c', 'a', 'e', 'b', 'd', 'c'])
        assert.equal(await store.addToIndex('index', member), true);
      assert.deepEqual(await store.pageOfIndex('index'), ['a', 'b', 'c', 'd', 'e']);
      assert.deepEqual(await store.pageOfIndex('index', { limit: 2 }), ['a', 'b']);
      assert.deepEqual(await store.pageOfIndex('index', { after: 'b', limit: 2 }), ['c', 'd']);
      assert.deepEqual(await store.pageOfIndex('index', { reverse: true, limit: 2 }), ['e', 'd']);
      assert.equal(await store.removeFromIndex('index', 'd'), true);
      assert.equal(await store.removeFromIndex('index', 'd'), false);
      assert.deepEqual(await store.pageOfIndex('index', { after: 'd' }), ['e']);
      assert.deepEqual(await store.pageOfIndex('index', { reverse: true, after: 'd' }), [
        'c',
        'b',
        'a',
      ]);
      await store.addToIndex('short', 'a', { ttlMs: 1_000 });
      await store.addToIndex('short', 'b');
      await advance(1_020);
      assert.deepEqual(await store.pageOfIndex('short'), []);
    },
  ],
  [
    'adds no more members to an index than its maximum, even with concurrent additions',
    async (store) => {
      const added = await Promise.all(
        Array.from({ length: 100 }, (_, at) => store.addToIndex('index', `${at}`, { max: 10 })),
      );
      assert.equal(added.filter(Boolean).length, 10);
      const [known] = await store.pageOfIndex('index');
      assert.equal(await store.addToIndex('index', known!, { max: 10 }), true);
      assert.equal(await store.removeFromIndex('index', known!), true);
      assert.equal(await store.addToIndex('index', 'new', { max: 10 }), true);
    },
  ],
  [
    'rejects list operations on text, and text operations on lists',
    async (store) => {
      await store.append('list', 'a', { max: 1 });
      await store.compareAndSet('text', undefined, 'a');
      await refused(() => store.get('list'), 'INVALID_ARGUMENT');
      await refused(() => store.compareAndSet('list', undefined, 'a'), 'INVALID_ARGUMENT');
      await refused(() => store.increment('list', 1), 'INVALID_ARGUMENT');
      await refused(() => store.append('text', 'a', { max: 1 }), 'INVALID_ARGUMENT');
      await refused(() => store.read('text'), 'INVALID_ARGUMENT');
      await refused(() => store.pageOfIndex('text'), 'INVALID_ARGUMENT');
      await refused(() => store.addToIndex('list', 'a'), 'INVALID_ARGUMENT');
      assert.deepEqual(await store.read('list'), ['a']);
      assert.equal(await store.get('text'), 'a');
    },
  ],
  [
    'accepts any text as key and value',
    async (store) => {
      for (const key of KEYS)
        assert.equal(await store.compareAndSet(key, undefined, key), true, key);
      for (const key of KEYS) assert.equal(await store.get(key), key);
    },
  ],
  [
    'accepts a value of 1 MiB and rejects a larger value without changing anything',
    async (store) => {
      const largest = 'ä'.repeat(MIB / 2);
      assert.equal(await store.compareAndSet('large', undefined, largest), true);
      assert.equal(await store.get('large'), largest);
      await refused(() => store.compareAndSet('large', largest, `${largest}a`), 'LIMIT_EXCEEDED');
      await refused(
        () => store.compareAndSet('larger', undefined, `${largest}a`),
        'LIMIT_EXCEEDED',
      );
      await refused(() => store.get('k'.repeat(513)), 'LIMIT_EXCEEDED');
      await refused(() => store.append('list', `${largest}a`, { max: 1 }), 'LIMIT_EXCEEDED');
      for (const text of ['half \udc00', '\ud800'])
        await refused(() => store.compareAndSet('half', undefined, text), 'INVALID_ARGUMENT');
      await refused(() => store.get(''), 'INVALID_ARGUMENT');
      await refused(() => store.get('\ud800'), 'INVALID_ARGUMENT');
      assert.equal(await store.get('large'), largest);
      assert.equal(await store.get('larger'), undefined);
    },
  ],
  [
    'rejects every operation after close(), which can be called twice',
    async (store) => {
      await store.close();
      await store.close();
      await refused(() => store.get('key'), 'STATE_UNAVAILABLE');
      await refused(() => store.compareAndSet('key', undefined, 'a'), 'STATE_UNAVAILABLE');
      await refused(() => store.increment('key', 1), 'STATE_UNAVAILABLE');
      await refused(() => store.expire('key', 1), 'STATE_UNAVAILABLE');
      await refused(() => store.append('list', 'item', { max: 1 }), 'STATE_UNAVAILABLE');
    },
  ],
];
