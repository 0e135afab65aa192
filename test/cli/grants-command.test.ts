import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { RedisStateStore } from '../../src/state.js';
import { redisPresent, RedisServer, warnIfNoRedis } from '../state/redis-server.js';
import { tooldex } from './command-line.js';

warnIfNoRedis('tooldex grants');

const grants = (...args: string[]) => tooldex(['grants', ...args]);

describe('tooldex grants', () => {
  it('explains which options it requires', async () => {
    expect(await grants('list')).toMatchObject({
      code: 2,
      err: expect.stringContaining('with --redis or TOOLDEX_REDIS_URL'),
    });
  });
});

describe.skipIf(!redisPresent)('tooldex grants with a Redis (skipped without redis-server)', () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await RedisServer.start()));
  afterAll(() => redis.stop());

  it('lists and revokes grants that users created in other processes', async () => {
    const registry = new ToolMetadataRegistry();
    registry.register(
      defineTool({
        name: 'put',
        description: 'Puts',
        inputSchema: {},
        accessMode: 'write',
        reads: [],
        sends: 'nowhere',
        execute: () => 1,
      }),
    );
    const store = await RedisStateStore.connect({ url: redis.url, timeoutMs: 10_000 });
    const executor = new ToolExecutor({ registry, store, confirm: () => ({ grant: { uses: 3 } }) });
    const run = async (id: string) =>
      (
        await executor.execute(
          { id, name: 'put' },
          { conversationId: 'talk', principal: 'ada\u001b[2J' },
        )
      ).status;
    expect([await run('1'), await run('2')]).toEqual(['ok', 'ok']);
    const shown = await grants('list', '--redis', redis.url);
    expect(shown).toMatchObject({
      code: 0,
      out: expect.stringMatching(/put +ada\[2J +1 of 3 .*conversation talk/),
    });
    const {
      grants: [grant],
    } = JSON.parse((await grants('list', '--json', '--redis', redis.url)).out) as {
      readonly grants: readonly { readonly id: string }[];
    };
    expect(await grants('revoke', '--redis', redis.url)).toMatchObject({ code: 2 });
    expect(await grants('revoke', 'x', grant!.id, '--redis', redis.url)).toMatchObject({
      code: 1,
      out: `unknown  x\nrevoked  ${grant!.id}\n`,
    });
    expect(await grants('list', '--redis', redis.url)).toMatchObject({
      code: 0,
      out: 'no grants\n',
    });
    expect(executor.metrics.approvals).toMatchObject({ asked: 1, coveredByGrants: 1 });
    expect(await run('3')).toBe('ok');
    expect(executor.metrics.approvals.asked).toBe(2);
    expect(await grants('revoke', '--all', '--redis', redis.url)).toMatchObject({ code: 0 });
    await executor.close();
    await store.close();
  });
});
