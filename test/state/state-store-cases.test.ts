import { afterAll, beforeAll, describe, it } from 'vitest';
import { MemoryStateStore, RedisStateStore } from '../../src/state.js';
import { ManualClock, stateStoreCases } from '../../src/testing.js';
import { RedisServer, redisPresent, warnIfNoRedis } from './redis-server.js';

describe('a state store in memory', () => {
  for (const { name, run } of stateStoreCases()) {
    it(name, async () => {
      const clock = new ManualClock();
      await run(new MemoryStateStore({ clock }), { advance: (ms) => clock.advanceAsync(ms) });
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

  for (const { name, run } of stateStoreCases()) {
    it(name, async () => {
      await server.flush();
      // What is asked here is what it answers, not how soon on a busy machine.
      const store = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
      try {
        // Redis has its own clock, so that its time must really pass.
        await run(store, { advance: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) });
      } finally {
        await store.close();
      }
    });
  }
});
