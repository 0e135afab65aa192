import assert from 'node:assert/strict';
import { CHANNEL_CASES } from './store-channel-cases.js';
import { eventually, LONG_MS, refused, type NamedRun, type StateStoreCase } from './store-case.js';
import { WINDOW_CASES } from './store-window-cases.js';

export type { StateStoreCase, StateStoreTools } from './store-case.js';

/**
 * Returns the promises that every `StateStore` must keep, for any test runner: `for (const { name, run } of
 * stateStoreCases()) it(name, () => run(makeStore(), tools))`.
 *
 * Each case needs a store of its own without any keys.
 */
export function stateStoreCases(): readonly StateStoreCase[] {
  return [...CASES, ...WINDOW_CASES, ...CHANNEL_CASES].map(([name, run]) => Object.freeze({ name, run }));
}

const KEYS = ['__proto__', 'constructor', 'toString', 'a b', 'a:b:c', ':', '*', '{x}', 'Ünïcödé 🗝️ 鍵', 'line\nbreak\0nul', 'k'.repeat(512)];
const MIB = 1_048_576;

const CASES: readonly NamedRun[] = [
  [
    'holds nothing at first',
    async (store) => {
      for (const key of KEYS) assert.equal(await store.get(key), undefined);
    },
  ],
  [
    'writes if the key holds what is expected, and only then',
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
    'tells an empty text from nothing',
    async (store) => {
      assert.equal(await store.compareAndSet('key', '', 'a'), false);
      assert.equal(await store.compareAndSet('key', undefined, ''), true);
      assert.equal(await store.get('key'), '');
      assert.equal(await store.compareAndSet('key', undefined, 'a'), false);
      assert.equal(await store.compareAndSet('key', '', 'a'), true);
    },
  ],
  [
    'removes a key that holds what is expected',
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
    'lets exactly one of 100 writers at once win',
    async (store) => {
      for (const expected of [undefined, 'first'] as const) {
        const key = `race ${expected}`;
        if (expected !== undefined) await store.compareAndSet(key, undefined, expected);
        const won = await Promise.all(Array.from({ length: 100 }, (_, writer) => store.compareAndSet(key, expected, `writer ${writer}`)));
        assert.deepEqual(won.filter(Boolean), [true]);
        assert.equal(await store.get(key), `writer ${won.indexOf(true)}`);
      }
    },
  ],
  [
    'adds up what 100 add at once',
    async (store) => {
      // First under a new key, then under one that exists.
      for (const before of [0, 100]) {
        const sums = await Promise.all(Array.from({ length: 100 }, () => store.increment('count', 1)));
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
      const numbers = [0.1, 0.2, -0.3, 1e-7, 1e21, -1e21, 1 / 3, 5e-324, 9_007_199_254_740_991, 2, -0, 123_456_789.123_456_79];
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
      const results = await Promise.all(Array.from({ length: 100 }, () => store.increment('budget', 0.5, { max: 10 })));
      assert.equal(results.filter(({ applied }) => applied).length, 20);
      assert.ok(results.every(({ value }) => value! <= 10));
      assert.deepEqual(await store.increment('budget', 0.5, { max: 10 }), { applied: false, value: 10 });
      assert.deepEqual(await store.increment('budget', -1, { max: 10 }), { applied: true, value: 9 });
      assert.deepEqual(await store.increment('new', 11, { max: 10 }), { applied: false, value: undefined });
      assert.equal(await store.get('new'), undefined);
      assert.deepEqual(await store.increment('zero', 0, { max: 0 }), { applied: true, value: 0 });
    },
  ],
  [
    'refuses a sum that is no finite number',
    async (store) => {
      await store.increment('huge', Number.MAX_VALUE);
      assert.deepEqual(await store.increment('huge', Number.MAX_VALUE), { applied: false, value: Number.MAX_VALUE });
    },
  ],
  [
    'adds only to what exists, if told so',
    async (store) => {
      assert.deepEqual(await store.increment('key', 1, { mustExist: true }), { applied: false, value: undefined });
      assert.equal(await store.get('key'), undefined);
      await store.increment('key', 1);
      assert.deepEqual(await store.increment('key', 1, { mustExist: true }), { applied: true, value: 2 });
    },
  ],
  [
    'adds to numbers written as text, and refuses other text',
    async (store) => {
      for (const [index, text] of ['41', '-1.5', '1e3', '.5', '007'].entries()) {
        await store.compareAndSet(`number ${index}`, undefined, text);
        assert.deepEqual(await store.increment(`number ${index}`, 1), { applied: true, value: Number(text) + 1 });
      }
      for (const text of ['', 'text', ' 1', '0x10', 'Infinity', 'nan', '1e999', '.', '1.2.3', '1,5', '1\0']) {
        await store.compareAndSet(`not ${text}`, undefined, text);
        await refused(() => store.increment(`not ${text}`, 1), 'INVALID_ARGUMENT');
        assert.equal(await store.get(`not ${text}`), text);
      }
    },
  ],
  [
    'forgets a text when its time is over',
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
    'gives each new text its own lifetime',
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
    'changes the lifetime of what exists',
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
    'leaves a key its lifetime, if told so',
    async (store, { advance }) => {
      await store.compareAndSet('short', undefined, 'a', { ttlMs: 1_000 });
      assert.equal(await store.compareAndSet('short', 'a', 'b', { ttlMs: 'keep' }), true);
      await store.compareAndSet('for good', undefined, 'a', { ttlMs: 'keep' });
      await advance(1_020);
      assert.equal(await store.get('short'), undefined);
      assert.equal(await store.get('for good'), 'a');
    },
  ],
  [
    'tells its time and an identity that stays',
    async (store, { advance }) => {
      const before = await store.now();
      await advance(60);
      const after = await store.now();
      assert.ok(Number.isFinite(before.time) && after.time - before.time >= 40, `${before.time} then ${after.time}`);
      assert.ok(before.identity !== '');
      assert.equal(after.identity, before.identity);
    },
  ],
  [
    'writes for its own identity, and refuses to for another',
    async (store) => {
      const { identity } = await store.now();
      assert.equal(await store.compareAndSet('text', undefined, 'a', { identity }), true);
      assert.deepEqual(await store.increment('count', 1, { identity }), { applied: true, value: 1 });
      assert.equal((await store.increment('window', 1, { identity, windowMs: LONG_MS })).value, 1);
      assert.equal(await store.append('list', 'a', { max: 2, identity }), 1);
      const other = { identity: `not ${identity}` };
      for (const write of [
        () => store.compareAndSet('text', 'a', 'b', other),
        () => store.increment('count', 1, other),
        () => store.increment('window', 1, { ...other, windowMs: LONG_MS }),
        () => store.append('list', 'b', { max: 2, ...other }),
      ]) {
        const error = await refused(write, 'STATE_UNAVAILABLE');
        assert.equal(error.details['reason'], 'restarted');
        assert.equal(error.details['sent'], false);
      }
      assert.equal(await store.get('text'), 'a');
      assert.equal(await store.get('count'), '1');
      assert.equal((await store.increment('window', 0, { windowMs: LONG_MS })).value, 1);
      assert.deepEqual(await store.read('list'), ['a']);
    },
  ],
  [
    'lists the keys that begin with a prefix',
    async (store, { advance }) => {
      const keys = ['a*:1', 'a*:2', 'a*:[x]', 'a*:Ünïcödé 🗝️'];
      for (const key of [...keys, 'ab:1', 'a', 'a*', 'b:a*:1']) await store.compareAndSet(key, undefined, 'x');
      await store.compareAndSet('a*:short', undefined, 'x', { ttlMs: 40 });
      await store.append('a*:list', 'x', { max: 1 });
      await advance(60);
      assert.deepEqual(await store.list('a*:'), [...keys, 'a*:list'].sort());
      assert.equal((await store.list('a*:', 2)).length, 2);
      assert.deepEqual(await store.list('nothing:'), []);
      for (let index = 0; index < 300; index += 1) await store.increment(`many:${index}`, 1);
      assert.equal((await store.list('many:')).length, 300);
      for (const limit of [0, 10_001, 1.5]) await refused(() => store.list('a', limit), 'INVALID_ARGUMENT');
      await refused(() => store.list(''), 'INVALID_ARGUMENT');
    },
  ],
  [
    'appends to a list up to its bound, and reads it from any item',
    async (store, { advance }) => {
      assert.deepEqual(await store.read('list'), []);
      for (let item = 0; item < 120; item += 1) assert.equal(await store.append('list', `item ${item}`, { max: 120, at: item }), item + 1);
      assert.equal(await store.append('list', 'one more', { max: 120 }), undefined);
      assert.equal(await store.append('list', 'at the wrong place', { max: 1_000, at: 119 }), undefined);
      assert.equal((await store.read('list')).length, 100);
      assert.deepEqual(await store.read('list', { from: 118, limit: 1_000 }), ['item 118', 'item 119']);
      assert.deepEqual(await store.read('list', { from: 200 }), []);
      assert.equal(await store.append('short', 'a', { max: 2, ttlMs: 40 }), 1);
      assert.equal(await store.append('short', 'b', { max: 2 }), 2);
      await advance(60);
      assert.deepEqual(await store.read('short'), []);
      assert.equal(await store.expire('list', 40), true);
      await advance(60);
      assert.deepEqual(await store.read('list'), []);
    },
  ],
  [
    'lets exactly one of 100 that append at the same place win',
    async (store) => {
      for (const at of [0, 1]) {
        const won = await Promise.all(Array.from({ length: 100 }, (_, writer) => store.append('list', `writer ${writer}`, { at, max: 10 })));
        assert.deepEqual(won.filter((length) => length !== undefined), [at + 1]);
        assert.deepEqual(await store.read('list', { from: at }), [`writer ${won.indexOf(at + 1)}`]);
      }
    },
  ],
  [
    'tells lists from texts',
    async (store) => {
      await store.append('list', 'a', { max: 1 });
      await store.compareAndSet('text', undefined, 'a');
      await refused(() => store.get('list'), 'INVALID_ARGUMENT');
      await refused(() => store.compareAndSet('list', undefined, 'a'), 'INVALID_ARGUMENT');
      await refused(() => store.increment('list', 1), 'INVALID_ARGUMENT');
      await refused(() => store.increment('list', 1, { windowMs: LONG_MS }), 'INVALID_ARGUMENT');
      await refused(() => store.increment('text', 1, { windowMs: LONG_MS }), 'INVALID_ARGUMENT');
      await refused(() => store.append('text', 'a', { max: 1 }), 'INVALID_ARGUMENT');
      await refused(() => store.read('text'), 'INVALID_ARGUMENT');
      assert.deepEqual(await store.read('list'), ['a']);
      assert.equal(await store.get('text'), 'a');
    },
  ],
  [
    'takes any text as key, value, channel and message',
    async (store) => {
      for (const key of KEYS) assert.equal(await store.compareAndSet(key, undefined, key), true, key);
      for (const key of KEYS) assert.equal(await store.get(key), key);
      const heard: string[] = [];
      for (const key of KEYS) await store.subscribe(key, (message) => void heard.push(`${key} ${message}`));
      for (const key of KEYS) await store.publish(key, key);
      await eventually(() => heard.length === KEYS.length, 'all channels are heard');
      assert.deepEqual(
        heard,
        KEYS.map((key) => `${key} ${key}`),
      );
    },
  ],
  [
    'takes a value of 1 MiB, and refuses more before anything happens',
    async (store) => {
      const largest = 'ä'.repeat(MIB / 2);
      assert.equal(await store.compareAndSet('large', undefined, largest), true);
      assert.equal(await store.get('large'), largest);
      await refused(() => store.compareAndSet('large', largest, `${largest}a`), 'LIMIT_EXCEEDED');
      await refused(() => store.compareAndSet('larger', undefined, `${largest}a`), 'LIMIT_EXCEEDED');
      await refused(() => store.publish('channel', `${largest}a`), 'LIMIT_EXCEEDED');
      await refused(() => store.get('k'.repeat(513)), 'LIMIT_EXCEEDED');
      assert.equal(await store.get('large'), largest);
      assert.equal(await store.get('larger'), undefined);
    },
  ],
  [
    'refuses what is no text, no number and no option',
    async (store) => {
      const anything = (value: unknown) => value as never;
      for (const key of ['', undefined, 1, null, {}, '\ud800']) await refused(() => store.get(anything(key)), 'INVALID_ARGUMENT');
      for (const by of [NaN, Infinity, '1', undefined]) await refused(() => store.increment('key', anything(by)), 'INVALID_ARGUMENT');
      for (const ttlMs of [0, -1, NaN, Infinity, '1']) {
        await refused(() => store.expire('key', anything(ttlMs)), 'INVALID_ARGUMENT');
        await refused(() => store.compareAndSet('key', undefined, 'a', { ttlMs: anything(ttlMs) }), 'INVALID_ARGUMENT');
        await refused(() => store.increment('key', 1, { ttlMs: anything(ttlMs) }), 'INVALID_ARGUMENT');
      }
      for (const value of [null, 1, {}, 'half \udc00']) await refused(() => store.compareAndSet('key', undefined, anything(value)), 'INVALID_ARGUMENT');
      await refused(() => store.increment('key', 1, { max: NaN }), 'INVALID_ARGUMENT');
      await refused(() => store.increment('key', 1, { mustExist: anything('yes') }), 'INVALID_ARGUMENT');
      await refused(() => store.increment('key', 1, anything({ ttl: 1 })), 'INVALID_ARGUMENT');
      await refused(() => store.increment('key', 1, { ttlMs: 1, windowMs: 1 }), 'INVALID_ARGUMENT');
      for (const options of [undefined, {}, { max: 0 }, { max: 10_001 }, { max: 1, at: -1 }, { max: 1, size: 1 }]) await refused(() => store.append('key', 'a', anything(options)), 'INVALID_ARGUMENT');
      for (const options of [{ from: -1 }, { limit: 0 }, { limit: 1_001 }, { to: 1 }]) await refused(() => store.read('key', anything(options)), 'INVALID_ARGUMENT');
      await refused(() => store.append('key', anything(1), { max: 1 }), 'INVALID_ARGUMENT');
      await refused(() => store.compareAndSet('key', undefined, 'a', anything({ ttl: 1 })), 'INVALID_ARGUMENT');
      await refused(() => store.subscribe('channel', anything('listener')), 'INVALID_ARGUMENT');
      assert.equal(await store.get('key'), undefined);
    },
  ],
];
