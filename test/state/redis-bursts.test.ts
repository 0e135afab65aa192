import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisStateStore } from '../../src/state.js';
import { eventually, RedisServer, redisPresent, warnIfNoRedis } from './redis-server.js';

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
      const store = await RedisStateStore.connect({ url: server.url, timeoutMs: 1_500 });
      await eventually(() => store.available, 'the store is available');
      const changes: boolean[] = [];
      store.onAvailability((available) => changes.push(available));
      const answer = store.get('key');
      // The command is written first. Then this process is busy until Redis has answered, but for less
      // than three times the timeout, after which the connection counts as dead.
      await new Promise((resolve) => setImmediate(resolve));
      const end = performance.now() + 1_600;
      while (performance.now() < end || !hasAnsweredGet(server));
      expect(await answer).toBeUndefined();
      expect(changes).toEqual([]);
      await store.close();
    });
  },
);

/** Asks Redis in a separate process, so this process stays busy. */
function hasAnsweredGet({ port }: RedisServer): boolean {
  const counts = execFileSync('redis-cli', ['-p', String(port), 'INFO', 'commandstats']);
  return counts.includes('cmdstat_get:');
}
