import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisStateStore } from '../../src/state.js';
import { storeInTime } from '../../src/state/store-in-time.js';
import { systemClock } from '../../src/core/clock.js';
import { RedisServer, eventually, redisPresent, warnIfNoRedis } from './redis-server.js';

warnIfNoRedis('bursts of operations on Redis');

const MANY = 5_000;

/** Blocks the event loop of this process for 300 ms, again and again. @returns how to end it. */
function blockAgainAndAgain(): () => void {
  const block = (): void => {
    const end = performance.now() + 300;
    while (performance.now() < end);
    timer = setTimeout(block, 20);
  };
  let timer = setTimeout(block);
  return () => clearTimeout(timer);
}

describe.skipIf(!redisPresent)(
  'a store on Redis in a busy process (skipped without redis-server)',
  () => {
    let server: RedisServer;
    let redis: RedisStateStore;
    beforeAll(async () => {
      server = await RedisServer.start();
      redis = await RedisStateStore.connect({ url: server.url });
      await eventually(() => redis.available, 'the store is available');
    });
    afterAll(async () => {
      await redis.close();
      await server.stop();
    });

    it('answers 5,000 operations at once, each of which it does once', async () => {
      const changes: boolean[] = [];
      const stop = redis.onAvailability((available) => changes.push(available));
      const { identity } = await redis.now();
      const sums = await Promise.all(
        Array.from({ length: MANY }, () => redis.increment('burst', 1, { identity })),
      );
      expect(sums.map(({ value }) => value)).toEqual(
        Array.from({ length: MANY }, (_, index) => index + 1),
      );
      expect(changes).toEqual([]);
      stop();
    });

    it('sends 3,000 messages at once in their order, also when an operation before them takes two steps', async () => {
      await server.command('SCRIPT', 'FLUSH');
      const heard: number[] = [];
      const leave = await redis.subscribe('channel', (message) => heard.push(Number(message)));
      const messages = Array.from({ length: 3_000 }, (_, index) => index);
      await Promise.all([
        redis.increment('two steps', 1),
        ...messages.map((message) => redis.publish('channel', String(message))),
      ]);
      await eventually(() => heard.length === messages.length, 'all messages are heard');
      expect(heard).toEqual(messages);
      await leave();
    });

    it.each([
      ['as it is', (store: RedisStateStore) => store],
      ['held to its time', (store: RedisStateStore) => storeInTime(store, systemClock)],
    ])(
      'answers 5,000 operations at once while work blocks the event loop for 300 ms again and again (%s)',
      async (name, wrap) => {
        const store = wrap(redis);
        const changes: boolean[] = [];
        const stop = store.onAvailability((available) => changes.push(available));
        const free = blockAgainAndAgain();
        try {
          const tickets = Array.from(
            { length: MANY },
            (_, ticket) => `${name} ${ticket % (MANY / 2)}`,
          );
          const taken = await Promise.all(
            tickets.map((ticket) => store.compareAndSet(ticket, undefined, 'taken')),
          );
          expect(taken.filter(Boolean)).toHaveLength(MANY / 2);
        } finally {
          free();
          stop();
        }
        expect(changes).toEqual([]);
      },
    );
  },
);
