import { describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp } from '../../src/http.js';
import { defineTool, SafetyPolicy, ToolExecutor } from '../../src/index.js';
import { RollingHealth } from '../../src/providers.js';
import { ManualClock } from '../../src/testing.js';

const never = () => new Promise<never>(() => undefined);
const reading = {
  description: 'Reads',
  inputSchema: { type: 'object' },
  sideEffects: ['none'],
  allowParallel: true,
  timeoutMs: 100,
} as const;

async function serving(sharesLog: boolean) {
  const clock = new ManualClock();
  const health = new RollingHealth({ clock });
  const tools = [
    defineTool({ ...reading, name: 'hangs', execute: never }),
    defineTool({ ...reading, name: 'routed', providers: [{ name: 'deaf' }] }),
    defineTool({ ...reading, name: 'quick', execute: () => 'done' }),
  ];
  const capabilities = await CapabilityRegistry.load({
    tools,
    env: {},
    clock,
    ...(sharesLog && { health }),
  });
  const registry = capabilities.registryFor();
  const policy = new SafetyPolicy({
    registry,
    rules: [{ verdict: 'allow', tools: '*', upTo: 'critical' }],
  });
  const executor = new ToolExecutor({
    registry,
    policy,
    clock,
    health: sharesLog ? health : new RollingHealth({ clock }),
    providers: { deaf: () => ({ name: 'deaf', call: never }) },
  });
  capabilities.attach(executor);
  const app = createDiscoveryApp(capabilities, { page: false });
  const call = async (name: string) => {
    const running = executor.execute({ id: name, name, input: {} });
    await clock.advanceAsync(100);
    return (await running).abandoned;
  };
  const json = async (path: string) =>
    (await (await app.request(path)).json()) as {
      readonly abandoned: unknown;
      readonly tools: readonly unknown[];
    };
  return { call, json };
}

describe('an abandoned call', () => {
  it.each([true, false])(
    "is counted for its tool and in the total (executor shares the catalogue's log: %s)",
    async (sharesLog) => {
      const { call, json } = await serving(sharesLog);
      expect(await json('/health')).toMatchObject({ abandoned: { calls: 0, tools: [] } });
      expect([
        await call('hangs'),
        await call('hangs'),
        await call('routed'),
        await call('quick'),
      ]).toEqual([true, true, true, undefined]);
      const counted = (total: number, abandoned: number) => ({
        health: { tool: { total, abandoned } },
      });
      for (const [name, total, abandoned] of [
        ['hangs', 2, 2],
        ['routed', 1, 1],
        ['quick', 1, 0],
      ] as const) {
        expect(await json(`/tools/${name}`), name).toMatchObject(counted(total, abandoned));
        expect((await json(`/tools?name=${name}`)).tools, name).toMatchObject([
          counted(total, abandoned),
        ]);
      }
      expect((await json('/health')).abandoned).toEqual({
        calls: 3,
        tools: [
          { name: 'hangs', persona: null, calls: 2 },
          { name: 'routed', persona: null, calls: 1 },
        ],
      });
    },
  );
});
