import assert from 'node:assert/strict';
import type { StateStore } from '../state/state-store.js';

/** One promise of every state store. */
export interface StateStoreCase {
  readonly name: string;
  /** Rejects when the store, which must be empty at first, breaks the promise. */
  readonly run: (store: StateStore, tools: StateStoreTools) => Promise<void>;
}

export interface StateStoreTools {
  /** Lets at least so many milliseconds pass for the store. */
  readonly advance: (ms: number) => Promise<void>;
}

/**
 * What every `StateStore` must do, for any test runner: `for (const { name, run } of stateStoreCases()) it(name, () => run(makeStore(), tools))`.
 *
 * Each case needs a store of its own without any keys.
 */
export function stateStoreCases(): readonly StateStoreCase[] {
  return CASES.map(([name, run]) => Object.freeze({ name, run }));
}

type Run = StateStoreCase['run'];

const KEYS = ['__proto__', 'constructor', 'toString', 'a b', 'a:b:c', ':', '*', '{x}', 'Ünïcödé 🗝️ 鍵', 'line\nbreak\0nul', 'k'.repeat(512)];
const MIB = 1_048_576;
const LONG_MS = 3_600_000;

const CASES: readonly (readonly [string, Run])[] = [
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
      const sums = await Promise.all(Array.from({ length: 100 }, () => store.increment('count', 1)));
      assert.deepEqual(
        sums.map(({ value }) => value).sort((a, b) => a! - b!),
        Array.from({ length: 100 }, (_, index) => index + 1),
      );
      assert.equal(Number(await store.get('count')), 100);
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
      await refused(() => store.compareAndSet('key', undefined, 'a', anything({ ttl: 1 })), 'INVALID_ARGUMENT');
      await refused(() => store.subscribe('channel', anything('listener')), 'INVALID_ARGUMENT');
      assert.equal(await store.get('key'), undefined);
    },
  ],
  [
    'brings messages to all who listen to the channel, in the order they were sent',
    async (store) => {
      const first: string[] = [];
      const second: string[] = [];
      await store.subscribe('channel', (message) => void first.push(message));
      await store.subscribe('channel', (message) => void second.push(message));
      await store.subscribe('other', (message) => void first.push(`other ${message}`));
      const sent = Array.from({ length: 200 }, (_, index) => String(index));
      await Promise.all(sent.map((message) => store.publish('channel', message)));
      await eventually(() => first.length >= 200 && second.length >= 200, 'all messages are heard');
      assert.deepEqual(first, sent);
      assert.deepEqual(second, sent);
    },
  ],
  [
    'never calls a listener within publish',
    async (store) => {
      const order: string[] = [];
      await store.subscribe('channel', () => void order.push('heard'));
      const published = store.publish('channel', 'message');
      order.push('sent');
      await published;
      await eventually(() => order.length === 2, 'the message is heard');
      assert.deepEqual(order, ['sent', 'heard']);
    },
  ],
  [
    'stops telling a listener, and that one only',
    async (store) => {
      const heard: string[] = [];
      const listener = (message: string) => void heard.push(message);
      const stopFirst = await store.subscribe('channel', listener);
      const stopSecond = await store.subscribe('channel', listener);
      await stopFirst();
      await stopFirst();
      await store.publish('channel', 'one');
      await eventually(() => heard.length > 0, 'the second still listens');
      await stopSecond();
      await store.subscribe('channel', (message) => void heard.push(`later ${message}`));
      await store.publish('channel', 'two');
      await eventually(() => heard.length > 1, 'the third listens');
      assert.deepEqual(heard, ['one', 'later two']);
    },
  ],
  [
    'is not hurt by listeners that throw',
    async (store) => {
      const heard: string[] = [];
      await store.subscribe('channel', () => {
        throw new Error('listener');
      });
      await store.subscribe('channel', () => Promise.reject(new Error('async listener')) as unknown as void);
      await store.subscribe('channel', (message) => void heard.push(message));
      await store.publish('channel', 'one');
      await store.publish('channel', 'two');
      await eventually(() => heard.length === 2, 'the third listener hears both');
      assert.equal(await store.get('key'), undefined);
    },
  ],
  [
    'serves 1,000 channels',
    async (store) => {
      const channels = Array.from({ length: 1_000 }, (_, index) => `channel ${index}`);
      const heard = new Map<string, string>();
      const stops: (() => Promise<void>)[] = [];
      for (let start = 0; start < channels.length; start += 100) {
        stops.push(...(await Promise.all(channels.slice(start, start + 100).map((channel) => store.subscribe(channel, (message) => void heard.set(channel, message))))));
      }
      for (const channel of channels) await store.publish(channel, `to ${channel}`);
      await eventually(() => heard.size === channels.length, 'all channels are heard');
      assert.ok(channels.every((channel) => heard.get(channel) === `to ${channel}`));
      for (let start = 0; start < stops.length; start += 100) await Promise.all(stops.slice(start, start + 100).map((stop) => stop()));
    },
  ],
  [
    'refuses everything after it was closed, and may be closed twice',
    async (store) => {
      await store.subscribe('channel', () => undefined);
      await store.close();
      await store.close();
      await refused(() => store.get('key'), 'STATE_UNAVAILABLE');
      await refused(() => store.compareAndSet('key', undefined, 'a'), 'STATE_UNAVAILABLE');
      await refused(() => store.increment('key', 1), 'STATE_UNAVAILABLE');
      await refused(() => store.expire('key', 1), 'STATE_UNAVAILABLE');
      await refused(() => store.publish('channel', 'message'), 'STATE_UNAVAILABLE');
      await refused(() => store.subscribe('channel', () => undefined), 'STATE_UNAVAILABLE');
    },
  ],
];

async function refused(operation: () => Promise<unknown>, code: string): Promise<void> {
  await assert.rejects(operation, (error: unknown) => {
    assert.equal((error as { code?: unknown }).code, code, String(error));
    return true;
  });
}

/** Messages travel: waits until they have arrived, for at most ten seconds. */
async function eventually(isSo: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadline, `expected within 10 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
