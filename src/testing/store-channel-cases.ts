import assert from 'node:assert/strict';
import { eventually, refused, type NamedRun } from './store-case.js';

/** The cases of messages, and of a store that is closed. */
export const CHANNEL_CASES: readonly NamedRun[] = [
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
      const rejection = new Error('async listener');
      let unhandled = 0;
      const handle = (reason: unknown) => {
        if (reason !== rejection) throw reason;
        unhandled += 1;
      };
      // Without it such a rejection ends the process.
      process.on('unhandledRejection', handle);
      try {
        await store.subscribe('channel', () => Promise.reject(rejection) as unknown as void);
        await store.subscribe('channel', (message) => void heard.push(message));
        await store.publish('channel', 'one');
        await store.publish('channel', 'two');
        await eventually(() => heard.length === 2, 'the third listener hears both');
        assert.equal(await store.get('key'), undefined);
        await new Promise((resolve) => setTimeout(resolve, 1));
      } finally {
        process.off('unhandledRejection', handle);
      }
      assert.equal(unhandled, 0, 'the rejections of listeners are handled');
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
