import { expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp } from '../../src/http.js';
import { defineTool, fail, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';

interface Overview {
  readonly last_hour: readonly {
    readonly at: number;
    readonly calls: number;
    readonly errors: number;
    readonly p95_ms: number | null;
  }[];
  readonly principals: readonly object[];
}

it('an hour of calls of two processes is counted by minute, without a store command per call', async () => {
  const clock = new ManualClock(36_000_000);
  const store = new MemoryStateStore({ clock });
  let written = 0;
  const append = store.append.bind(store);
  store.append = (key, ...rest) => {
    if (key.startsWith('call-series')) written += 1;
    return append(key, ...rest);
  };
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'book',
      description: 'Books a seat',
      inputSchema: { type: 'object' },
      accessMode: 'readonly',
      costPerCall: 2,
      execute: ({ fails }: { fails?: boolean }) => {
        if (fails === true) return fail('sold out');
        return 'booked';
      },
    }),
  );
  const processes = [1, 2].map(() => new ToolExecutor({ registry, store, clock }));
  const truth: { calls: number; errors: number }[] = [];
  for (let minute = 0; minute < 60; minute += 1) {
    truth.push({ calls: 2 * ((minute % 7) + 1), errors: minute % 5 === 0 ? 2 : 0 });
    for (const executor of processes)
      for (let call = 0; call <= minute % 7; call += 1) {
        const input = minute % 5 === 0 && call === 0 ? { fails: true } : {};
        await executor.execute({ name: 'book', input }, { principal: 'ada' });
      }
    if (minute < 59) await clock.advanceAsync(60_000);
  }
  for (const executor of processes) await executor.close();
  expect(written).toBe(120);
  const tools = [...registry].map(({ definition }) => definition);
  const app = createDiscoveryApp(await CapabilityRegistry.load({ tools }), {
    clock,
    operator: { store },
  });
  const overview = (await (await app.request('/overview')).json()) as Overview;
  expect(overview.last_hour.map(({ calls, errors }) => ({ calls, errors }))).toEqual(truth);
  expect(overview.last_hour[1]!.p95_ms).toBe(5);
  const calls = truth.reduce((sum, each) => sum + each.calls, 0);
  expect(overview.principals).toEqual([
    { name: 'ada', calls, denied: 0, asked: 0, failed: 24, cost: 2 * calls },
  ]);
});
