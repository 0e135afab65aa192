import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fail,
  type Budget,
  type ExecuteOptions,
  type ToolExecutorOptions,
} from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
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
  /** How many calls of so many are made. */
  const callsMade = async (calls: number, context: ExecuteOptions = {}) => {
    let done = 0;
    for (let index = 0; index < calls; index++)
      if ((await made.executor.execute(call(), context)).status === 'ok') done++;
    return done;
  };
  return { ...made, callsMade, runs: () => runs };
}

describe('a budget', () => {
  it('lets so many calls through, and says what is used up before the tool runs', async () => {
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

  it("is each principal's or each conversation's own", async () => {
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

  it("takes names for what they are: none is another's", async () => {
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

  it('of cost counts what a call costs, or the rank of its tier', async () => {
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
    expect(
      await limited([{ per: 'principal', cost: 0 }], {}, { costPerCall: 0 }).callsMade(3),
    ).toBe(3);
  });

  it('that has room takes nothing when another has none', async () => {
    const { executor, callsMade } = limited([
      { per: 'principal', calls: 4 },
      { per: 'conversation', calls: 1 },
    ]);
    expect(await callsMade(5, { principal: 'ada', conversationId: '1' })).toBe(1);
    for (const conversationId of ['2', '3', '4', '5'])
      await executor.execute(call(), { principal: 'ada', conversationId });
    expect(await executor.execute(call(), { principal: 'ada', conversationId: '6' })).toMatchObject(
      { details: { per: 'principal', spent: 4 } },
    );
  });

  it('counts a call once when two limits of one kind hold', async () => {
    expect(
      await limited([
        { per: 'principal', calls: 4 },
        { per: 'principal', calls: 6 },
      ]).callsMade(9),
    ).toBe(4);
  });

  it('stays spent when the call fails, in whichever way', async () => {
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

  it('counts a call once, however many attempts it takes', async () => {
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

  it('pays nothing for what did not run: kept answers, denied and held calls, wrong input, unknown tools', async () => {
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
});

describe('a budget and its store', () => {
  it('refuses while the store cannot be reached, and goes on after', async () => {
    const store = new FailingStore();
    const { executor, callsMade, runs } = limited([{ per: 'principal', calls: 3 }], { store });
    store.fails = () => true;
    expect(brief(await executor.execute(call()))).toBe('error STATE_UNAVAILABLE');
    expect(runs()).toBe(0);
    store.fails = () => false;
    expect(await callsMade(5)).toBe(3);
  });

  it('lets an owner spend anew after a reset, and nobody else', async () => {
    const { executor, callsMade } = limited([{ per: 'principal', calls: 2 }]);
    for (const principal of ['ada', 'eve']) await callsMade(2, { principal });
    await executor.resetBudgets('ada');
    expect([
      await callsMade(3, { principal: 'ada' }),
      await callsMade(3, { principal: 'eve' }),
    ]).toEqual([2, 0]);
  });

  it('refuses, and does not run, when the store fails between two counters; what it took stays spent, because its window may be over', async () => {
    const store = new FailingStore();
    const { executor, callsMade, runs } = limited(
      [
        { per: 'principal', calls: 2 },
        { per: 'conversation', calls: 9 },
      ],
      { store },
    );
    await callsMade(1, { principal: 'ada', conversationId: 'c' });
    store.fails = (operation, key) => operation === 'increment' && key.includes('conversation');
    expect(brief(await executor.execute(call(), { principal: 'ada', conversationId: 'c' }))).toBe(
      'error STATE_UNAVAILABLE',
    );
    expect(runs()).toBe(1);
    store.fails = () => false;
    expect(await callsMade(3, { principal: 'ada', conversationId: 'c' })).toBe(0);
  });
});

describe('a budget is never overspent', () => {
  const OWNERS = ['ada', 'eve', undefined] as const;

  it('by two executors on one slow store, in any interleaving', async () => {
    const asked = fc.array(
      fc.record({
        who: fc.nat(1),
        owner: fc.constantFrom(...OWNERS),
        tool: fc.constantFrom('cheap', 'dear'),
      }),
      { minLength: 1, maxLength: 10 },
    );
    await fc.assert(
      fc.asyncProperty(
        asked,
        fc.integer({ min: 0, max: 4 }),
        fc.integer({ min: 0, max: 8 }),
        fc.scheduler(),
        async (calls, most, cost, scheduler) => {
          const spent = new Map<string, { calls: number; cost: number }>();
          const costs = { cheap: 0.5, dear: 3 };
          const tools = (['cheap', 'dear'] as const).map((name) =>
            reader(
              name,
              (_, { principal = '' }) => {
                const before = spent.get(principal) ?? { calls: 0, cost: 0 };
                spent.set(principal, { calls: before.calls + 1, cost: before.cost + costs[name] });
              },
              { costPerCall: costs[name] },
            ),
          );
          const memory = new MemoryStateStore();
          const executors = [0, 1].map(() => {
            const store = new FailingStore(memory);
            store.before = (operation) => scheduler.schedule(Promise.resolve(), operation);
            return setup(tools, {
              store,
              budgets: [{ per: 'principal', calls: most, cost }],
              maxConcurrent: 50,
            }).executor;
          });
          const all = Promise.all(
            calls.map(({ who, owner, tool }) =>
              executors[who]!.execute(call(tool), owner === undefined ? {} : { principal: owner }),
            ),
          );
          await scheduler.waitFor(all);
          for (const each of spent.values()) {
            expect(each.calls).toBeLessThanOrEqual(most);
            expect(each.cost).toBeLessThanOrEqual(cost);
          }
          for (const outcome of await all)
            expect(brief(outcome)).toMatch(/^ok null$|^error BUDGET_EXCEEDED$/);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('by more than two windows allow in the length of one, nor refused while a window has room', async () => {
    const step = fc.oneof(
      fc.record({ owner: fc.constantFrom(...OWNERS), dear: fc.boolean() }),
      fc.record({ wait: fc.constantFrom(1, 124, 125, 499, 500, 1_000) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.integer({ min: 0, max: 5 }),
        async (steps, most) => {
          const clock = new ManualClock();
          const { executor } = setup(
            [
              reader('cheap', () => 1, { costPerCall: 0.25 }),
              reader('dear', () => 1, { costPerCall: 2 }),
            ],
            { clock, budgets: [{ per: 'principal', calls: most, cost: 6, windowMs: 1_000 }] },
          );
          const spent: { owner: string; price: number; at: number }[] = [];
          for (const each of steps) {
            if ('wait' in each) {
              clock.advance(each.wait);
              continue;
            }
            const [owner, price, at] = [each.owner ?? '', each.dear ? 2 : 0.25, clock.elapsed()];
            // A window begins with its first call, so two of them may meet in any second.
            const fits = (windows: number) => {
              const counted = spent.filter((one) => one.owner === owner && one.at > at - 1_000);
              return (
                counted.length + 1 <= windows * most &&
                counted.reduce((sum, one) => sum + one.price, price) <= windows * 6
              );
            };
            const { status } = await executor.execute(
              call(each.dear ? 'dear' : 'cheap'),
              each.owner === undefined ? {} : { principal: each.owner },
            );
            if (status === 'ok') {
              expect(fits(2)).toBe(true);
              spent.push({ owner, price, at });
            } else expect(fits(1)).toBe(false);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});
