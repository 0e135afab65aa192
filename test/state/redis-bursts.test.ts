import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisStateStore } from '../../src/state.js';
import { RedisServer, redisPresent, warnIfNoRedis } from './redis-server.js';

warnIfNoRedis('bursts of operations on Redis');

describe.skipIf(!redisPresent)(
  'a Redis store in a busy process (skipped without redis-server)',
  () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await RedisServer.start();
    });
    afterAll(() => server.stop());

    it('accepts an answer that arrived while the process was busy for longer than the timeout', async () => {
      const store = await RedisStateStore.connect({ url: server.url, timeoutMs: 100 });
      const changes: boolean[] = [];
      store.onAvailability((available) => changes.push(available));
      const answer = store.get('key');
      // The command is written first.
      await new Promise((resolve) => setImmediate(resolve));
      const end = performance.now() + 200;
      while (performance.now() < end);
      expect(await answer).toBeUndefined();
      expect(changes).toEqual([]);
      await store.close();
    });
  },
);
