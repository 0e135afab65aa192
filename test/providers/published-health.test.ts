import { expect, it } from 'vitest';
import { PublishedHealth } from '../../src/providers.js';
import { ListedStore } from '../state/listed-store.js';
import { ManualClock } from '../../src/testing.js';
import { FaultyStore } from './faulty-store.js';

/** Returns processes that share a store and a clock. */
function processes() {
  const clock = new ManualClock(1_000_000);
  const memory = new ListedStore({ clock });
  const start = () => {
    const store = new FaultyStore(memory);
    return { store, health: new PublishedHealth({ store, clock }) };
  };
  return { clock, memory, start };
}

const call = (success: boolean, latencyMs = 1) =>
  ({ kind: 'tool', name: 'search', success, latencyMs, provider: success ? 'a' : 'b' }) as const;

it('PublishedHealth shows its own calls immediately, and calls of other processes after loading', async () => {
  const { clock, start } = processes();
  const [one, other] = [start().health, start().health];
  one.record(call(true, 10));
  clock.advance(5);
  other.record(call(false, 30));
  expect(one.summary('tool', 'search').total).toBe(1);
  await Promise.all([one.flush(), other.flush()]);
  await one.load();
  expect(one.summary('tool', 'search')).toMatchObject({
    total: 2,
    success: 1,
    averageLatencyMs: 20,
    lastSampleAt: 1_000_005,
  });
  expect(one.lastCall('tool', 'search')).toMatchObject({ success: false, at: 1_000_005 });
  expect(one.lastProvider('search')).toBe('a');
  expect(one.lifetime('tool', 'search')).toEqual({ total: 2, success: 1, failure: 1 });
});

it('PublishedHealth summarizes the last 100 calls of all processes and counts every call', async () => {
  const { clock, start } = processes();
  const all = [start().health, start().health, start().health];
  for (let index = 0; index < 60; index++) {
    for (const health of all) health.record(call(index >= 30));
    clock.advance(1);
  }
  for (const health of all) await health.flush();
  await all[0]!.load();
  expect(all[0]!.summary('tool', 'search')).toMatchObject({ total: 100, success: 90 });
  expect(all[0]!.lifetime('tool', 'search').total).toBe(180);
});

it('PublishedHealth writes at most once a second, and not at all without calls', async () => {
  const { clock, start } = processes();
  const { store, health } = start();
  await clock.advanceAsync(5_000);
  expect(store.operations).toEqual([]);
  for (let index = 0; index < 2_000; index++) {
    health.record(call(true));
    await clock.advanceAsync(1);
  }
  // The first write also adds the process to the list.
  expect(store.operations).toEqual(['append', 'append', 'append']);
  await health.close();
});

it('PublishedHealth shows the longest backoff of any process until it ends', async () => {
  const { clock, start } = processes();
  const [one, other, reader] = [start().health, start().health, start().health];
  one.backedOff('search/a#1', { failures: 1, until: clock.now() + 2_000 });
  other.backedOff('search/a#1', { failures: 3, until: clock.now() + 8_000 });
  one.record(call(false));
  other.record(call(false));
  await reader.load();
  await clock.advanceAsync(3_000);
  expect(reader.backoff('search/a#1')).toEqual({ failures: 3, until: 1_008_000 });
  await clock.advanceAsync(5_000);
  expect(reader.backoff('search/a#1')).toBeNull();
  for (const health of [one, other, reader]) await health.close();
});

it('PublishedHealth continues without its store, and writes everything once the store is back', async () => {
  const { clock, memory, start } = processes();
  const { store, health } = start();
  health.record(call(true));
  await health.flush();
  store.setAvailable(false);
  health.record(call(true));
  await clock.advanceAsync(3_000);
  expect(health.summary('tool', 'search').total).toBe(2);
  for (const key of await memory.list('health')) await memory.expire(key, 1);
  await clock.advanceAsync(1);
  store.setAvailable(true);
  await clock.advanceAsync(1_000);
  const reader = start().health;
  await reader.load();
  expect(reader.summary('tool', 'search').total).toBe(2);
  await Promise.all([health.close(), reader.close()]);
});

it("PublishedHealth shows a process's calls for one day after the process ended", async () => {
  const { clock, start } = processes();
  const { health } = start();
  health.record(call(true));
  await health.close();
  const reader = start().health;
  clock.advance(23 * 3_600_000);
  await reader.load();
  expect(reader.summary('tool', 'search').total).toBe(1);
  await clock.advanceAsync(3_600_000);
  expect(reader.summary('tool', 'search').total).toBe(0);
  await reader.close();
});

it('PublishedHealth leaves no timer running after close', async () => {
  const { clock, start } = processes();
  const { health } = start();
  health.record(call(true));
  await Promise.all([health.load(), health.load()]);
  await health.close();
  health.record(call(true));
  expect(clock.pending).toBe(0);
});
