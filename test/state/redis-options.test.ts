import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisStateStore, type RedisStateStoreOptions } from '../../src/state.js';
import { RedisServer, eventually, redisPresent, warnIfNoRedis } from './redis-server.js';

warnIfNoRedis('options of a store on Redis');

describe('options of a store on Redis', () => {
  const url = 'redis://127.0.0.1:1';
  it.each<[string, unknown]>([
    ['neither address nor client', {}],
    ['both address and client', { url, client: createClient() }],
    ['no address', { url: 'localhost' }],
    ['an address of another kind', { url: 'http://localhost' }],
    ['a database that is no number', { url: 'redis://localhost/name' }],
    ['something that is no client', { client: {} }],
    ['an unknown option', { url, timeout: 1 }],
    ['an unknown option named like a part of every object', { url, constructor: 1 }],
    ['a prefix that is no text', { url, prefix: 1 }],
    ['a long prefix', { url, prefix: 'p'.repeat(129) }],
    ['no time', { url, timeoutMs: 0 }],
    ['a time that is no number', { url, timeoutMs: NaN }],
    ['no options', undefined],
    ['an identity that is no text', { url, identity: 1 }],
  ])('RedisStateStore refuses %s', async (_, options) => {
    await expect(RedisStateStore.connect(options as RedisStateStoreOptions)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('passing a client instead of options is refused with advice', async () => {
    const advice = {
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('RedisStateStore.connect({ client })') as string,
    };
    await expect(RedisStateStore.connect(createClient() as never)).rejects.toMatchObject(advice);
    const Constructor = RedisStateStore as unknown as new (client: unknown) => unknown;
    expect(() => new Constructor(createClient())).toThrow(expect.objectContaining(advice));
  });

  it("errors don't repeat the URL, which can contain a password", async () => {
    const error: unknown = await RedisStateStore.connect({
      url: 'http://user:secret@localhost',
    }).catch((caught: unknown) => caught);
    expect(JSON.stringify([String(error), error])).not.toContain('secret');
  });
});

describe.skipIf(!redisPresent)('a store on Redis (skipped without redis-server)', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  it("a given client's settings are used, but not its connection", async () => {
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

  it('keys with different prefixes are kept apart', async () => {
    const [one, other] = [
      await RedisStateStore.connect({ url: server.url, prefix: 'one:', timeoutMs: 10_000 }),
      await RedisStateStore.connect({ url: server.url, prefix: 'other:', timeoutMs: 10_000 }),
    ];
    await one.compareAndSet('key', undefined, 'a');
    expect(await other.get('key')).toBeUndefined();
    await Promise.all([one.close(), other.close()]);
  });

  it("a wrong password makes the store unavailable without being shown, until it's right", async () => {
    await server.command('CONFIG', 'SET', 'requirepass', 'right');
    const store = await RedisStateStore.connect({
      url: `redis://:wrong-secret@127.0.0.1:${server.port}`,
    });
    const none = await RedisStateStore.connect({ url: server.url });
    const error: unknown = await store.get('key').catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: expect.stringContaining('WRONGPASS') as string,
    });
    expect(JSON.stringify([String(error), error])).not.toContain('wrong-secret');
    await expect(none.get('key')).rejects.toMatchObject({
      message: expect.stringContaining('NOAUTH') as string,
    });
    const right = await RedisStateStore.connect({ url: `redis://:right@127.0.0.1:${server.port}` });
    expect(right.available).toBe(true);
    await right.close();
    await server.restart();
    await eventually(() => none.available, 'the store is there');
    await Promise.all([store.close(), none.close()]);
  });
});
