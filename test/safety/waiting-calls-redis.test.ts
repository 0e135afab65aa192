import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PendingApproval } from '../../src/safety/calls.js';
import { Signer } from '../../src/safety/signer.js';
import { WaitingCalls } from '../../src/safety/waiting-calls.js';
import type { StateStore } from '../../src/state.js';
import { RedisStateStore } from '../../src/state/redis/redis-state-store.js';
import { waitingCallsOfAnotherProcess } from './another-process.js';
import { eventually, redisPresent, RedisServer, warnIfNoRedis } from '../state/redis-server.js';

const CALL = {
  callId: '1',
  toolName: 'write_file',
  definitionDigest: 'digest',
  principal: 'ada',
  input: { path: 'a' },
};
const signer = new Signer(randomBytes(32));

warnIfNoRedis('approvals in Redis');

describe.skipIf(!redisPresent)('approvals in Redis', () => {
  let server: RedisServer;
  let store: RedisStateStore;
  let waiting: WaitingCalls;
  beforeAll(async () => {
    server = await RedisServer.start();
    store = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
    waiting = new WaitingCalls(store, signer);
  });
  afterAll(async () => {
    await store.close();
    await server.stop();
  });

  const available = () => eventually(() => store.available, 'the store is back');
  let calls = 0;
  const granted = async (by = waiting, of: StateStore = store): Promise<PendingApproval> => {
    const call = { ...CALL, callId: `${calls++}` };
    const { time: createdAt, identity: storeIdentity } = await of.now();
    const pending: PendingApproval = {
      ...{ kind: 'approval', id: by.idFor(call, 'approval', createdAt), ...call },
      ...{ danger: 'medium', reason: 'it writes', rule: 'axes' },
      ...{ createdAt, expiresAt: createdAt + 600_000, storeIdentity },
    };
    await by.ask({ pending });
    await by.approve(pending);
    return pending;
  };

  it('rejects earlier approvals after Redis restores an older snapshot, unless the store has an identity', async () => {
    const [first, second, untouched] = [await granted(), await granted(), await granted()];
    const trusting = await RedisStateStore.connect({
      url: server.url,
      timeoutMs: 10_000,
      identity: 'ours',
    });
    const trusted = new WaitingCalls(trusting, signer);
    const kept = await granted(trusted, trusting);
    await server.command('SAVE');
    await waiting.use(first);
    await server.restart();
    await available();
    await eventually(() => trusting.available, 'the other store is back');
    for (const each of [first, second, untouched]) {
      for (const by of [waiting, new (await waitingCallsOfAnotherProcess())(store, signer)])
        await expect(by.use(each)).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
    }
    await trusted.use(kept);
    await waiting.use(await granted());
    await trusting.close();
  });

  it("an approval is rejected while Redis doesn't respond, and can be used at most once after Redis is back", async () => {
    const hasty = await RedisStateStore.connect({ url: server.url });
    const pending = await granted();
    server.pause();
    try {
      await expect(new WaitingCalls(hasty, signer).use(pending)).rejects.toMatchObject({
        code: 'STATE_UNAVAILABLE',
      });
    } finally {
      server.resume();
    }
    await available();
    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, () => waiting.use(pending)),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
    await hasty.close();
  });
});
