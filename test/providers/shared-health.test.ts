import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../src/core/clock.js';
import { SharedHealth } from '../../src/providers.js';
import { MemoryStateStore } from '../../src/state/memory-state-store.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { FaultyStore, type Fault } from './faulty-store.js';

const KEY = 'health:tool:search';
const call = (success = true, latencyMs = 5) => ({
  kind: 'tool' as const,
  name: 'search',
  success,
  latencyMs,
});

function processes(count: number) {
  const clock = new ManualClock(1_000_000);
  const memory = new MemoryStateStore({ clock });
  const all = Array.from({ length: count }, (_, index) => {
    const store = new FaultyStore(memory);
    return { store, health: new SharedHealth({ store, clock, writer: `process ${index}` }) };
  });
  return { all, memory, clock };
}

describe('SharedHealth', () => {
  it('counts exactly: four processes, 10,000 calls each', async () => {
    const { all, clock } = processes(4);
    for (let index = 0; index < 10_000; index += 1) {
      for (const { health } of all) health.record(call(index % 10 !== 0));
      if (index % 1_000 === 0) await clock.advanceAsync(1_000);
    }
    await Promise.all(all.map(({ health }) => health.flush()));
    await clock.advanceAsync(1_000);
    for (const { health } of all) {
      expect(health.lifetime('tool', 'search')).toEqual({
        total: 40_000,
        success: 36_000,
        failure: 4_000,
      });
      expect(health.summary('tool', 'search').total).toBe(100);
    }
  });

  it('writes each name at most once a second, however many calls there are, and nothing when there are none', async () => {
    const { all, clock } = processes(1);
    const { health, store } = all[0]!;
    health.record(call());
    await clock.advanceAsync(1_000);
    store.operations.length = 0;
    for (let index = 0; index < 1_000; index += 1) {
      health.record(call());
      await clock.advanceAsync(1);
    }
    expect(store.operations.filter((operation) => operation === 'compareAndSet')).toHaveLength(1);
    await clock.advanceAsync(1_000);
    store.operations.length = 0;
    await clock.advanceAsync(60_000);
    expect([store.operations, clock.pending]).toEqual([[], 0]);
  });

  it('shows the calls of others soon, and its own at once', async () => {
    const { all, clock } = processes(2);
    const [one, other] = [all[0]!.health, all[1]!.health];
    other.record({ ...call(false, 9), provider: 'x' });
    expect(other.summary('tool', 'search')).toMatchObject({ total: 1, failure: 1 });
    await clock.advanceAsync(1_000);
    one.record({ ...call(true, 7), provider: 'serpapi' });
    await clock.advanceAsync(2_000);
    expect(other.summary('tool', 'search')).toMatchObject({
      total: 2,
      success: 1,
      averageLatencyMs: 8,
    });
    expect(other.lastProvider('search')).toBe('serpapi');
    expect(other.lastCall('tool', 'search')).toEqual({
      success: true,
      latencyMs: 7,
      at: 1_001_000,
    });
  });

  it('shows what others recorded to one who only asks', async () => {
    const { all } = processes(2);
    all[0]!.health.record(call());
    await all[0]!.health.flush();
    await all[1]!.health.refresh('tool', 'search');
    expect(all[1]!.health.lifetime('tool', 'search').total).toBe(1);
  });

  it('counts nothing twice and loses nothing, whichever operations fail or lose their answer', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(
            fc.nat(2),
            fc.nat(20),
            fc.array(fc.constantFrom<Fault>('none', 'none', 'refused', 'lost-answer'), {
              maxLength: 6,
            }),
          ),
          { maxLength: 20 },
        ),
        async (steps) => {
          const { all, clock } = processes(3);
          let recorded = 0;
          for (const [process, calls, faults] of steps) {
            const { store, health } = all[process]!;
            const coming = [...faults];
            store.next = () => coming.shift() ?? 'none';
            for (let index = 0; index < calls; index += 1) health.record(call());
            recorded += calls;
            await clock.advanceAsync(1_000);
            expect(health.lifetime('tool', 'search').total).toBeLessThanOrEqual(recorded);
          }
          for (const { store } of all) store.next = () => 'none';
          await Promise.all(all.map(({ health }) => health.close()));
          const reader = processes(1);
          const { health } = {
            health: new SharedHealth({ store: all[0]!.store, clock: reader.clock }),
          };
          await health.refresh('tool', 'search');
          expect(health.lifetime('tool', 'search').total).toBe(recorded);
          expect(health.summary('tool', 'search').total).toBe(Math.min(recorded, 100));
        },
      ),
      { numRuns: 100 },
    );
  });

  it('restores what it knew to a store that lost its data', async () => {
    const { all, memory, clock } = processes(2);
    for (const { health } of all) for (let index = 0; index < 50; index += 1) health.record(call());
    await clock.advanceAsync(3_000);
    await memory.compareAndSet(
      'health:tool:search',
      await memory.get('health:tool:search'),
      undefined,
    );
    for (const { health } of all) health.record(call());
    await clock.advanceAsync(3_000);
    expect(all.map(({ health }) => health.lifetime('tool', 'search').total)).toEqual([102, 102]);
  });

  it('completes an older text, whoever wrote into it first, and believes none that has less than it knows', async () => {
    const { all, memory, clock } = processes(3);
    const [one, newcomer, idle] = all.map(({ health }) => health) as [
      SharedHealth,
      SharedHealth,
      SharedHealth,
    ];
    const knows = async () => {
      await idle.refresh('tool', 'search');
      return [one, newcomer, idle].map((health) => health.lifetime('tool', 'search'));
    };
    for (let index = 0; index < 10; index += 1) one.record(call());
    await one.flush();
    const older = (await memory.get(KEY))!;
    for (let index = 0; index < 30; index += 1) one.record(call(false));
    await one.flush();
    await idle.refresh('tool', 'search');
    for (const [text, total] of [
      [older, 41],
      [undefined, 42],
    ] as const) {
      await memory.compareAndSet(KEY, await memory.get(KEY), text);
      newcomer.record(call());
      await newcomer.flush();
      await clock.advanceAsync(2_000);
      expect(await knows()).toEqual(Array(3).fill({ total, success: total - 30, failure: 30 }));
    }
    await memory.compareAndSet(KEY, await memory.get(KEY), older);
    await idle.refresh('tool', 'search');
    const reader = new SharedHealth({ store: memory, clock });
    await reader.load();
    expect([reader.lifetime('tool', 'search').total, reader.summary('tool', 'search')]).toEqual([
      42,
      idle.summary('tool', 'search'),
    ]);
  });

  it('writes again what the store lost when that is back, also in a process that only listens', async () => {
    const { all, memory, clock } = processes(2);
    all[0]!.health.record(call());
    await all[0]!.health.close();
    await all[1]!.health.load();
    all[1]!.store.setAvailable(false);
    await memory.compareAndSet(KEY, await memory.get(KEY), undefined);
    all[1]!.store.setAvailable(true);
    await clock.advanceAsync(1_000);
    expect(await memory.get(KEY)).toContain('[1,5,1000000]');
  });

  it('counts once each call of all processes, whatever the store loses, and writes no more when all know all', async () => {
    const step = fc.oneof(
      fc.record({
        process: fc.nat(2),
        calls: fc.integer({ min: 1, max: 60 }),
        isFlushed: fc.boolean(),
      }),
      fc.record({ rollsBackTo: fc.nat(10) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const { all, memory, clock } = processes(3);
        const texts: (string | undefined)[] = [undefined];
        let recorded = 0;
        for (const each of steps) {
          if ('rollsBackTo' in each)
            await memory.compareAndSet(
              KEY,
              await memory.get(KEY),
              texts[each.rollsBackTo % texts.length],
            );
          else {
            const { health } = all[each.process]!;
            for (let index = 0; index < each.calls; index += 1) health.record(call());
            recorded += each.calls;
            if (each.isFlushed) await health.flush();
          }
          texts.push(await memory.get(KEY));
        }
        for (const { health } of all) await health.refresh('tool', 'search');
        await clock.advanceAsync(5_000);
        for (const { health, store } of all) {
          await health.refresh('tool', 'search');
          expect([
            health.lifetime('tool', 'search').total,
            health.summary('tool', 'search').total,
          ]).toEqual([recorded, Math.min(recorded, 100)]);
          store.operations.length = 0;
        }
        await clock.advanceAsync(5_000);
        expect(all.flatMap(({ store }) => store.operations)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it('orders calls by the clock of the store and dates them by its own: a process whose clock is an hour ahead hides no failures of others', async () => {
    const { all, memory, clock } = processes(1);
    const ahead = new SharedHealth({
      store: memory,
      clock: new ManualClock(clock.now() + 3_600_000),
    });
    for (let index = 0; index < 100; index += 1) ahead.record(call());
    await ahead.flush();
    await clock.advanceAsync(1_000);
    for (let index = 0; index < 100; index += 1) all[0]!.health.record(call(false));
    expect(all[0]!.health.summary('tool', 'search')).toMatchObject({ failure: 100 });
    await all[0]!.health.flush();
    await ahead.refresh('tool', 'search');
    for (const [health, lastSampleAt] of [
      [all[0]!.health, 1_001_000],
      [ahead, 4_601_000],
    ] as const)
      expect(health.summary('tool', 'search')).toMatchObject({ failure: 100, lastSampleAt });
  });

  it('counts on when a process starts again under the same name', async () => {
    const { memory, clock } = processes(0);
    for (const calls of [5, 4]) {
      const health = new SharedHealth({ store: memory, clock, writer: 'host-1' });
      for (let index = 0; index < calls; index += 1) {
        health.record(call());
        await health.flush();
      }
      await health.close();
    }
    const reader = new SharedHealth({ store: memory, clock });
    await reader.load();
    expect(reader.lifetime('tool', 'search').total).toBe(9);
    expect(await memory.get(KEY)).toContain('host-1');
  });

  it('counts exactly over 600 processes, also of one that is quiet while the others come and go', async () => {
    const { all, memory, clock } = processes(1);
    const { health } = all[0]!;
    for (let index = 0; index < 600; index += 1) {
      if (index % 299 === 0) {
        health.record(call(false));
        await health.flush();
      }
      const other = new SharedHealth({ store: memory, clock });
      other.record(call());
      await other.close();
    }
    await health.refresh('tool', 'search');
    expect(health.lifetime('tool', 'search')).toEqual({ total: 603, success: 600, failure: 3 });
    expect((await memory.get(KEY))!.length).toBeLessThan(40_000);
  });

  it('keeps its calls when it gives up a name and meets it again', async () => {
    const { memory, clock } = processes(0);
    const health = new SharedHealth({ store: memory, clock, maxKeys: 1 });
    for (const name of ['search', 'other', 'search', 'other', 'search']) {
      health.record({ ...call(), name });
      await health.flush();
    }
    expect(health.lifetime('tool', 'search').total).toBe(3);
  });

  it('keeps a bounded amount while the store is away', async () => {
    const { all, clock } = processes(1);
    const { health, store } = all[0]!;
    store.setAvailable(false);
    for (let index = 0; index < 5_000; index += 1) health.record(call());
    await clock.advanceAsync(10_000);
    expect(health.summary('tool', 'search').total).toBe(100);
    expect(clock.pending).toBe(1);
    store.setAvailable(true);
    await clock.advanceAsync(1_000);
    expect(health.lifetime('tool', 'search').total).toBe(5_000);
    expect(clock.pending).toBe(0);
  });

  it('takes damaged data for none, and names that stores refuse for names', async () => {
    const { all, memory, clock } = processes(1);
    const { health } = all[0]!;
    await memory.compareAndSet('health:tool:search', undefined, '{"v":1,"total":-1}');
    const names = ['search', 'x'.repeat(2_000), '\ud800', '__proto__'];
    for (const name of names) health.record({ ...call(), name });
    await clock.advanceAsync(1_000);
    const reader = new SharedHealth({ store: memory, clock });
    for (const name of names) {
      await reader.refresh('tool', name);
      expect(reader.lifetime('tool', name).total).toBe(1);
    }
  });

  it('keeps no process alive by its timers, also while the store is gone and it is never closed', async () => {
    const keepingAlive = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const store = new FaultyStore();
    store.setAvailable(false);
    const timers: { readonly flush: () => void; readonly stop: () => void }[] = [];
    const after: Clock['after'] = (ms, flush, options) => {
      const before = keepingAlive();
      const stop = systemClock.after(ms, flush, options);
      expect(keepingAlive()).toBe(before);
      timers.push({ flush, stop });
      return stop;
    };
    const health = new SharedHealth({ store, clock: { ...systemClock, after } });
    health.record(call());
    timers[0]!.stop();
    timers[0]!.flush();
    await health.flush();
    expect(timers).toHaveLength(2);
    timers[1]!.stop();
    // Without the option a timer does keep a process alive: what is measured above is there to be measured.
    const before = keepingAlive();
    const stop = systemClock.after(1_000, () => {});
    expect(keepingAlive()).toBe(before + 1);
    stop();
  });

  it('leaves no timer behind when it is closed', async () => {
    const { all, clock, memory } = processes(1);
    const { health } = all[0]!;
    health.record(call());
    await health.close();
    health.record(call());
    expect(clock.pending).toBe(0);
    expect(await memory.get('health:tool:search')).toContain('[[1,5,1000000]]');
  });

  it.each([[{}], [{ store: 1 }], [{ store: new MemoryStateStore(), flushMs: 5 }]])(
    'refuses the options %o',
    (options) => {
      expect(() => new SharedHealth(options as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    },
  );
});
