import { afterAll, beforeAll, describe, it } from 'vitest';
import { MemoryStateStore, RedisStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';
import { RedisServer, redisPresent, warnIfNoRedis } from './redis-server.js';
import { stateStoreCases } from './state-store-cases.js';

describe('MemoryStateStore', () => {
  for (const { name, run } of stateStoreCases()) {
    it(name, async () => {
      const clock = new ManualClock();
      await run(new MemoryStateStore({ clock }), { advance: (ms) => clock.advanceAsync(ms) });
    });
  }
});

warnIfNoRedis('state store on Redis');

describe.skipIf(!redisPresent)('RedisStateStore (skipped without redis-server)', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  // Redis has its own clock, so real time must pass. The cases wait at the same time, each under its own
  // prefix.
  for (const { name, run } of stateStoreCases())
    it.concurrent(name, async () => {
      const store = await RedisStateStore.connect({
        url: server.url,
        prefix: `${name}:`,
        timeoutMs: 10_000,
      });
      try {
        await run(store, { advance: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) });
      } finally {
        await store.close();
      }
    });
});
