import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RedisStateStore } from '../../src/state.js';
import type { ToolExecutor, ToolOutcome } from '../../src/index.js';
import { RedisServer, eventually, redisPresent, warnIfNoRedis } from '../state/redis-server.js';
import { brief, reader, setup, writer } from './fixtures/executor-setup.js';
import type { ChildTask } from './fixtures/redis-child.js';
import { systemClock } from '../../src/core/clock.js';
import { DEADLINE_MS, program, ROOT } from '../programs.js';

warnIfNoRedis('executors on one Redis');

const CHILD = 'test/execution/fixtures/redis-child.ts';
const KEY = '07'.repeat(32);

async function child<T>(task: ChildTask): Promise<T> {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [program(CHILD), JSON.stringify(task)],
    { cwd: ROOT, timeout: DEADLINE_MS },
  );
  expect(stderr).toBe('');
  return JSON.parse(stdout) as T;
}

let id = 0;
const call = (name: string, input: object = {}) => ({ id: `${id++}`, name, input });

describe.skipIf(!redisPresent)('executors in several processes that share a Redis', () => {
  let server: RedisServer;
  let store: RedisStateStore;
  let executor: ToolExecutor;
  let version: number;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    store = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
    await eventually(() => store.available, 'the store is available');
    version = 1;
    // The same definitions as in the child process, so both share approvals and cached answers.
    const extra = { description: 'Reads', category: 'notes' };
    ({ executor } = setup(
      [
        reader('read', () => 1, { ...extra, costPerCall: 0.5 }),
        reader('kept', () => version, { ...extra, cacheTtlMs: 60_000 }),
        writer('write', () => ++version, { description: 'Writes', category: 'notes' }),
      ],
      {
        store,
        clock: systemClock,
        approvalKey: Buffer.from(KEY, 'hex'),
        budgets: [{ per: 'conversation', calls: 1_000 }],
      },
    ));
  });
  afterEach(async () => {
    await executor.close();
    await store.close();
    await server.restart();
  });

  const approve = async (of: ReturnType<typeof call>) => {
    const held = await executor.execute(of);
    if (held.status !== 'approval_required')
      throw new Error(`expected approval_required, found ${brief(held)}`);
    return executor.approve(held.pending);
  };
  const back = () =>
    eventually(async () => {
      const outcome = await executor.execute(call('write'));
      return store.available && outcome.status === 'approval_required';
    }, 'the store is back');

  it("processes that share a Redis don't overspend a budget", async () => {
    const said = await Promise.all(
      [1, 2, 3, 4].map(() =>
        child<{ made: number; refused: number }>({
          task: 'budget',
          url: server.url,
          key: KEY,
          processes: 4,
        }),
      ),
    );
    expect(said.reduce((sum, { made }) => sum + made, 0)).toBe(80); // The budget is 40, and each call costs half a unit.
    expect(said.reduce((sum, { refused }) => sum + refused, 0)).toBe(160);
  });

  it('an approval lets exactly one call run across four processes', async () => {
    const of = call('write', { text: 'bread' });
    await approve(of);
    const said = await Promise.all(
      [1, 2, 3, 4].map(() =>
        child<{ written: number; refused: number }>({
          task: 'approval',
          url: server.url,
          key: KEY,
          processes: 4,
          call: of,
        }),
      ),
    );
    expect(said.reduce((sum, { written }) => sum + written, 0)).toBe(1);
    expect(said.reduce((sum, { refused }) => sum + refused, 0)).toBe(99);
  });

  async function expectOutage(): Promise<void> {
    const outcomes: ToolOutcome[] = await Promise.all(
      ['read', 'write'].map((name) => executor.execute(call(name))),
    );
    expect(outcomes.map(brief)).toEqual(['error STATE_UNAVAILABLE', 'error STATE_UNAVAILABLE']);
  }

  it.each([
    ['killed and started again', () => server.kill(), () => server.restart()],
    ['stopped and continued', async () => server.pause(), async () => server.resume()],
  ])(
    'while Redis is %s, only calls that need Redis are rejected, and all calls work again afterwards',
    async (how, fail, mend) => {
      const free = setup(
        [
          reader('read', () => 1),
          reader('kept', () => version, { category: 'notes', cacheTtlMs: 60_000 }),
        ],
        { store, clock: systemClock },
      ).executor;
      const of = call('write');
      await approve(of);
      expect(brief(await free.execute(call('kept')))).toBe('ok 1');
      expect(brief(await executor.execute(call('read')))).toBe('ok 1');
      await fail();
      await expectOutage();
      expect(brief(await executor.execute(of))).toBe('error STATE_UNAVAILABLE');
      expect(version).toBe(1);
      expect(brief(await free.execute(call('read')))).toBe('ok 1');
      expect(brief(await free.execute(call('kept')))).toBe('ok 1');
      expect(await free.execute(call('kept'))).toMatchObject({ status: 'ok', cached: true });
      await mend();
      await back();
      if (how.startsWith('killed')) {
        // Redis came back empty, so the call needs a new approval and budgets start again.
        expect(brief(await executor.execute(call('read')))).toBe('ok 1');
        expect(brief(await executor.execute(of))).toBe('approval_required');
      }
      const again = call('write');
      await approve(again);
      expect(brief(await executor.execute(again))).toBe('ok 2');
      expect(brief(await executor.execute(again))).toBe('error INVALID_APPROVAL');
      expect(brief(await executor.execute(call('read')))).toBe('ok 1');
      expect((await executor.execute(call('kept'))).status).toBe('ok');
      expect((await executor.execute(call('kept'))).cached).toBe(true);
      await free.close();
    },
  );
});
