import { describe, expect, it } from 'vitest';
import type { ToolEvent } from '../../src/core/tool-event.js';
import { ToolError } from '../../src/core/errors.js';
import { ProviderRouter, RollingHealth, type ProviderRouterOptions } from '../../src/providers.js';
import { fail } from '../../src/tool/outcome.js';
import { FakeProvider } from '../../src/testing/fake-provider.js';
import { ManualClock } from '../../src/testing/manual-clock.js';

const REPEATABLE = { repeatable: true };

/** Returns a router over providers `a`, `b`, … in this order, by default without checks and jitter. */
function routerOf(
  fakes: Readonly<Record<string, FakeProvider>>,
  options: Partial<ProviderRouterOptions> = {},
) {
  const clock = new ManualClock(1_000_000);
  const events: ToolEvent[] = [];
  const router = new ProviderRouter({
    toolName: 'search',
    providers: Object.keys(fakes).map((name, index) => ({
      name,
      priority: index,
      healthCheckIntervalMs: 0,
    })),
    factories: new Map(Object.entries(fakes).map(([name, fake]) => [name, fake.factory])),
    clock,
    random: () => 1,
    env: {},
    onEvent: (event) => events.push(event),
    ...options,
  });
  const call = (input: unknown = {}) => router.call(input, {}, REPEATABLE);
  return { router, clock, events, call };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const statuses = (error: unknown) => (error as ToolError).details['attempts'];

describe('ProviderRouter', () => {
  it('tries providers by priority, then in declared order, and moves on after a failure', async () => {
    const [a, b, c] = [new FakeProvider(), new FakeProvider(), new FakeProvider()];
    const order: string[] = [];
    for (const [name, fake] of Object.entries({ a, b, c })) {
      fake.answers(() => {
        order.push(name);
        throw new Error('down');
      });
    }
    c.answers(() => (order.push('c'), 'from c'));
    const providers = [{ name: 'c' }, { name: 'b', priority: 7 }, { name: 'a', priority: 7 }].map(
      (spec) => ({ ...spec, healthCheckIntervalMs: 0 }),
    );
    const { call } = routerOf({ a, b, c }, { providers });
    expect(await call()).toMatchObject({
      value: 'from c',
      provider: 'c',
      attempts: [
        { provider: 'b', status: 'failed', reason: 'Error' },
        { provider: 'a', status: 'failed' },
        { provider: 'c', status: 'answered' },
      ],
    });
    expect(order).toEqual(['b', 'a', 'c']);
  });

  it('probes a failed provider after a backoff that doubles with each failure', async () => {
    const [a, b] = [new FakeProvider(), new FakeProvider()];
    a.fails();
    const { call, clock, router } = routerOf({ a, b });
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      const before = a.calls;
      await call();
      await call();
      expect(a.calls).toBe(before + 1);
      expect(router.snapshot()[0]).toMatchObject({
        state: 'backing-off',
        backoffUntil: clock.now() + seconds * 1_000,
      });
      clock.advance(seconds * 1_000 - 1);
      await call();
      expect(a.calls).toBe(before + 1);
      clock.advance(1);
    }
    a.answers(() => 'back');
    expect(await call()).toMatchObject({
      value: 'back',
      attempts: [{ provider: 'a', probe: true }],
    });
    expect(router.snapshot()[0]).toMatchObject({
      state: 'available',
      failures: 0,
      backoffUntil: null,
    });
  });

  it('counts concurrent calls that fail together as one failure', async () => {
    const a = new FakeProvider();
    let breakDown = (): void => {};
    const broken = new Promise<never>((_, reject) => (breakDown = () => reject(new Error('gone'))));
    broken.catch(() => {});
    a.answers(() => broken);
    const { router, events } = routerOf({ a, b: new FakeProvider() });
    const calls = Array.from({ length: 50 }, () => router.call({}, {}, { repeatable: false }));
    breakDown();
    const settled = await Promise.allSettled(calls);
    expect(settled.every(({ status }) => status === 'rejected')).toBe(true);
    expect(router.snapshot()[0]!.failures).toBe(1);
    expect(events.filter(({ type }) => type === 'provider-ejected')).toHaveLength(1);
  });

  it('allows another probe if the probing caller aborts, or after a minute if the probe hangs', async () => {
    const [a, b] = [new FakeProvider(), new FakeProvider()];
    a.fails();
    const { call, clock, router } = routerOf({ a, b });
    await call();
    clock.advance(1_000);
    a.answers(() => new Promise(() => {}));
    const gaveUp = new AbortController();
    const aborted = router.call({}, { signal: gaveUp.signal }, REPEATABLE);
    await clock.advanceAsync(0);
    expect(router.snapshot()[0]!.state).toBe('half-open');
    gaveUp.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    void call();
    await clock.advanceAsync(0);
    expect(a.calls).toBe(3);
    expect(await call()).toMatchObject({
      provider: 'b',
      attempts: [{ provider: 'a', status: 'skipped' }, {}],
    });
    await clock.advanceAsync(61_000);
    a.answers(() => 'back');
    expect(await call()).toMatchObject({ value: 'back' });
  });

  it('if no provider is usable, throws an error that includes each reason and the time to retry at', async () => {
    const [a, b] = [new FakeProvider(), new FakeProvider()];
    a.fails(new ToolError('TIMEOUT', 'too slow'));
    b.fails(new ToolError('PROVIDER_UNAVAILABLE', 'no connection'));
    const { call, clock } = routerOf({ a, b });
    const first = await call().catch((error: unknown) => error);
    expect(first).toMatchObject({
      code: 'PROVIDERS_EXHAUSTED',
      details: { retryAt: clock.now() + 1_000 },
    });
    expect(statuses(first)).toMatchObject([
      { status: 'failed', reason: 'TIMEOUT' },
      { status: 'failed', reason: 'PROVIDER_UNAVAILABLE' },
    ]);
    expect((first as ToolError).cause).toBeInstanceOf(AggregateError);
    clock.advance(400);
    const second = await call().catch((error: unknown) => error);
    expect(second).toMatchObject({
      code: 'PROVIDERS_EXHAUSTED',
      details: { retryAt: clock.now() + 600 },
    });
    expect(statuses(second)).toMatchObject([
      { status: 'skipped', reason: 'backing off for 600 ms after 1 consecutive failure' },
      { status: 'failed' },
    ]);
    expect([a.calls, b.calls, clock.pending]).toEqual([1, 2, 0]);
  });

  it('omits text from services in its errors, because the text might contain keys', async () => {
    const a = new FakeProvider();
    a.fails(
      Object.assign(new TypeError('https://api.example/?key=hunter2'), {
        cause: { code: 'ECONNREFUSED' },
      }),
    );
    const { call, router, events } = routerOf({ a }, { config: { a: { KEY: 'hunter2' } } });
    const error = (await call().catch((caught: unknown) => caught)) as ToolError;
    expect(error.message).toContain('TypeError ECONNREFUSED');
    expect(JSON.stringify([error.message, error.details, router.snapshot(), events])).not.toContain(
      'hunter2',
    );
  });

  it.each([
    ['a fail() result', () => fail('no such page'), 'returned'],
    [
      'EXECUTION_FAILED',
      () => {
        throw new ToolError('EXECUTION_FAILED', 'no such page');
      },
      'thrown',
    ],
  ])("treats %s as the tool's answer and tries no other provider", async (_, answer, how) => {
    const [a, b] = [new FakeProvider(answer), new FakeProvider()];
    const health = new RollingHealth();
    const { call, router } = routerOf({ a, b }, { health });
    if (how === 'returned')
      expect(await call()).toMatchObject({ value: { status: 'error', message: 'no such page' } });
    else await expect(call()).rejects.toBeInstanceOf(ToolError);
    expect(b.calls).toBe(0);
    expect(router.snapshot()[0]).toMatchObject({
      state: 'available',
      metrics: { success: 1, failure: 0 },
    });
  });

  it("throws the caller's timeout and counts it as a failure of a provider that didn't respond", async () => {
    const [a, b] = [new FakeProvider(() => new Promise(() => {})), new FakeProvider()];
    const health = new RollingHealth();
    const { router } = routerOf({ a, b }, { health });
    const deadline = new AbortController();
    const result = router.call({}, { signal: deadline.signal }, REPEATABLE);
    await settled();
    const late = new ToolError('TIMEOUT', 'time is up');
    deadline.abort(late);
    await expect(result).rejects.toBe(late);
    expect(b.calls).toBe(0);
    expect(router.snapshot()[0]).toMatchObject({ state: 'backing-off', failures: 1 });
  });

  it("calls onStart and onEnd when a provider's work really starts and ends, but not for skipped providers", async () => {
    const [a, b, c] = [
      new FakeProvider(),
      new FakeProvider(undefined, ['KEY']),
      new FakeProvider(),
    ];
    let endA = (): void => {};
    a.answers(() => new Promise((resolve) => (endA = () => resolve('late'))));
    const { router, clock } = routerOf({ a, b, c }, { attemptTimeoutMs: 100 });
    const told: string[] = [];
    const result = router.call(
      {},
      {},
      {
        ...REPEATABLE,
        onStart: (name) => told.push(`${name} starts`),
        onEnd: (name) => told.push(`${name} ends`),
      },
    );
    await clock.advanceAsync(100);
    expect(await result).toMatchObject({ provider: 'c' });
    expect(told).toEqual(['a starts', 'c starts', 'c ends']);
    endA();
    await settled();
    expect(told.at(-1)).toBe('a ends');
  });

  it('emits events for attempts, ejection, and recovery, and ignores a listener that throws', async () => {
    const a = new FakeProvider();
    a.fails();
    const { call, clock, events } = routerOf({ a }, { failuresToEject: 1 });
    await call().catch(() => {});
    clock.advance(1_000);
    a.answers(() => 'back');
    await call();
    const at = 1_000_000;
    const facts = { toolName: 'search', provider: 'a' };
    expect(events).toEqual([
      { ...facts, at, type: 'provider-attempt', success: false, latencyMs: 0, kind: 'call' },
      { ...facts, at, type: 'provider-ejected', reason: 'Error', failures: 1, backoffMs: 1_000 },
      {
        ...facts,
        at: at + 1_000,
        type: 'provider-attempt',
        success: true,
        latencyMs: 0,
        kind: 'probe',
      },
      { ...facts, at: at + 1_000, type: 'provider-recovered' },
    ]);
  });

  it('treats providers with the same name as one provider only if their configurations are equal', async () => {
    const seen: unknown[] = [];
    const providers = [{ server: 's1' }, { server: 's2' }, { server: 's1' }].map((config) => ({
      name: 'mcp',
      healthCheckIntervalMs: 0,
      config,
    }));
    const factories = {
      mcp: (config: Readonly<Record<string, unknown>>) => ({
        call: () => {
          seen.push(config['server']);
          if (config['server'] === 's1') throw new Error('down');
          return 'from s2';
        },
      }),
    };
    const router = new ProviderRouter({ toolName: 'remote', providers, factories });
    const { value, provider } = await router.call({}, {}, REPEATABLE);
    expect([value, provider]).toEqual(['from s2', router.snapshot()[1]!.identity]);
    expect(seen).toEqual(['s1', 's2']);
    expect(router.snapshot().map(({ name, state }) => [name, state])).toEqual([
      ['mcp', 'backing-off'],
      ['mcp', 'available'],
    ]);
  });

  it('throws for invalid options and for a tool without providers', async () => {
    const good = { toolName: 'search', providers: [], factories: {} };
    const wrong = [
      { toolName: '' },
      { providers: {} },
      { providers: [{ name: 'a', prio: 1 }] },
      { providers: [{ name: 'a', priority: NaN }] },
      { retries: 3 },
    ];
    for (const options of wrong)
      expect(() => new ProviderRouter({ ...good, ...options } as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    const router = new ProviderRouter(good);
    await expect(router.call({}, {}, REPEATABLE)).rejects.toMatchObject({
      code: 'PROVIDERS_EXHAUSTED',
      details: { attempts: [], retryAt: null },
    });
  });
});
