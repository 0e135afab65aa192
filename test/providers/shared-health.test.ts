import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../src/core/clock.js';
import { SharedHealth } from '../../src/providers.js';
import { MemoryStateStore } from '../../src/state/memory-state-store.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { FaultyStore, type Fault } from './faulty-store.js';

const call = (success = true, latencyMs = 5) => ({ kind: 'tool' as const, name: 'search', success, latencyMs });

function processes(count: number) {
  const memory = new MemoryStateStore();
  const clock = new ManualClock(1_000_000);
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
      expect(health.lifetime('tool', 'search')).toEqual({ total: 40_000, success: 36_000, failure: 4_000 });
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
    expect(other.summary('tool', 'search')).toMatchObject({ total: 2, success: 1, averageLatencyMs: 8 });
    expect(other.lastProvider('search')).toBe('serpapi');
    expect(other.lastCall('tool', 'search')).toEqual({ success: true, latencyMs: 7, at: 1_001_000 });
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
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(2), fc.nat(20), fc.array(fc.constantFrom<Fault>('none', 'none', 'refused', 'lost-answer'), { maxLength: 6 })), { maxLength: 20 }), async (steps) => {
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
        const { health } = { health: new SharedHealth({ store: all[0]!.store, clock: reader.clock }) };
        await health.refresh('tool', 'search');
        expect(health.lifetime('tool', 'search').total).toBe(recorded);
        expect(health.summary('tool', 'search').total).toBe(Math.min(recorded, 100));
      }),
      { numRuns: 100 },
    );
  });

  it('restores what it knew to a store that lost its data', async () => {
    const { all, memory, clock } = processes(2);
    for (const { health } of all) for (let index = 0; index < 50; index += 1) health.record(call());
    await clock.advanceAsync(3_000);
    await memory.compareAndSet('health:tool:search', await memory.get('health:tool:search'), undefined);
    for (const { health } of all) health.record(call());
    await clock.advanceAsync(3_000);
    expect(all.map(({ health }) => health.lifetime('tool', 'search').total)).toEqual([102, 102]);
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

  it('keeps no process alive by its timers, also while the store is gone and nobody closes it', async () => {
    const keepingAlive = (): number => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
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
    expect(await memory.get('health:tool:search')).toContain('"total":1');
  });

  it.each([[{}], [{ store: 1 }], [{ store: new MemoryStateStore(), flushMs: 5 }]])('refuses the options %o', (options) => {
    expect(() => new SharedHealth(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
