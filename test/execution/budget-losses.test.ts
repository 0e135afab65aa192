import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Budget, ToolExecutor } from '../../src/index.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { brief, reader, setup } from './fixtures/executor-setup.js';
import { RestartingStore } from './fixtures/restarting-store.js';

let nextId = 0;
const EVER: Budget = { per: 'principal', calls: 3 };
const WINDOW: Budget = { per: 'principal', calls: 3, windowMs: 1_000 };
const CLOSED = 'error BUDGET_EXCEEDED';

let clock: ManualClock;
let store: RestartingStore;
beforeEach(() => {
  clock = new ManualClock(1_700_000_000_000);
  store = new RestartingStore(clock);
});

/** A process of its own on the common store. */
function started(budget: Budget, options: object = {}): ToolExecutor {
  return setup([reader('read', () => 1)], { store, clock, budgets: [budget], ...options }).executor;
}

const callOf = (executor: ToolExecutor, principal = 'ada') =>
  executor.execute({ id: `${nextId++}`, name: 'read' }, { principal });
async function made(executor: ToolExecutor, calls: number, principal = 'ada'): Promise<number> {
  let done = 0;
  for (let index = 0; index < calls; index++)
    if ((await callOf(executor, principal)).status === 'ok') done++;
  return done;
}

describe('a budget whose store restarts', () => {
  it.each(['saved', 'all', 'nothing'] as const)(
    'with %s of it is closed in every process, until an operator accepts that',
    async (kept) => {
      const processes = [started(EVER), started(EVER)];
      for (const each of processes) await made(each, 1);
      store.save();
      await made(processes[0]!, 1);
      await store.restart(kept);
      for (const principal of ['ada', 'eve'])
        for (const each of processes) expect(brief(await callOf(each, principal))).toBe(CLOSED);
      clock.advance(86_400_000);
      const later = started(EVER);
      for (const each of [...processes, later]) expect(brief(await callOf(each))).toBe(CLOSED);
      await processes[1]!.resetBudgets();
      for (const each of [...processes, later])
        expect(brief(await callOf(each, `${nextId}`))).toBe('ok 1');
    },
  );

  it('says which budget is closed, since when, and what opens it', async () => {
    const [ever, windowed] = [started(EVER), started(WINDOW)];
    for (const each of [ever, windowed]) await made(each, 1);
    await store.restart('all');
    expect(await callOf(ever)).toMatchObject({
      message:
        'Expected the counters of the budget of 3 calls per principal, got a state store that restarted or lost them by 2023-11-14T22:13:20.000Z: what was spent is not known. Ask an operator to accept that: resetBudgets() for all owners, resetBudgets(owner) for this one.',
      details: {
        per: 'principal',
        unit: 'calls',
        limit: 3,
        reason: 'lost',
        lostAt: 1_700_000_000_000,
      },
    });
    expect(await callOf(windowed)).toMatchObject({
      message: expect.stringContaining(
        'Wait until 2023-11-14T22:13:21.000Z, or ask an operator',
      ) as string,
      details: { reopensAt: 1_700_000_001_000 },
    });
  });

  it('with a window is closed for one, by the clock of the store, and then open in every process', async () => {
    const hour = 3_600_000;
    const processes = [-hour, 0, hour].map((shift) => {
      const own = new ManualClock(clock.now() + shift);
      return { own, executor: started(WINDOW, { clock: own }) };
    });
    for (const { executor } of processes) expect(await made(executor, 1)).toBe(1);
    await store.restart('nothing');
    const wait = (ms: number) =>
      [clock, ...processes.map(({ own }) => own)].forEach((each) => each.advance(ms));
    for (const { executor } of processes) expect(brief(await callOf(executor))).toBe(CLOSED);
    wait(1_000);
    for (const { executor } of processes) expect(brief(await callOf(executor))).toBe(CLOSED);
    wait(1);
    for (const { executor } of processes) expect(brief(await callOf(executor))).toBe('ok 1');
    expect(brief(await callOf(processes[0]!.executor))).toBe(CLOSED);
  });

  it('is closed for processes that start after it, also when no other is left', async () => {
    await made(started(EVER), 1);
    await store.restart('all');
    expect(brief(await callOf(started(EVER)))).toBe(CLOSED);
  });

  it('lets only that owner go on who was reset after it', async () => {
    const executor = started(EVER);
    for (const principal of ['ada', 'eve']) await made(executor, 2, principal);
    await store.restart('all');
    await executor.resetBudgets('ada');
    for (const each of [executor, started(EVER)])
      expect([await made(each, 1, 'ada'), await made(each, 1, 'eve')]).toEqual([1, 0]);
    await store.restart('all');
    expect(await made(executor, 1, 'ada')).toBe(0);
  });

  it('goes on when restarts are trusted', async () => {
    store.trusted = true;
    const processes = [started(EVER), started(EVER)];
    for (const each of processes) expect(await made(each, 1)).toBe(1);
    await store.restart('all');
    expect(await made(processes[0]!, 3)).toBe(1);
  });

  it('is closed when it was emptied without a restart, also if a new process was there first', async () => {
    const executor = started(EVER);
    await made(executor, 1);
    await store.evict('budget');
    expect(await made(started(EVER), 1, 'eve')).toBe(1);
    expect(brief(await callOf(executor))).toBe(CLOSED);
    for (const principal of ['ada', 'eve'])
      expect(brief(await callOf(started(EVER), principal))).toBe(CLOSED);
  });
});

describe('a budget of which single keys are gone', () => {
  it('is closed for its owner, also in processes that start later', async () => {
    const executor = started(EVER);
    for (const principal of ['ada', 'eve']) await made(executor, 2, principal);
    expect(await store.evict('budget:')).toHaveLength(2);
    expect(brief(await callOf(executor))).toBe(CLOSED);
    expect(brief(await callOf(started(EVER)))).toBe(CLOSED);
    await executor.resetBudgets('ada');
    expect([await made(executor, 5), await made(executor, 1, 'eve')]).toEqual([3, 0]);
    await executor.resetBudgets();
    expect(await made(executor, 1, 'eve')).toBe(1);
  });

  it('is closed when another process has begun to count again', async () => {
    const executor = started(EVER);
    await made(executor, 3);
    await store.evict('budget:');
    await made(started(EVER), 1);
    expect(await callOf(executor)).toMatchObject({ details: { reason: 'lost' } });
  });

  it('is closed for a process whose first call since another process reset the budget was counted before', async () => {
    const [operator, executor] = [started(EVER), started(EVER)];
    await made(executor, 1);
    await operator.resetBudgets('ada');
    expect(await made(executor, 1)).toBe(1);
    await store.evict('budget:');
    expect(await callOf(executor)).toMatchObject({ details: { reason: 'lost' } });
  });

  it('is closed within a second in processes that have not seen as much', async () => {
    const [little, much] = [started(EVER), started(EVER)];
    expect([await made(little, 1), await made(much, 1)]).toEqual([1, 1]);
    await store.evict('budget:');
    expect(await made(much, 1)).toBe(0);
    clock.advance(1_000);
    expect(await callOf(little)).toMatchObject({ details: { reason: 'lost' } });
  });

  it('with a window is closed for one', async () => {
    const executor = started(WINDOW);
    await made(executor, 2);
    await store.evict('budget:');
    expect(await made(executor, 1)).toBe(0);
    clock.advance(1_000);
    expect(await made(executor, 1)).toBe(0);
    clock.advance(1);
    expect(await made(executor, 3)).toBe(2); // The call that noticed the loss was counted, an eighth longer.
  });

  it.each([0, 1])(
    'with a window is closed by whichever process counted in it: %i',
    async (first) => {
      const limit: Budget = { per: 'principal', calls: 10, windowMs: 60_000 };
      const processes = [started(limit), started(limit)];
      expect([
        await made(processes[0]!, 5),
        await made(processes[1]!, 5),
        await made(processes[0]!, 1),
      ]).toEqual([5, 5, 0]);
      await store.evict('budget:');
      expect(await made(started(limit), 5)).toBe(5);
      expect(await callOf(processes[first]!)).toMatchObject({ details: { reason: 'lost' } });
      clock.advance(1_000);
      expect(await callOf(processes[1 - first]!)).toMatchObject({ details: { reason: 'lost' } });
    },
  );

  it.each([EVER, WINDOW])(
    'is open after a reset, in whichever order it and calls meanwhile reach the store: %o',
    async (limit) => {
      await fc.assert(
        fc.asyncProperty(fc.scheduler(), async (scheduler) => {
          store = new RestartingStore(clock);
          const processes = [started(limit), started(limit)];
          for (const each of processes) await made(each, 2);
          store.before = () => scheduler.schedule(Promise.resolve());
          await scheduler.waitFor(
            Promise.all([
              processes[0]!.resetBudgets('ada'),
              ...processes.map((each) => made(each, 2)),
            ]),
          );
          store.before = () => undefined;
          clock.advance(1_001);
          for (const each of processes)
            expect(
              ((await callOf(each)) as { details?: { reason?: string } }).details?.reason,
            ).toBeUndefined();
        }),
        { numRuns: 60 },
      );
    },
  );

  it('is not closed when another process reset it, or its window is over', async () => {
    const [one, other] = [started(EVER), started(EVER)];
    await made(one, 3);
    await other.resetBudgets('ada');
    expect(await made(one, 4)).toBe(3);
    const windowed = started(WINDOW);
    for (let round = 0; round < 20; round++) {
      expect(await made(windowed, 4, 'eve')).toBe(3);
      clock.advance(1_125);
    }
  });

  it('is closed when the mark of the counters is gone', async () => {
    const executor = started(EVER);
    await made(executor, 1);
    await executor.resetBudgets('ada');
    await made(executor, 1);
    expect(await store.evict('budget-epoch:')).toHaveLength(1);
    clock.advance(1_000);
    expect(brief(await callOf(executor))).toBe(CLOSED);
  });
});

describe('whatever happens to the store, a budget is not overspent', () => {
  const OWNERS = ['ada', 'eve', 'bob'] as const;
  const MOST = 3;
  const WINDOW_MS = 800;
  const act = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('call' as const), by: fc.nat(2), owner: fc.nat(2) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        ms: fc.constantFrom(1, 100, 400, 801),
      }),
    },
    fc.record({
      kind: fc.constantFrom('reset' as const, 'accept' as const),
      by: fc.nat(2),
      owner: fc.nat(2),
    }),
    fc.record({ kind: fc.constant('save' as const) }),
    fc.record({
      kind: fc.constant('restart' as const),
      kept: fc.constantFrom('saved' as const, 'all' as const),
    }),
  );

  async function play(
    steps: readonly (typeof act extends fc.Arbitrary<infer Step> ? Step : never)[],
    budget: Budget,
    more: {
      readonly by: (step: { by: number; owner: number }) => number;
      readonly other?: (step: number, processes: ToolExecutor[]) => Promise<void>;
    },
  ): Promise<void> {
    clock = new ManualClock(1_000_000);
    store = new RestartingStore(clock);
    const processes = [started(budget), started(budget), started(budget)];
    for (const [at, owner] of OWNERS.entries()) await made(processes[at]!, 1, owner);
    store.save();
    const runs = OWNERS.map(() => [clock.elapsed()]);
    for (const [at, step] of steps.entries()) {
      if (step.kind === 'wait') clock.advance(step.ms);
      else if (step.kind === 'save') store.save();
      else if (step.kind === 'restart') await store.restart(step.kept);
      else if (step.kind === 'reset') {
        await processes[step.by]!.resetBudgets(OWNERS[step.owner]);
        runs[step.owner]!.length = 0;
      } else if (step.kind === 'accept') {
        await processes[step.by]!.resetBudgets();
        for (const each of runs) each.length = 0;
      } else {
        const own = runs[step.owner]!;
        if ((await callOf(processes[more.by(step)]!, OWNERS[step.owner])).status === 'ok')
          own.push(clock.elapsed());
        const { windowMs = Infinity } = budget;
        expect(own.filter((time) => time > clock.elapsed() - windowMs).length).toBeLessThanOrEqual(
          MOST,
        );
      }
      await more.other?.(at, processes);
    }
  }
  const budget = fc.constantFrom<Budget>(
    { per: 'principal', calls: MOST },
    { per: 'principal', calls: MOST, windowMs: WINDOW_MS },
  );

  it('by any processes, old and new, on a store that restarts older', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(act, { maxLength: 40 }),
        budget,
        fc.func(fc.constantFrom(false, false, false, true)),
        async (steps, limit, renews) => {
          await play(steps, limit, {
            by: ({ by }) => by,
            other: async (at, processes) =>
              void (renews(at) && (processes[at % 3] = started(limit))),
          });
        },
      ),
      { numRuns: 200 },
    );
  });

  it('by processes that have counted, when keys are gone', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(act, { maxLength: 40 }),
        budget,
        fc.func(fc.constantFrom('', '', 'budget:', 'budget-epoch', 'budget', 'nothing left')),
        async (steps, limit, loses) => {
          await play(steps, limit, {
            by: ({ owner }) => owner,
            other: async (at) => {
              const lost = loses(at);
              if (lost === 'nothing left') await store.restart('nothing');
              else if (lost !== '') await store.evict(lost);
            },
          });
        },
      ),
      { numRuns: 200 },
    );
  });
});
