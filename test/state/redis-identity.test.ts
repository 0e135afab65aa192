import { afterEach, describe, expect, it } from 'vitest';
import { RedisStateStore, type RedisStateStoreOptions } from '../../src/state.js';
import { FaultProxy } from './fault-proxy.js';
import { RedisServer, eventually, redisPresent, warnIfNoRedis } from './redis-server.js';

warnIfNoRedis('identity of Redis');

const RESTARTED = { code: 'STATE_UNAVAILABLE', details: { reason: 'restarted', sent: false } };
describe.skipIf(!redisPresent)(
  'identity of a Redis store after a restart (skipped without redis-server)',
  () => {
    const ends: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    });

    async function startRedis(...settings: readonly string[]): Promise<RedisServer> {
      const server = await RedisServer.start(...settings);
      ends.push(() => server.stop());
      return server;
    }

    async function connect(options: RedisStateStoreOptions): Promise<RedisStateStore> {
      const store = await RedisStateStore.connect({ timeoutMs: 10_000, ...options });
      ends.push(() => store.close());
      return store;
    }

    /** Expects writes bound to an identity to be refused, and existing data to stay. */
    async function expectRefused(store: RedisStateStore, identity: string): Promise<void> {
      const before = await store.get('ticket');
      await expect(
        store.compareAndSet('ticket', before, 'taken', { identity }),
      ).rejects.toMatchObject(RESTARTED);
      await expect(store.increment('spent', 1, { identity })).rejects.toMatchObject(RESTARTED);
      await expect(
        store.increment('window', 1, { identity, windowMs: 1_000 }),
      ).rejects.toMatchObject(RESTARTED);
      expect(await store.get('ticket')).toBe(before);
      expect(await store.get('spent')).toBeUndefined();
    }

    it('rejects writes for the old identity after Redis restores an older snapshot', async () => {
      const server = await startRedis();
      const store = await connect({ url: server.url });
      const { identity } = await store.now();
      await store.compareAndSet('ticket', undefined, 'free', { identity });
      await server.command('SAVE');
      await store.compareAndSet('ticket', 'free', 'taken', { identity });
      await server.restart();
      await eventually(() => store.available, 'the store is back');
      expect(await store.get('ticket')).toBe('free');
      await expectRefused(store, identity);
      const after = await store.now();
      expect(after.identity).not.toBe(identity);
      expect(
        await store.compareAndSet('ticket', 'free', 'taken', { identity: after.identity }),
      ).toBe(true);
    });

    it.each([
      ['an append-only file', ['--appendonly', 'yes', '--appendfsync', 'always']],
      ['no persistence', []],
    ])('rejects writes for the old identity after a restart with %s', async (_, settings) => {
      const server = await startRedis(...settings);
      const store = await connect({ url: server.url });
      const { identity } = await store.now();
      await store.compareAndSet('ticket', undefined, 'free', { identity });
      await server.restart();
      await eventually(() => store.available, 'the store is back');
      expect(await store.get('ticket')).toBe(settings.length > 0 ? 'free' : undefined);
      await expectRefused(store, identity);
    });

    it('accepts writes after a restart if the operator set an identity', async () => {
      const server = await startRedis('--appendonly', 'yes', '--appendfsync', 'always');
      const store = await connect({ url: server.url, identity: 'ours' });
      const { identity } = await store.now();
      expect(identity).toBe('ours');
      await store.compareAndSet('ticket', undefined, 'free', { identity });
      await server.restart();
      await eventually(() => store.available, 'the store is back');
      expect((await store.now()).identity).toBe(identity);
      expect(await store.compareAndSet('ticket', 'free', 'taken', { identity })).toBe(true);
    });

    it('rejects writes for the old identity after a failover to a replica', async () => {
      const master = await startRedis();
      const replica = await startRedis('--replicaof', '127.0.0.1', String(master.port));
      const proxy = await FaultProxy.start(master.port);
      ends.push(() => proxy.stop());
      const store = await connect({ url: proxy.url });
      const { identity } = await store.now();
      await store.compareAndSet('ticket', undefined, 'free', { identity });
      await eventually(
        async () => (await replica.command('GET', 'tooldex:ticket')) === '$4',
        'the replica has the ticket',
      );
      await replica.command('REPLICAOF', 'NO', 'ONE');
      await master.kill();
      proxy.targetPort = replica.port;
      await eventually(
        async () => (await store.now()).identity !== identity,
        'the replica answers',
      );
      expect(await store.get('ticket')).toBe('free');
      await expectRefused(store, identity);
    });

    it('is unknown if the Redis user may not run INFO, unless the operator set an identity', async () => {
      const server = await startRedis();
      await server.command(
        'ACL',
        'SETUSER',
        'plain',
        'on',
        '>word',
        '~*',
        '&*',
        '+@all',
        '-info',
        '-config',
      );
      const url = `redis://plain:word@127.0.0.1:${server.port}`;
      const store = await connect({ url });
      await expect(store.now()).rejects.toMatchObject({
        code: 'STATE_UNAVAILABLE',
        message: expect.stringContaining('identity:'),
        details: { reason: 'no_identity' },
      });
      await expect(store.increment('spent', 1, { identity: 'any' })).rejects.toMatchObject(
        RESTARTED,
      );
      expect(await store.increment('health', 1)).toEqual({ applied: true, value: 1 });
      const named = await connect({ url, identity: 'ours' });
      const { identity } = await named.now();
      expect(await named.increment('spent', 1, { identity })).toEqual({ applied: true, value: 1 });
      await expect(named.increment('spent', 1, { identity: 'theirs' })).rejects.toMatchObject(
        RESTARTED,
      );
    });
  },
);
