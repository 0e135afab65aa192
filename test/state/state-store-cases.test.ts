import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryStateStore, RedisStateStore } from '../../src/state.js';
import { ManualClock, seededRandom, stateStoreCases } from '../../src/testing.js';
import { FlakyStore } from './flaky-store.js';
import { RedisServer, redisPresent, warnIfNoRedis } from './redis-server.js';

describe('a state store in memory', () => {
  for (const { name, run } of stateStoreCases()) {
    it(name, async () => {
      const clock = new ManualClock();
      await run(new MemoryStateStore({ clock }), { advance: (ms) => clock.advanceAsync(ms) });
    });
  }
});

describe('a state store in memory that often fails, and is asked again', () => {
  let lost = 0;
  afterAll(() => expect(lost).toBeGreaterThan(100));

  for (const [seed, { name, run }] of stateStoreCases().entries()) {
    it(name, async () => {
      const clock = new ManualClock();
      const store = new FlakyStore(new MemoryStateStore({ clock }), seededRandom(seed));
      await run(store, { advance: (ms) => clock.advanceAsync(ms) });
      lost += store.lost;
    });
  }
});

warnIfNoRedis('state store on Redis');

describe.skipIf(!redisPresent)('a state store on Redis (skipped without redis-server)', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  for (const [title, wrap] of [
    ['', (store: RedisStateStore) => store],
    [', often failing', (store: RedisStateStore) => new FlakyStore(store, seededRandom(1))],
  ] as const)
    for (const { name, run } of stateStoreCases()) {
      it(`${name}${title}`, async () => {
        await server.flush();
        // What is asked here is what it answers, not how soon on a busy machine.
        const store = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
        try {
          // Redis has its own clock, so that its time must really pass.
          await run(wrap(store), {
            advance: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
          });
        } finally {
          await store.close();
        }
      });
    }
});
