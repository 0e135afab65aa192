import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isToolError } from '../../src/core/errors.js';
import { Approvals, type ApprovedCall } from '../../src/safety/approvals.js';
import type { Decision } from '../../src/safety/calls.js';
import { RedisStateStore } from '../../src/state/redis/redis-state-store.js';
import { approvalsOfAnotherProcess } from './another-process.js';
import { eventually, redisPresent, RedisServer, warnIfNoRedis } from '../state/redis-server.js';
import { program, ROOT } from '../programs.js';

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
const PROCESSES = 4;
const APPROVALS = 25;

warnIfNoRedis('approvals in several processes');

describe.skipIf(!redisPresent)('approvals in Redis', () => {
  let server: RedisServer;
  let store: RedisStateStore;
  let approvals: Approvals;
  beforeAll(async () => {
    server = await RedisServer.start();
    store = await RedisStateStore.connect({ url: server.url, timeoutMs: 2_000 });
    approvals = new Approvals({ store, key: KEY });
  });
  afterAll(async () => {
    await store.close();
    await server.stop();
  });

  const available = () => eventually(() => store.available, 'the store is back');
  const granted = async () => approvals.grant(await approvals.request(CALL, DECISION));

  it('are each used by exactly one of four processes', async () => {
    const texts = await Promise.all(
      Array.from({ length: APPROVALS }, async () => JSON.stringify(await granted())),
    );
    const started = Array.from({ length: PROCESSES }, () => {
      const child = spawn(
        process.execPath,
        [program('test/safety/redeem-approvals.ts'), server.url, KEY.toString('hex'), ...texts],
        { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] },
      );
      return {
        child,
        lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](),
        ended: once(child, 'exit'),
      };
    });
    for (const { lines } of started) expect((await lines.next()).value).toBe('ready');
    for (const { child } of started) child.stdin.write('go\n');
    const answers = await Promise.all(
      started.map(async ({ lines, ended }) => {
        const line = (await lines.next()).value as string;
        expect((await ended)[0]).toBe(0);
        return JSON.parse(line) as string[];
      }),
    );
    for (let at = 0; at < APPROVALS; at++)
      expect(answers.map((each) => each[at]).sort()).toEqual([
        ...Array.from({ length: PROCESSES - 1 }, () => 'INVALID_APPROVAL'),
        'redeemed',
      ]);
  });

  it('are refused when Redis was emptied after the yes, or before it', async () => {
    const pending = await approvals.request(CALL, DECISION);
    const approval = await granted();
    await server.flush();
    await expect(approvals.redeem(approval)).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
    await expect(approvals.grant(pending)).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
  });

  it('are refused while Redis is gone, and after it came back empty', async () => {
    const pending = await approvals.request(CALL, DECISION);
    const approval = await granted();
    await server.kill();
    for (const action of [
      () => approvals.redeem(approval),
      () => approvals.grant(pending),
      () => approvals.deny(pending),
      () => approvals.request(CALL, DECISION),
    ]) {
      const error: unknown = await action().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(isToolError(error, 'STATE_UNAVAILABLE')).toBe(true);
    }
    await server.restart();
    await available();
    await expect(approvals.redeem(approval)).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
    await approvals.redeem(await granted());
  });

  it('are not used when Redis comes back as it was before, and ask again; an identity that the operator gives keeps them', async () => {
    const [first, second, untouched] = [await granted(), await granted(), await granted()];
    const trusting = await RedisStateStore.connect({
      url: server.url,
      timeoutMs: 2_000,
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

  it('are each used exactly once when a thousand are at once', async () => {
    // A slow machine may take long for two thousand at once; how long is not the question here.
    const patient = await RedisStateStore.connect({ url: server.url, timeoutMs: 60_000 });
    const here = new Approvals({ store: patient, key: KEY });
    const there = new (await approvalsOfAnotherProcess())({ store: patient, key: KEY });
    const all = await Promise.all(
      Array.from({ length: 1_000 }, async () => here.grant(await here.request(CALL, DECISION))),
    );
    const answers = await Promise.all(
      all.map((approval) => Promise.allSettled([here.redeem(approval), there.redeem(approval)])),
    );
    await patient.close();
    expect(
      answers
        .map((pair) => pair.filter(({ status }) => status === 'fulfilled').length)
        .filter((uses) => uses !== 1),
    ).toEqual([]);
  });

  it('are refused when Redis stops in the middle, and used up at most once when it goes on', async () => {
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
