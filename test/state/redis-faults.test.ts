import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isToolError } from '../../src/core/errors.js';
import { RedisStateStore, type StateStore } from '../../src/state.js';
import { FaultProxy } from './fault-proxy.js';
import { RedisServer, eventually, redisPresent, warnIfNoRedis } from './redis-server.js';

warnIfNoRedis('faults of Redis');

/**
 * How long the store waits for an answer. The documented two seconds apply to the default timeout of one
 * second.
 */
const TIMEOUT_MS = 200;
/** The maximum time for all operations together. */
const PROMPT_MS = 2 * TIMEOUT_MS;

/**
 * Tries every operation of a store. Returns the outcomes and the longest time, which counts only while
 * this process was responsive.
 */
async function tryAll(
  store: StateStore,
): Promise<{ readonly codes: readonly string[]; readonly slowestMs: number }> {
  const operations = [
    () => store.get('key'),
    () => store.compareAndSet('key', undefined, 'a'),
    () => store.increment('count', 1),
    () => store.expire('key', 1_000),
    () => store.append('list', 'item', { max: 10 }),
  ];
  let slowestMs = 0;
  // On a busy machine this timer ticks late, so it counts less time.
  let listenedMs = 0;
  const ticks = setInterval(() => (listenedMs += 10), 10);
  const codes = await Promise.all(
    operations.map(async (operation) => {
      const code = await operation().then(
        () => 'done',
        (error: unknown) => (isToolError(error) ? error.code : `another error: ${String(error)}`),
      );
      slowestMs = Math.max(slowestMs, listenedMs);
      return code;
    }),
  );
  clearInterval(ticks);
  return { codes, slowestMs };
}

const REFUSED = Array.from({ length: 5 }, () => 'STATE_UNAVAILABLE');

describe.skipIf(!redisPresent)('a store when Redis fails (skipped without redis-server)', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let store: RedisStateStore;
  let changes: boolean[];

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    proxy = await FaultProxy.start(server.port);
    store = await RedisStateStore.connect({ url: proxy.url, timeoutMs: TIMEOUT_MS });
    await eventually(() => store.available, 'the store is available');
    changes = [];
    store.onAvailability((available) => changes.push(available));
  });
  afterEach(async () => {
    await store.close();
    await proxy.stop();
    await server.restart();
  });

  /**
   * Expects operations to settle quickly while Redis fails, to be refused after the first operation
   * without an answer, and to work again afterwards.
   */
  async function expectOutage(
    fail: () => void | Promise<void>,
    fix: () => void | Promise<void>,
  ): Promise<void> {
    await fail();
    const first = await tryAll(store);
    expect(first.slowestMs).toBeLessThan(PROMPT_MS);
    expect(first.codes).toEqual(REFUSED);
    expect(store.available).toBe(false);
    const second = await tryAll(store);
    expect(second.slowestMs).toBeLessThan(TIMEOUT_MS);
    expect(second.codes).toEqual(REFUSED);
    await fix();
    await expectReturn();
    expect(changes).toEqual([false, true]);
  }

  async function expectReturn(): Promise<void> {
    await eventually(() => store.available, 'the store is back');
    expect(await store.compareAndSet('back', undefined, 'yes')).toBe(true);
    expect(await store.get('back')).toBe('yes');
  }

  it('rejects operations promptly and recovers after Redis is killed and restarted', () =>
    expectOutage(
      () => server.kill(),
      () => server.restart(),
    ));

  it('rejects operations promptly and recovers after the Redis process is paused', () =>
    expectOutage(
      () => server.pause(),
      () => server.resume(),
    ));

  it('rejects operations promptly and recovers after Redis pauses its clients for a second', async () => {
    await server.command('CLIENT', 'PAUSE', '1000', 'ALL');
    const { codes, slowestMs } = await tryAll(store);
    expect(slowestMs).toBeLessThan(PROMPT_MS);
    expect(codes).toEqual(REFUSED);
    await eventually(() => store.available, 'the store is back');
    await expectReturn();
    expect(changes).toEqual([false, true]);
  });

  it('rejects operations promptly and recovers after the connection was slow', () =>
    expectOutage(
      () => void (proxy.delayMs = 500),
      () => void (proxy.delayMs = 0),
    ));

  it('rejects operations promptly and recovers after the network silently dropped all data', () =>
    expectOutage(
      () => void (proxy.silent = true),
      () => void (proxy.silent = false),
    ));

  it('rejects operations promptly and recovers after the network silently dropped its connections', () =>
    expectOutage(
      () => proxy.forgetClients(),
      () => undefined,
    ));

  it('recovers quickly after all connections are reset', async () => {
    proxy.cut();
    await eventually(() => changes.length > 0, 'the loss is noticed');
    await expectReturn();
    expect(changes).toEqual([false, true]);
  });

  it('gives each ticket to exactly one of two processes, even if the network fails', async () => {
    const otherProxy = await FaultProxy.start(server.port);
    const other = await RedisStateStore.connect({
      url: otherProxy.url,
      timeoutMs: TIMEOUT_MS,
    });
    const faults: readonly ((proxy: FaultProxy) => void)[] = [
      (at) => void (at.truncating = true),
      (at) => at.cut(),
      (at) => at.endToClients(),
      (at) => at.forgetClients(),
      (at) => void (at.delayMs = 20),
      (at) => void (at.delayMs = 0),
    ];
    const wins: number[] = [];
    const take = async (from: RedisStateStore, name: string, ticket: number): Promise<void> => {
      for (;;) {
        try {
          if (
            (await from.compareAndSet(`ticket ${ticket}`, undefined, name)) ||
            (await from.get(`ticket ${ticket}`)) === name
          )
            wins.push(ticket);
          return;
        } catch (error) {
          if (!isToolError(error, 'STATE_UNAVAILABLE')) throw error;
          await eventually(() => from.available, 'the store is back');
        }
      }
    };
    try {
      for (let ticket = 0; ticket < 60; ticket += 1) {
        if (ticket % 5 === 0)
          faults[(ticket / 5) % faults.length]!(ticket % 10 === 0 ? proxy : otherProxy);
        await Promise.all([take(store, 'one', ticket), take(other, 'other', ticket)]);
      }
    } finally {
      await other.close();
      await otherProxy.stop();
    }
    expect(wins).toEqual(Array.from({ length: 60 }, (_, ticket) => ticket));
  });

  it('is empty and keeps working after FLUSHALL', async () => {
    await store.increment('count', 5);
    await server.flush();
    expect(await store.get('count')).toBeUndefined();
    expect(await store.increment('count', 1)).toEqual({ applied: true, value: 1 });
    expect(changes).toEqual([]);
  });

  it('drops answers that arrive too late', async () => {
    await store.compareAndSet('early', undefined, 'early');
    server.pause();
    await expect(store.get('early')).rejects.toMatchObject({
      code: 'STATE_UNAVAILABLE',
      details: { reason: 'no_answer', sent: true },
    });
    server.resume();
    await eventually(() => store.available, 'the store is back');
    expect(await store.get('late')).toBeUndefined();
    expect(await store.get('early')).toBe('early');
  });

  it("reports that an operation didn't happen if it was never sent", async () => {
    await server.kill();
    await store.get('key').catch(() => undefined);
    await expect(store.increment('count', 1)).rejects.toMatchObject({
      code: 'STATE_UNAVAILABLE',
      details: { reason: 'not_connected', sent: false },
    });
  });

  it('starts without Redis and works once Redis is running', async () => {
    await server.kill();
    const early = await RedisStateStore.connect({ url: server.url });
    try {
      expect(early.available).toBe(false);
      await expect(early.get('key')).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
      await server.restart();
      await eventually(() => early.available, 'the store is there');
      expect(await early.get('key')).toBeUndefined();
    } finally {
      await early.close();
    }
  });

  it('reports the reason if Redis rejects an operation, and stays available', async () => {
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    await expect(store.increment('count', 1)).rejects.toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: expect.stringContaining('OOM'),
      details: { reason: 'refused' },
    });
    expect(store.available).toBe(true);
  });

  it('reconnects to find the new master after its master became a replica', async () => {
    const before = proxy.accepted;
    await server.command('REPLICAOF', '127.0.0.1', '1');
    await expect(store.compareAndSet('key', undefined, 'a')).rejects.toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: expect.stringContaining('READONLY'),
    });
    await eventually(() => proxy.accepted > before, 'a new connection is made');
    await server.command('REPLICAOF', 'NO', 'ONE');
    await expectReturn();
  });

  it('settles all waiting operations on close', async () => {
    server.pause();
    const waiting = tryAll(store);
    await store.close();
    expect((await waiting).codes).toEqual(REFUSED);
    server.resume();
  });
});
