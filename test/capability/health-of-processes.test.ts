import { afterEach, describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp } from '../../src/http.js';
import { SafetyPolicy, ToolExecutor } from '../../src/index.js';
import { PublishedHealth } from '../../src/providers.js';
import { MemoryStateStore } from '../../src/state.js';
import { FakeProvider, ManualClock } from '../../src/testing.js';
import { jobEntry, ManifestTree, toolEntry } from './manifest-tree.js';

const tree = new ManifestTree({
  'functions.json': [
    toolEntry('search', {
      providers: [
        { name: 'primary', priority: 0, health_check_interval: 0 },
        { name: 'backup', priority: 5, health_check_interval: 0 },
      ],
      access_mode: 'readonly',
    }),
    toolEntry('plain'),
  ],
  'personas/Atlas/functions.json': [toolEntry('search')],
  'jobs.json': [jobEntry('J')],
});

/** Creates a store and processes. Each process has its own clock, and all clocks advance together. */
function machines() {
  const clocks = [new ManualClock(1_000_000)];
  const memory = new MemoryStateStore({ clock: clocks[0]! });
  const ends: (() => Promise<void>)[] = [];
  const connect = () => {
    const clock = new ManualClock(clocks[0]!.now());
    clocks.push(clock);
    return { clock, store: memory };
  };
  const advance = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500)
      for (const clock of clocks) await clock.advanceAsync(500);
  };
  /** A process that calls tools and serves nothing. */
  const caller = async () => {
    const { clock, store } = connect();
    const primary = new FakeProvider(() => 'found');
    const capabilities = await CapabilityRegistry.load({
      root: tree.root,
      clock,
      handlers: { plain: () => 1 },
    });
    const registry = capabilities.registryFor();
    const policy = new SafetyPolicy({
      registry,
      rules: [{ verdict: 'allow', tools: '*', upTo: 'critical' }],
    });
    const health = new PublishedHealth({ store, clock });
    const executor = new ToolExecutor({
      registry,
      policy,
      clock,
      store,
      health,
      random: () => 1,
      routing: { baseMs: 10_000 },
      providers: { primary: primary.factory, backup: () => ({ call: () => 'from backup' }) },
    });
    ends.push(async () => (await executor.close(), health.close()));
    const call = (name = 'search') =>
      executor.execute({ id: String(Math.random()), name, input: {} });
    return { primary, call };
  };
  /** A process that serves the catalogue and calls nothing. */
  const server = async () => {
    const { clock, store } = connect();
    const health = new PublishedHealth({ store, clock });
    ends.push(() => health.close());
    const capabilities = await CapabilityRegistry.load({ root: tree.root, clock, health });
    return {
      capabilities,
      of: (name = 'search', persona?: string) => capabilities.tool(name, persona)!.health,
    };
  };
  const close = async () => {
    for (const end of ends) await end();
  };
  return { advance, caller, server, close };
}

describe('a process that only serves the catalogue', () => {
  let all = machines();
  afterEach(async () => {
    await all.close();
    all = machines();
  });

  it("shows another process's call counts, failures, backoff, and last call as soon as it starts", async () => {
    const caller = await all.caller();
    await caller.call();
    caller.primary.fails();
    await caller.call();
    await caller.call('plain');
    await all.advance(1_000);
    const { capabilities, of } = await all.server();
    expect(of()).toMatchObject({
      tool: { total: 2, success: 2 },
      providers: {
        primary: {
          lifetime: { total: 2, failure: 1 },
          consecutiveFailures: 1,
          lastSuccess: 1_000_000,
          lastFailure: 1_000_000,
          backoffUntil: 1_010_000,
        },
        backup: { metrics: { total: 1, success: 1 }, backoffUntil: null },
      },
      lastInvocation: { provider: 'backup', success: true, at: 1_000_000 },
      lastSuccessProvider: 'backup',
    });
    expect(of('plain')).toMatchObject({
      tool: { total: 1 },
      lastInvocation: { provider: null, success: true },
    });
    expect(of('search', 'Atlas').tool.total).toBe(0);
    const wire = {
      tool: { total: 2 },
      providers: {
        primary: { router: { failures: 1, consecutive_failures: 1, backoff_until: 1_010 } },
      },
      last_invocation: { provider: 'backup', timestamp: 1_000 },
    };
    expect(
      capabilities
        .summary()
        .tools.find(({ name, persona }) => name === 'search' && persona === null)!.health,
    ).toMatchObject(wire);
    const answer = await createDiscoveryApp(capabilities).request('http://localhost/tools/search');
    expect(await answer.json()).toMatchObject({
      health: { ...wire, tool: { samples: [{ success: true }, { success: true }] } },
    });
  });

  it("shows another process's new calls and recovered providers within three seconds", async () => {
    const { of } = await all.server();
    expect(of()).toMatchObject({ tool: { total: 0 }, lastInvocation: null });
    const caller = await all.caller();
    caller.primary.fails();
    await caller.call();
    await all.advance(3_000);
    expect(of()).toMatchObject({
      tool: { total: 1 },
      providers: { primary: { backoffUntil: 1_010_000 } },
    });
    caller.primary.answers(() => 'found again');
    await all.advance(7_000);
    expect(of().providers['primary']!.backoffUntil).toBeNull();
    await caller.call();
    await caller.call();
    await all.advance(3_000);
    expect(of()).toMatchObject({
      tool: { total: 3 },
      providers: { primary: { consecutiveFailures: 0, backoffUntil: null } },
      lastSuccessProvider: 'primary',
    });
  });
});
