import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ProviderRouter, SharedHealth } from '../../src/providers.js';
import { RedisStateStore } from '../../src/state.js';
import { FakeProvider } from '../../src/testing/fake-provider.js';
import { eventually, RedisServer, redisPresent, warnIfNoRedis } from '../state/redis-server.js';
import { DEADLINE_MS, program, ROOT } from '../programs.js';

warnIfNoRedis('providers of several processes on one Redis');

const run = promisify(execFile);

async function child<T>(...args: readonly string[]): Promise<T> {
  const { stdout } = await run(
    process.execPath,
    [program('test/providers/router-child.ts'), ...args],
    { cwd: ROOT, timeout: DEADLINE_MS },
  );
  return JSON.parse(stdout) as T;
}

describe.skipIf(!redisPresent)('four processes on one Redis (skipped without redis-server)', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());
  beforeEach(() => server.flush());

  it('make exactly one probe of a provider whose backoff has ended, and all return to it', async () => {
    const results = await Promise.all(
      Array.from({ length: 4 }, () =>
        child<{ before: number; probes: number }>('probe', server.url),
      ),
    );
    expect(results.map(({ before }) => before)).toEqual([1, 1, 1, 1]);
    expect(results.reduce((sum, { probes }) => sum + probes, 0)).toBe(1);
  });

  it('count 10,000 calls each, exactly', async () => {
    const results = await Promise.all(Array.from({ length: 4 }, () => child('health', server.url)));
    expect(results).toEqual(
      Array.from({ length: 4 }, () => ({ total: 40_000, success: 36_000, failure: 4_000 })),
    );
  });

  it('go on while Redis is killed, and agree again soon after it is back', async () => {
    const stores = [
      await RedisStateStore.connect({ url: server.url }),
      await RedisStateStore.connect({ url: server.url }),
    ];
    await eventually(() => stores.every((store) => store.available), 'the stores are available');
    const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b')];
    const providers = ['a', 'b'].map((name) => ({ name, healthCheckIntervalMs: 0 }));
    const routers = stores.map(
      (store) =>
        new ProviderRouter({
          toolName: 'search',
          providers,
          factories: { a: a.factory, b: b.factory },
          store,
          random: () => 1,
          baseMs: 60_000,
        }),
    );
    const healths = stores.map((store) => new SharedHealth({ store }));
    const call = (router: ProviderRouter) => router.call({}, {}, { repeatable: true });
    for (const router of routers) await call(router);
    await server.kill();
    a.fails();
    expect(await call(routers[0]!)).toMatchObject({ provider: 'b' });
    for (const health of healths)
      for (let index = 0; index < 500; index += 1)
        health.record({ kind: 'tool', name: 'search', success: true, latencyMs: 1 });
    expect(routers[1]!.snapshot()[0]!.state).toBe('available');
    await server.restart();
    await eventually(
      () => routers[1]!.snapshot()[0]!.state === 'backing-off',
      'the other has heard',
    );
    await eventually(
      () => healths.every((health) => health.lifetime('tool', 'search').total === 1_000),
      'the counts are exact',
    );
    await Promise.all([...routers, ...healths].map((each) => each.close()));
    await Promise.all(stores.map((store) => store.close()));
  });
});
