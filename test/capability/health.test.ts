import { describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { SafetyPolicy, ToolExecutor } from '../../src/index.js';
import { RollingHealth } from '../../src/providers.js';
import { ManualClock } from '../../src/testing.js';
import {
  golden,
  jobEntry,
  ManifestTree,
  owned,
  present,
  toolEntry,
  warnIfAbsent,
} from './manifest-tree.js';

warnIfAbsent('capability health');

const sample = new ManifestTree({
  'functions.json': [
    toolEntry('search', {
      providers: [
        { name: 'Primary', priority: 0 },
        { name: 'backup', priority: 5 },
      ],
      access_mode: 'readonly',
    }),
    toolEntry('plain'),
  ],
  'personas/Atlas/functions.json': [toolEntry('search')],
  'jobs.json': [jobEntry('J', { personas: ['Atlas', 'Nova'] })],
});

it("health counts a persona's calls for the persona's own tool, not for the shared tool of that name", async () => {
  const clock = new ManualClock(1_000_000);
  const registry = await CapabilityRegistry.load({ root: sample.root, clock });
  for (const success of [false, true, true, true])
    registry.recordTool('search', { success, latencyMs: 100 });
  registry.recordTool('search', { success: false, latencyMs: 9 }, { persona: 'ATLAS' });
  expect(registry.tool('search')!.health.tool).toMatchObject({
    total: 4,
    success: 3,
    failure: 1,
    successRate: 0.75,
    lastSampleAt: 1_000_000,
  });
  expect(registry.tool('search', 'atlas')!.health).toMatchObject({
    tool: { total: 1, successRate: 0 },
    lastInvocation: { success: false, latencyMs: 9, at: 1_000_000 },
  });
  expect(owned(registry.tools({ minSuccessRate: 0.75, requireCalls: true }))).toEqual([
    'search@shared',
  ]);
  expect(owned(registry.tools({ minSuccessRate: 0.76, requireCalls: true }))).toEqual([]);
});

it('health includes jobs in counts, summaries, and queries', async () => {
  const clock = new ManualClock(5_000);
  const registry = await CapabilityRegistry.load({ root: sample.root, clock });
  registry.recordJob('J', { success: false, latencyMs: 45 });
  registry.recordJob('J', { success: true, latencyMs: 55 }, { persona: 'Atlas' });
  expect(registry.summary().jobs[0]!.health.last_invocation).toEqual({
    success: true,
    latency_ms: 55,
    timestamp: 5,
  });
  expect(registry.summary().jobs[0]!.health.job).toEqual({
    abandoned: 0,
    total: 2,
    success: 1,
    failure: 1,
    success_rate: 0.5,
    average_latency_ms: 50,
    p95_latency_ms: 54.5,
    last_sample_at: 5,
  });
  expect(registry.jobs({ minSuccessRate: 0.5 })).toHaveLength(1);
  expect(registry.jobs({ minSuccessRate: 0.6 })).toHaveLength(0);
});

describe('an attached executor', () => {
  const setUp = async (shareLog: boolean, { root } = sample) => {
    const clock = new ManualClock(10_000);
    const health = new RollingHealth({ clock });
    const capabilities = await CapabilityRegistry.load({
      root,
      clock,
      handlers: { plain: () => 1, search: () => 2 },
      ...(shareLog ? { health } : {}),
    });
    const answers = { Primary: (): unknown => 'found', backup: (): unknown => 'from backup' };
    const provider = (name: keyof typeof answers) => () => ({
      name,
      call: () => Promise.resolve().then(() => answers[name]()),
    });
    const make = (persona?: string) => {
      const registry = capabilities.registryFor(persona);
      return new ToolExecutor({
        registry,
        clock,
        random: () => 1,
        health: shareLog ? health : new RollingHealth({ clock }),
        policy: new SafetyPolicy({
          registry,
          rules: [{ verdict: 'allow', tools: '*', upTo: 'critical' }],
        }),
        providers: { Primary: provider('Primary'), backup: provider('backup') },
      });
    };
    return { clock, capabilities, answers, make };
  };

  it.each([true, false])(
    "counts each call once (the executor shares the registry's log: %s)",
    async (shareLog) => {
      const { capabilities, make } = await setUp(shareLog);
      const executor = make();
      const stop = capabilities.attach(executor);
      expect(await executor.execute({ id: '1', name: 'search', input: {} })).toMatchObject({
        status: 'ok',
      });
      await executor.execute({ id: '2', name: 'plain', input: {} });
      const { tool, providers, lastInvocation, lastSuccessProvider } =
        capabilities.tool('search')!.health;
      expect([tool.total, lastInvocation?.provider, lastSuccessProvider]).toEqual([
        1,
        'Primary',
        'Primary',
      ]);
      expect(providers['Primary']).toMatchObject({
        metrics: { total: 1, success: 1 },
        lifetime: { total: 1 },
        lastSuccess: 10_000,
        backoffUntil: null,
      });
      expect(providers['backup']!.metrics.total).toBe(0);
      expect(capabilities.tool('plain')!.health.tool.total).toBe(1);
      stop();
      await executor.execute({ id: '3', name: 'search', input: {} });
      expect(capabilities.tool('search')!.health.lastInvocation?.at).toBe(10_000);
    },
  );

  it('makes a tool without credentials available while one of its providers succeeds', async () => {
    const { capabilities, answers, make } = await setUp(
      false,
      new ManifestTree({
        'functions.json': [
          toolEntry('search', {
            providers: [{ name: 'Primary' }, { name: 'backup', priority: 200 }],
            access_mode: 'readonly',
            auth: { required: true, env: 'KEY' },
          }),
          toolEntry('plain'),
        ],
      }),
    );
    const executor = make();
    capabilities.attach(executor);
    const isAvailable = () => capabilities.tool('search')!.available;
    expect(isAvailable()).toBe(false);
    await executor.execute({ id: '1', name: 'search', input: {} });
    expect(isAvailable()).toBe(true);
    answers.Primary = answers.backup = () => {
      throw new Error('down');
    };
    await executor.execute({ id: '2', name: 'search', input: {} });
    expect(isAvailable()).toBe(false);
  });

  it('reports which provider is backing off, until when, and which provider answered instead', async () => {
    const { clock, capabilities, answers, make } = await setUp(false);
    const executor = make();
    capabilities.attach(executor);
    answers.Primary = () => {
      throw new Error('down');
    };
    await executor.execute({ id: '1', name: 'search', input: {} });
    const wire = capabilities
      .summary()
      .tools.find(({ name, persona }) => name === 'search' && persona === null)!.health;
    expect(wire).toMatchObject({
      tool: { total: 1, success: 1, success_rate: 1 },
      providers: {
        Primary: {
          metrics: { total: 1, failure: 1 },
          router: {
            successes: 0,
            failures: 1,
            consecutive_failures: 1,
            failure_rate: 1,
            last_failure: 10,
            last_success: null,
            backoff_until: 11,
          },
          last_call: { success: false, timestamp: 10 },
        },
        backup: {
          router: { successes: 1, failure_rate: 0, backoff_until: null },
          last_call: { success: true },
        },
      },
      last_invocation: { provider: 'backup', success: true, timestamp: 10 },
      last_success_provider: 'backup',
    });
    clock.advance(1_000);
    expect(capabilities.tool('search')!.health.providers['Primary']!.backoffUntil).toBeNull();
    answers.Primary = () => 'up again';
    await executor.execute({ id: '2', name: 'search', input: {} });
    expect(capabilities.tool('search')!.health).toMatchObject({
      lastSuccessProvider: 'Primary',
      providers: { Primary: { consecutiveFailures: 0, backoffUntil: null } },
    });
  });

  it("doesn't count refused calls", async () => {
    const { capabilities } = await setUp(false);
    const registry = capabilities.registryFor();
    const executor = new ToolExecutor({
      registry,
      policy: new SafetyPolicy({ registry, rules: [{ verdict: 'deny' }] }),
    });
    capabilities.attach(executor);
    await executor.execute({ id: '1', name: 'plain', input: {} });
    expect(capabilities.tool('plain')!.health).toMatchObject({
      tool: { total: 0 },
      lastInvocation: null,
    });
  });
});

describe('a registry with the recorded manifests', () => {
  type Recorded = {
    readonly files: Readonly<Record<string, unknown>>;
    readonly query_tools: readonly {
      readonly query: Readonly<Record<string, unknown>>;
      readonly output: readonly string[];
    }[];
    readonly query_jobs: readonly {
      readonly query: Readonly<Record<string, unknown>>;
      readonly output: readonly string[];
    }[];
  };
  const setUp = async () => {
    const recorded = golden<Recorded>('registry_fixture');
    const registry = await CapabilityRegistry.load({ root: new ManifestTree(recorded.files).root });
    for (const [index, success] of [false, true, true, true].entries())
      registry.recordTool('sum_tool', { success, latencyMs: 100 + index });
    registry.recordTool('sum_tool', { success: false, latencyMs: 9 }, { persona: 'atlas' });
    registry.recordJob('GlobalJob', { success: false, latencyMs: 45 });
    return { recorded, registry };
  };

  it.runIf(present)(
    'returns the recorded results for tool queries, except that a bare version is a range',
    async () => {
      const { recorded, registry } = await setUp();
      for (const { query, output } of recorded.query_tools) {
        const {
          persona_filters: personas,
          capability_filters: capability,
          provider_filters: provider,
          version_constraint: version,
          min_success_rate: rate,
        } = query;
        const asked = JSON.parse(
          JSON.stringify({
            personas,
            capability,
            provider,
            version,
            minSuccessRate: rate,
            ...(typeof rate === 'number' && rate > 0 ? { requireCalls: true } : {}),
          }),
        ) as object;
        const expected =
          version === '1.0' ? ['atlas_only@Atlas', 'nova_only@Nova', 'restricted@shared'] : output;
        expect([...owned(registry.tools(asked))].sort(), JSON.stringify(query)).toEqual(
          [...expected].sort(),
        );
      }
    },
  );

  it.runIf(present)('returns the recorded results for job queries', async () => {
    const { recorded, registry } = await setUp();
    for (const { query, output } of recorded.query_jobs) {
      const {
        persona_filters: personas,
        required_capability_filters: requiredCapability,
        required_skill_filters: skill,
      } = query;
      expect(
        owned(
          registry.jobs(
            JSON.parse(JSON.stringify({ personas, requiredCapability, skill })) as object,
          ),
        ),
        JSON.stringify(query),
      ).toEqual(output);
    }
  });
});
