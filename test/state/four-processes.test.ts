import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisStateStore } from '../../src/state.js';
import { RedisServer, redisPresent, warnIfNoRedis } from './redis-server.js';
import { DEADLINE_MS, program, ROOT } from '../programs.js';

warnIfNoRedis('several processes on one Redis');

const run = promisify(execFile);

/** Returns what the child script prints. Fails if the script doesn't end by itself. */
async function child<T>(...args: readonly string[]): Promise<T> {
  const { stdout } = await run(process.execPath, [program('test/state/state-child.ts'), ...args], {
    cwd: ROOT,
    timeout: DEADLINE_MS,
  });
  return JSON.parse(stdout) as T;
}

describe.skipIf(!redisPresent)(
  'processes that share a Redis (skipped without redis-server)',
  () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await RedisServer.start();
    });
    afterAll(() => server.stop());

    it('one process wins each round, sums are exact, and limits are never exceeded', async () => {
      interface Work {
        readonly won: readonly number[];
        readonly applied: number;
        readonly highest: number;
      }
      const results = await Promise.all(
        ['a', 'b', 'c', 'd'].map((name) => child<Work>('work', server.url, name)),
      );
      const won = results.flatMap((result) => result.won);
      expect(won.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, round) => round));
      expect(results.reduce((sum, { applied }) => sum + applied, 0)).toBe(777);
      expect(Math.max(...results.map(({ highest }) => highest))).toBe(777);
      const store = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
      expect(Number(await store.get('sum'))).toBe(4 * 500 * 0.25);
      expect(Number(await store.get('limited'))).toBe(777);
      await store.close();
    });

    it('processes exit on their own after close(), even without a Redis', async () => {
      expect(await child('close', server.url)).toEqual({ available: true });
      const gone = await RedisServer.start();
      await gone.stop();
      expect(await child('close', gone.url)).toEqual({ available: false });
    });
  },
);
