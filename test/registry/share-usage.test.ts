import { describe, expect, it } from 'vitest';
import { AccessMode, shareUsage, ToolMetadataRegistry } from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

function registry(): ToolMetadataRegistry {
  const made = new ToolMetadataRegistry();
  for (const name of ['alpha', 'beta'])
    made.register(
      definitionOf({
        name,
        description: `Does ${name}`,
        inputSchema: { type: 'object' },
        accessMode: AccessMode.READONLY,
      }),
    );
  return made;
}

const use = (text: string, toolName = 'alpha') => ({ text, toolName, outcome: 'success' as const });

describe('shareUsage', () => {
  it('lets every process know what the others learnt, and counts nothing twice', async () => {
    const clock = new ManualClock();
    const store = new MemoryStateStore({ clock });
    const [one, other] = [registry(), registry()];
    const shared = [one, other].map(({ usage }) =>
      shareUsage(usage, store, { clock, intervalMs: 1_000 }),
    );
    one.recordUse(use('quarterly revenue report'));
    other.recordUse(use('unpaid invoices overview', 'beta'));
    await clock.advanceAsync(3_000);
    expect(one.usage.size).toBe(2);
    expect(
      one.usage
        .export()
        .requests.map(({ tools }) => tools)
        .sort(),
    ).toEqual(
      other.usage
        .export()
        .requests.map(({ tools }) => tools)
        .sort(),
    );
    const before = JSON.stringify(one.usage.export().requests);
    await clock.advanceAsync(10_000);
    expect(JSON.stringify(one.usage.export().requests)).toBe(before);
    await Promise.all(shared.map((each) => each.close()));
    expect(clock.pending).toBe(0);
  });

  it('tells what was learnt last when it is closed, so that a later process knows it', async () => {
    const store = new MemoryStateStore();
    const first = registry();
    const shared = shareUsage(first.usage, store);
    first.recordUse(use('quarterly revenue report'));
    await shared.close();
    const later = registry();
    const its = shareUsage(later.usage, store);
    await its.sync();
    expect(later.usage.size).toBe(1);
    await its.close();
  });

  it('goes on alone without the store, and is not led astray by rubbish in it', async () => {
    const store = new MemoryStateStore();
    const made = registry();
    made.recordUse(use('quarterly revenue report'));
    const shared = shareUsage(made.usage, store);
    for (const rubbish of ['', '{', 'null', '{"version":1,"uses":-1,"requests":[{"stems":5}]}']) {
      await store.compareAndSet('usage', await store.get('usage'), rubbish);
      await shared.sync();
      expect(made.usage.size).toBe(1);
      expect(JSON.parse((await store.get('usage'))!)).toMatchObject({ version: 1 });
    }
    await store.close();
    await expect(shared.sync()).resolves.toBeUndefined();
    await shared.close();
  });
});
