import { afterEach, describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp } from '../../src/http.js';
import { SafetyPolicy, ToolExecutor } from '../../src/index.js';
import { RollingHealth, SharedHealth } from '../../src/providers.js';
import { MemoryStateStore } from '../../src/state.js';
import { FakeProvider, ManualClock } from '../../src/testing.js';
import { FaultyStore } from '../providers/faulty-store.js';
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

const MINUTE = 60_000;

/** A store and its own clock, and processes with clocks of theirs that all advance together. */
function machines() {
  const clocks = [new ManualClock(1_000_000)];
  const memory = new MemoryStateStore({ clock: clocks[0]! });
  const ends: (() => Promise<void>)[] = [];
  const connect = (skewMs = 0) => {
    const clock = new ManualClock(clocks[0]!.now() + skewMs);
    clocks.push(clock);
    return { clock, store: new FaultyStore(memory) };
  };
  const advance = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500)
      for (const clock of clocks) await clock.advanceAsync(500);
  };
  /** Calls tools, and serves nothing. */
  const caller = async ({ countsAlone = false } = {}) => {
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
    const health = new SharedHealth({ store, clock });
    const executor = new ToolExecutor({
      registry,
      policy,
      clock,
      store,
      health: countsAlone ? new RollingHealth({ clock }) : health,
      random: () => 1,
      routing: { baseMs: 10_000 },
      providers: { primary: primary.factory, backup: () => ({ call: () => 'from backup' }) },
    });
    ends.push(async () => (await executor.close(), health.close()));
    const call = (name = 'search') =>
      executor.execute({ id: String(Math.random()), name, input: {} });
    return { clock, store, primary, health, call };
  };
  /** Serves the catalogue, and calls nothing. */
  const server = async ({ skewMs = 0, isAway = false, maxKeys = 100 } = {}) => {
    const { clock, store } = connect(skewMs);
    store.setAvailable(!isAway);
    const isDeaf = { now: false };
    const subscribe = store.subscribe.bind(store);
    store.subscribe = (channel, listener) =>
      subscribe(channel, (message) => void (isDeaf.now || listener(message)));
    const health = new SharedHealth({ store, clock, maxKeys });
    ends.push(() => health.close());
    const capabilities = await CapabilityRegistry.load({ root: tree.root, clock, health });
    return {
      clock,
      store,
      health,
      isDeaf,
      capabilities,
      of: (name = 'search', persona?: string) => capabilities.tool(name, persona)!.health,
    };
  };
  const close = async () => {
    for (const end of ends) await end();
  };
  return { memory, advance, caller, server, close };
}

describe('a process that only serves', () => {
  let all = machines();
  afterEach(async () => {
    await all.close();
    all = machines();
  });

  it('shows from its start on what another process called: numbers, failures, backoff and the last call', async () => {
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

  it('hears within two seconds of tools that were never called before, of new calls, and that a provider is back', async () => {
    const { of } = await all.server();
    expect(of()).toMatchObject({ tool: { total: 0 }, lastInvocation: null });
    const caller = await all.caller();
    caller.primary.fails();
    await caller.call();
    await all.advance(2_000);
    expect(of()).toMatchObject({
      tool: { total: 1 },
      providers: { primary: { backoffUntil: 1_010_000 } },
    });
    const before = of();
    expect(of()).toBe(before);
    caller.primary.answers(() => 'found again');
    await all.advance(8_000);
    expect(of().providers['primary']!.backoffUntil).toBeNull();
    await caller.call();
    await caller.call();
    await all.advance(2_000);
    expect(of()).toMatchObject({
      tool: { total: 3 },
      providers: { primary: { consecutiveFailures: 0, backoffUntil: null } },
      lastSuccessProvider: 'primary',
    });
  });

  it('hears of a backoff that grows by probes alone', async () => {
    const [{ of }, caller] = [await all.server(), await all.caller()];
    caller.primary.fails();
    await caller.call();
    await all.advance(10_000);
    await caller.call();
    await all.advance(2_000);
    expect(of().providers['primary']).toMatchObject({
      consecutiveFailures: 2,
      backoffUntil: 1_030_000,
      metrics: { total: 1 },
    });
  });

  it('tells the end of a backoff by its own clock, also when it starts later and its clock is a minute fast', async () => {
    const caller = await all.caller();
    caller.primary.fails();
    await caller.call();
    await all.advance(4_000);
    const { clock, of } = await all.server({ skewMs: MINUTE });
    expect(of().providers['primary']!.backoffUntil! - clock.now()).toBe(6_000);
  });

  it('tells the last call of all processes by its own clock, whatever theirs say', async () => {
    const [fast, slow] = [await all.server({ skewMs: MINUTE }), await all.server()];
    fast.capabilities.recordTool('plain', { success: true, latencyMs: 1 });
    await all.advance(2_000);
    slow.capabilities.recordTool('plain', { success: false, latencyMs: 2 });
    await all.advance(2_000);
    for (const [{ of }, at] of [
      [slow, 1_002_000],
      [fast, 1_002_000 + MINUTE],
    ] as const)
      expect(of('plain')).toMatchObject({
        tool: { total: 2 },
        lastInvocation: { success: false, at },
      });
  });

  it('knows whether a provider is left alone also of processes that count health on their own', async () => {
    const [{ of }, caller] = [await all.server(), await all.caller({ countsAlone: true })];
    expect(of().providers['primary']).toMatchObject({ consecutiveFailures: 0, backoffUntil: null });
    caller.primary.fails();
    await caller.call();
    await all.advance(2_000);
    expect(of()).toMatchObject({
      tool: { total: 0 },
      providers: { primary: { consecutiveFailures: 1, backoffUntil: 1_010_000 } },
    });
  });

  it('shows the runs of jobs elsewhere', async () => {
    const { capabilities } = await all.server();
    (await all.server()).capabilities.recordJob('J', { success: false, latencyMs: 3 });
    await all.advance(2_000);
    expect(capabilities.jobs()[0]!.health).toMatchObject({ total: 1, failure: 1 });
  });

  it('starts without the store, and loads when that is back', async () => {
    const caller = await all.caller();
    await caller.call();
    await all.advance(1_000);
    const { store, of } = await all.server({ isAway: true });
    expect(of().tool.total).toBe(0);
    store.setAvailable(true);
    await all.advance(1_000);
    expect(of().tool.total).toBe(1);
  });

  it('reads again what it could not hear while its store was away', async () => {
    const caller = await all.caller();
    await caller.call();
    await all.advance(1_000);
    const { store, of, isDeaf } = await all.server();
    store.setAvailable(false);
    isDeaf.now = true;
    await caller.call('plain');
    await caller.call();
    await all.advance(2_000);
    isDeaf.now = false;
    expect([of().tool.total, of('plain').tool.total]).toEqual([1, 0]);
    store.setAvailable(true);
    await all.advance(1_000);
    expect([of().tool.total, of('plain').tool.total]).toEqual([2, 1]);
  });

  it('keeps at most so many names, and loses no call of its own to those that it hears of', async () => {
    const caller = await all.caller();
    const { health, store } = await all.server({ maxKeys: 10 });
    for (let index = 0; index < 50; index += 1)
      caller.health.record({ kind: 'tool', name: `tool ${index}`, success: true, latencyMs: 1 });
    await caller.health.flush();
    store.next = () => {
      store.next = () => 'none';
      health.record({ kind: 'tool', name: 'own', success: true, latencyMs: 1 });
      return 'none';
    };
    await all.advance(3_000);
    const known = Array.from(
      { length: 50 },
      (_, index) => health.summary('tool', `tool ${index}`).total,
    );
    expect(known.filter((total) => total === 1)).toHaveLength(9);
    expect(await all.memory.get('health:tool:own')).toContain('[[1,1,1001000]]');
  });

  it('is not held up by messages and keys of other programs', async () => {
    const { memory } = all;
    await memory.append('health:tool:a list', 'x', { max: 1 });
    await memory.compareAndSet('provider:search/x', undefined, 'damaged');
    const [{ of, store }, caller] = [await all.server(), await all.caller()];
    for (const message of [
      '',
      '{',
      '[]',
      '["x"]',
      '["x",1]',
      JSON.stringify(['x', 'health:'.padEnd(600, 'x')]),
      '["x","health:tool:a list"]',
      '["x","approval:1"]',
    ]) {
      await memory.publish('health', message);
      await memory.publish('providers', message);
    }
    await caller.call();
    await all.advance(2_000);
    expect(of().tool.total).toBe(1);
    store.operations.length = 0;
    await all.advance(5_000);
    expect(store.operations).toEqual([]);
  });

  it('asks the store for nothing while nobody calls', async () => {
    const { store } = await all.server();
    await all.advance(2_000);
    store.operations.length = 0;
    await all.advance(10 * MINUTE);
    expect(store.operations).toEqual([]);
  });
});
