import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisStateStore, type RedisStateStoreOptions } from '../../src/state.js';
import { RedisServer, eventually, redisPresent, warnIfNoRedis } from './redis-server.js';

warnIfNoRedis('options of a store on Redis');

describe('RedisStateStore options', () => {
  const url = 'redis://127.0.0.1:1';
  it.each<[string, unknown]>([
    ['neither a URL nor a client', {}],
    ['both a URL and a client', { url, client: createClient() }],
    ['an invalid URL', { url: 'localhost' }],
    ['a URL with another protocol', { url: 'http://localhost' }],
    ["a database that isn't a number", { url: 'redis://localhost/name' }],
    ["an object that isn't a client", { client: {} }],
    ['an unknown option', { url, timeout: 1 }],
    ['an unknown option named constructor', { url, constructor: 1 }],
    ["a prefix that isn't a string", { url, prefix: 1 }],
    ['a long prefix', { url, prefix: 'p'.repeat(129) }],
    ['a timeout of zero', { url, timeoutMs: 0 }],
    ['a timeout of NaN', { url, timeoutMs: NaN }],
    ['no options', undefined],
    ["an identity that isn't a string", { url, identity: 1 }],
  ])('throws for %s', async (_, options) => {
    await expect(RedisStateStore.connect(options as RedisStateStoreOptions)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('explains how to connect if a client is passed instead of options', async () => {
    const advice = {
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('RedisStateStore.connect({ client })'),
    };
    await expect(RedisStateStore.connect(createClient() as never)).rejects.toMatchObject(advice);
    const Constructor = RedisStateStore as unknown as new (client: unknown) => unknown;
    expect(() => new Constructor(createClient())).toThrow(expect.objectContaining(advice));
  });

  it('omits the URL from errors, because it can contain a password', async () => {
    const error: unknown = await RedisStateStore.connect({
      url: 'http://user:secret@localhost',
    }).catch((caught: unknown) => caught);
    expect(JSON.stringify([String(error), error])).not.toContain('secret');
  });
});

describe.skipIf(!redisPresent)('RedisStateStore (skipped without redis-server)', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  it("uses a client's settings, but opens its own connection", async () => {
    const client = createClient({ url: server.url, database: 3, RESP: 3, pingInterval: 5 });
    const store = await RedisStateStore.connect({ client, prefix: 'app:', timeoutMs: 10_000 });
    await store.compareAndSet('key', undefined, 'a');
    expect(client.isOpen).toBe(false);
    await client.connect();
    expect(await client.get('app:key')).toBe('a');
    await store.close();
    expect(await client.ping()).toBe('PONG');
    client.destroy();
  });

  it('keeps keys with different prefixes separate', async () => {
    const [one, other] = [
      await RedisStateStore.connect({ url: server.url, prefix: 'one:', timeoutMs: 10_000 }),
      await RedisStateStore.connect({ url: server.url, prefix: 'other:', timeoutMs: 10_000 }),
    ];
    await one.compareAndSet('key', undefined, 'a');
    expect(await other.get('key')).toBeUndefined();
    await Promise.all([one.close(), other.close()]);
  });

  it('is unavailable while the password is wrong, and never shows the password', async () => {
    await server.command('CONFIG', 'SET', 'requirepass', 'right');
    const store = await RedisStateStore.connect({
      url: `redis://:wrong-secret@127.0.0.1:${server.port}`,
      timeoutMs: 10_000,
    });
    const none = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
    const error: unknown = await store.get('key').catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: expect.stringContaining('WRONGPASS'),
    });
    expect(JSON.stringify([String(error), error])).not.toContain('wrong-secret');
    await expect(none.get('key')).rejects.toMatchObject({
      message: expect.stringContaining('NOAUTH'),
    });
    const right = await RedisStateStore.connect({
      url: `redis://:right@127.0.0.1:${server.port}`,
      timeoutMs: 10_000,
    });
    expect(right.available).toBe(true);
    await right.close();
    await server.restart();
    await eventually(() => none.available, 'the store is there');
    await Promise.all([store.close(), none.close()]);
  });
});
