import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Approvals, type ApprovedCall } from '../../src/safety/approvals.js';
import type { Decision } from '../../src/safety/calls.js';
import { RedisStateStore } from '../../src/state/redis/redis-state-store.js';
import { approvalsOfAnotherProcess } from './another-process.js';
import { eventually, redisPresent, RedisServer, warnIfNoRedis } from '../state/redis-server.js';

const CALL: ApprovedCall = {
  callId: '1',
  toolName: 'write_file',
  definitionDigest: 'digest',
  principal: 'ada',
  input: { path: 'a' },
};
const DECISION: Decision = {
  verdict: 'confirm',
  reason: 'it writes',
  rule: 'axes',
  danger: 'medium',
};
const KEY = randomBytes(32);

warnIfNoRedis('approvals in Redis');

describe.skipIf(!redisPresent)('approvals in Redis', () => {
  let server: RedisServer;
  let store: RedisStateStore;
  let approvals: Approvals;
  beforeAll(async () => {
    server = await RedisServer.start();
    store = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
    approvals = new Approvals({ store, key: KEY });
  });
  afterAll(async () => {
    await store.close();
    await server.stop();
  });

  const available = () => eventually(() => store.available, 'the store is back');
  const granted = async () => approvals.grant(await approvals.request(CALL, DECISION));

  it('rejects earlier approvals after Redis restores an older snapshot, unless the store has an identity', async () => {
    const [first, second, untouched] = [await granted(), await granted(), await granted()];
    const trusting = await RedisStateStore.connect({
      url: server.url,
      timeoutMs: 10_000,
      identity: 'ours',
    });
    const trusted = new Approvals({ store: trusting, key: KEY });
    const kept = await trusted.grant(await trusted.request(CALL, DECISION));
    await server.command('SAVE');
    await approvals.redeem(first);
    await server.restart();
    await available();
    await eventually(() => trusting.available, 'the other store is back');
    for (const each of [first, second, untouched]) {
      for (const by of [approvals, new (await approvalsOfAnotherProcess())({ store, key: KEY })])
        await expect(by.redeem(each)).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
    }
    await trusted.redeem(kept);
    await approvals.redeem(await granted());
    await trusting.close();
  });

  it("an approval is rejected while Redis doesn't respond, and can be used at most once after Redis is back", async () => {
    const hasty = await RedisStateStore.connect({ url: server.url });
    const approval = await granted();
    server.pause();
    try {
      await expect(
        new Approvals({ store: hasty, key: KEY }).redeem(approval),
      ).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    } finally {
      server.resume();
    }
    await available();
    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, () => approvals.redeem(approval)),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
    await hasty.close();
  });
});
