import { expect, it } from 'vitest';
import {
  fail,
  type Budget,
  type ExecuteOptions,
  type ToolExecutorOptions,
} from '../../src/index.js';
import { brief, reader, setup, writer } from './fixtures/executor-setup.js';
import { FailingStore } from './fixtures/failing-store.js';

let nextId = 0;
const call = (name = 'read', input: unknown = {}) => ({ id: `${nextId++}`, name, input });

function limited(
  budgets: readonly Budget[],
  options: Partial<ToolExecutorOptions> = {},
  extra: object = {},
) {
  let runs = 0;
  const made = setup([reader('read', () => ++runs, { costPerCall: 2, ...extra })], {
    budgets,
    ...options,
  });
  /** Returns the number of calls that the budget allows. */
  const callsMade = async (calls: number, context: ExecuteOptions = {}) => {
    let done = 0;
    for (let index = 0; index < calls; index++)
      if ((await made.executor.execute(call(), context)).status === 'ok') done++;
    return done;
  };
  return { ...made, callsMade, runs: () => runs };
}

it('a budget rejects further calls once its limit is reached and reports how much was spent', async () => {
  const { executor, callsMade, runs } = limited([{ per: 'principal', calls: 3 }]);
  expect(await callsMade(5, { principal: 'ada' })).toBe(3);
  expect(runs()).toBe(3);
  expect(await executor.execute(call(), { principal: 'ada' })).toMatchObject({
    status: 'error',
    code: 'BUDGET_EXCEEDED',
    attempts: 0,
    details: { per: 'principal', unit: 'calls', limit: 3, spent: 3, needed: 1 },
  });
});

it('each principal or conversation has its own budget', async () => {
  const { callsMade } = limited([{ per: 'principal', calls: 2 }]);
  expect([
    await callsMade(3, { principal: 'ada' }),
    await callsMade(3, { principal: 'eve' }),
  ]).toEqual([2, 2]);
  const conversations = limited([{ per: 'conversation', calls: 2 }]);
  expect([
    await conversations.callsMade(3, { principal: 'ada', conversationId: '1' }),
    await conversations.callsMade(3, { principal: 'eve', conversationId: '1' }),
    await conversations.callsMade(3, { principal: 'eve', conversationId: '2' }),
  ]).toEqual([2, 0, 2]);
});

it("principals with similar names don't share a budget", async () => {
  const { callsMade } = limited([{ per: 'principal', calls: 1 }]);
  for (const principal of [
    'a',
    'a:',
    ':a',
    'ever:a',
    'calls:ever:a',
    '__proto__',
    'constructor',
    'ä',
    'Ada',
    'x'.repeat(512),
    'x'.repeat(5_000),
    '\ud800',
  ])
    expect(await callsMade(2, { principal }), principal.slice(0, 20)).toBe(1);
});

it('a cost budget charges costPerCall, or a default for the cost tier', async () => {
  expect(await limited([{ per: 'principal', cost: 7 }]).callsMade(9)).toBe(3);
  for (const [costTier, calls] of [
    ['free', 20],
    ['low', 12],
    ['medium', 6],
    ['high', 4],
  ] as const) {
    const { executor } = setup([reader('read', () => 1, { costTier })], {
      budgets: [{ per: 'principal', cost: 12 }],
    });
    let made = 0;
    for (let index = 0; index < 20; index++)
      if ((await executor.execute(call())).status === 'ok') made++;
    expect(made, costTier).toBe(calls);
  }
  expect(await limited([{ per: 'principal', cost: 0 }], {}, { costPerCall: 0 }).callsMade(3)).toBe(
    3,
  );
});

it("a budget with calls left isn't charged when another budget is exhausted", async () => {
  const { executor, callsMade } = limited([
    { per: 'principal', calls: 4 },
    { per: 'conversation', calls: 1 },
  ]);
  expect(await callsMade(5, { principal: 'ada', conversationId: '1' })).toBe(1);
  for (const conversationId of ['2', '3', '4', '5'])
    await executor.execute(call(), { principal: 'ada', conversationId });
  expect(await executor.execute(call(), { principal: 'ada', conversationId: '6' })).toMatchObject({
    details: { per: 'principal', spent: 4 },
  });
});

it('a failed call is still charged', async () => {
  const { executor } = setup(
    [
      reader('throws', () => {
        throw new Error('x');
      }),
      reader('fails', () => fail('x')),
    ],
    { budgets: [{ per: 'principal', calls: 2 }], maxAttempts: 1 },
  );
  expect([
    brief(await executor.execute(call('throws'))),
    brief(await executor.execute(call('fails'))),
    brief(await executor.execute(call('fails'))),
  ]).toEqual(['error EXECUTION_FAILED', 'error EXECUTION_FAILED', 'error BUDGET_EXCEEDED']);
});

it('a call that is retried is charged only once', async () => {
  let runs = 0;
  const { executor, clock } = setup(
    [
      reader('flaky', () => {
        if (++runs % 3 !== 0) throw new Error('again');
        return runs;
      }),
    ],
    { budgets: [{ per: 'principal', calls: 2 }] },
  );
  for (const expected of ['ok 3', 'ok 6']) {
    const running = executor.execute(call('flaky'));
    await clock.advanceAsync(10_000);
    expect(brief(await running)).toBe(expected);
  }
});

it("cached answers, denied or pending calls, invalid input, and unknown tools aren't charged", async () => {
  const { executor } = setup(
    [
      reader('read', () => 1, {
        cacheTtlMs: 1_000,
        inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
      }),
      writer('write', () => 2),
      reader('off', () => 1, { available: () => false }),
      reader('by_hand', undefined, { manual: true }),
    ],
    { budgets: [{ per: 'principal', calls: 2 }] },
  );
  await executor.execute(call('read'));
  const free = [
    call('read'),
    call('write'),
    call('nothing'),
    call('read', { n: 'x' }),
    call('off'),
    call('by_hand'),
  ];
  for (const each of [...free, ...free])
    expect(brief(await executor.execute(each))).not.toBe('error BUDGET_EXCEEDED');
  expect(brief(await executor.execute(call('write'), { mode: 'read-only' }))).toBe('denied');
  expect(brief(await executor.execute(call('write'), { confirm: () => false }))).toBe('denied');
  expect(brief(await executor.execute(call('read', { n: 1 })))).toBe('ok 1');
  expect(brief(await executor.execute(call('read', { n: 2 })))).toBe('error BUDGET_EXCEEDED');
});

it('calls are rejected while the store is unreachable and succeed once it is back', async () => {
  const store = new FailingStore();
  const { executor, callsMade, runs } = limited([{ per: 'principal', calls: 3 }], { store });
  store.fails = () => true;
  expect(brief(await executor.execute(call()))).toBe('error STATE_UNAVAILABLE');
  expect(runs()).toBe(0);
  store.fails = () => false;
  expect(await callsMade(5)).toBe(3);
});

it('resetBudgets clears the budget of the given principal only', async () => {
  const { executor, callsMade } = limited([{ per: 'principal', calls: 2 }]);
  for (const principal of ['ada', 'eve']) await callsMade(2, { principal });
  await executor.resetBudgets('ada');
  expect([
    await callsMade(3, { principal: 'ada' }),
    await callsMade(3, { principal: 'eve' }),
  ]).toEqual([2, 0]);
});

it('a budget with windowMs is refilled windowMs after the first call', async () => {
  const { callsMade, clock } = limited([{ per: 'principal', calls: 3, windowMs: 1_000 }]);
  expect(await callsMade(1)).toBe(1);
  clock.advance(600);
  expect(await callsMade(3)).toBe(2);
  clock.advance(399);
  expect(await callsMade(1)).toBe(0);
  clock.advance(1);
  expect(await callsMade(5)).toBe(3);
});
