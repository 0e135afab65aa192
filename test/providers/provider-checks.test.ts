import { describe, expect, it } from 'vitest';
import type { ToolEvent } from '../../src/core/tool-event.js';
import type { ToolError } from '../../src/core/errors.js';
import {
  ProviderRouter,
  type ProviderFactory,
  type ProviderRouterOptions,
} from '../../src/providers.js';
import { FakeProvider } from '../../src/testing/fake-provider.js';
import { ManualClock } from '../../src/testing/manual-clock.js';

const REPEATABLE = { repeatable: true };

function routerOf(
  fakes: Readonly<Record<string, FakeProvider>>,
  options: Partial<ProviderRouterOptions> = {},
) {
  const clock = new ManualClock(1_000_000);
  const events: ToolEvent[] = [];
  const router = new ProviderRouter({
    toolName: 'search',
    providers: Object.keys(fakes).map((name) => ({ name })),
    factories: Object.fromEntries(
      Object.entries(fakes).map(([name, fake]) => [name, fake.factory]),
    ),
    clock,
    random: () => 1,
    env: {},
    onEvent: (event) => events.push(event),
    ...options,
  });
  return {
    router,
    clock,
    events,
    call: (signal?: AbortSignal) =>
      router.call({}, signal === undefined ? {} : { signal }, REPEATABLE),
  };
}

it('provider health checks run at most once per interval, before the provider is used', async () => {
  const a = new FakeProvider();
  const { call, clock } = routerOf({ a });
  for (let index = 0; index < 5; index += 1) await call();
  expect([a.checks, a.calls]).toEqual([1, 5]);
  clock.advance(299_999);
  await call();
  expect(a.checks).toBe(1);
  clock.advance(1);
  await call();
  expect(a.checks).toBe(2);
});

it('provider health checks are shared by concurrent callers', async () => {
  const a = new FakeProvider();
  let answer = (_: boolean): void => {};
  a.health = () => new Promise((resolve) => (answer = resolve));
  const { call, clock } = routerOf({ a });
  const calls = Array.from({ length: 100 }, () => call());
  await clock.advanceAsync(0);
  expect([a.checks, a.calls]).toEqual([1, 0]);
  answer(true);
  await Promise.all(calls);
  expect([a.checks, a.calls]).toEqual([1, 100]);
});

it.each([
  ['returns false', () => false, 'its health check failed'],
  [
    'throws',
    () => {
      throw new Error('/etc/secret');
    },
    'its health check failed: Error',
  ],
  [
    "doesn't answer",
    () => new Promise<boolean>(() => {}),
    "its health check didn't answer within 5000 ms",
  ],
])(
  'provider health checks skip a provider whose check %s, until it passes',
  async (_, health, reason) => {
    const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b')];
    a.health = health;
    const { call, clock, router, events } = routerOf({ a, b });
    const first = call();
    await clock.advanceAsync(5_000);
    expect(await first).toMatchObject({
      provider: 'b',
      attempts: [{ provider: 'a', status: 'skipped', reason }, {}],
    });
    expect(router.snapshot()[0]).toMatchObject({
      state: 'unhealthy',
      reason,
      failures: 0,
      metrics: { total: 0 },
      lastCheck: { healthy: false },
    });
    a.health = () => true;
    await call();
    expect(a.calls).toBe(0);
    clock.advance(300_000);
    expect(await call()).toMatchObject({ provider: 'a' });
    const ofA = events.filter((event) => 'provider' in event && event.provider === 'a');
    expect(ofA.map((event) => ('kind' in event ? event.kind : event.type))).toEqual([
      'check',
      'provider-ejected',
      'check',
      'provider-recovered',
      'call',
    ]);
    expect(clock.pending).toBe(0);
  },
);

it("provider health checks take at most half of a call's time if another provider can be tried", async () => {
  for (const repeatable of [true, false]) {
    const [a, b] = [new FakeProvider(), new FakeProvider()];
    a.health = () => new Promise(() => {});
    const { router, clock } = routerOf({ a, b });
    const result = router.call({}, {}, { repeatable, timeoutMs: 1_000 });
    await clock.advanceAsync(500);
    expect(await result).toMatchObject({
      provider: 'b',
      attempts: [
        { provider: 'a', status: 'skipped', reason: "its health check hasn't answered yet" },
        {},
      ],
    });
    await clock.advanceAsync(4_500);
    expect(router.snapshot()[0]).toMatchObject({ state: 'unhealthy' });
    expect(clock.pending).toBe(0);
  }
});

describe('provider credentials', () => {
  const cse: ProviderFactory = (config, env) => ({
    requires: ['GOOGLE_API_KEY', 'GOOGLE_CSE_ID'],
    call: () => `cse ${(config['GOOGLE_CSE_ID'] as string | undefined) ?? env['GOOGLE_CSE_ID']}`,
  });
  const serpapi: ProviderFactory = () => ({
    requires: [['SERPAPI_KEY', 'GOOGLE_API_KEY']],
    call: () => 'serpapi',
  });
  const providers = [
    { name: 'serpapi', priority: 20 },
    { name: 'google_cse', priority: 10 },
  ];
  const search = (options: Partial<ProviderRouterOptions>) =>
    new ProviderRouter({
      toolName: 'google_search',
      providers,
      factories: { google_cse: cse, serpapi },
      ...options,
    });

  it.each([
    ['all are set', { GOOGLE_API_KEY: 'k', GOOGLE_CSE_ID: 'id' }, {}, 'google_cse'],
    [
      'one is in the config',
      { GOOGLE_API_KEY: 'k' },
      { google_cse: { GOOGLE_CSE_ID: 'id' } },
      'google_cse',
    ],
    ['one is missing', { GOOGLE_API_KEY: 'k' }, {}, 'serpapi'],
  ])('determine whether google_cse or serpapi is used: %s', async (_, env, config, expected) => {
    expect(await search({ env, config }).call({ q: 'x' }, {}, REPEATABLE)).toMatchObject({
      provider: expected,
    });
  });

  it('are listed by name, never by value, if they are missing', async () => {
    const error = (await search({ env: { GOOGLE_CSE_ID: 'very-secret' } })
      .call({}, {}, REPEATABLE)
      .catch((caught: unknown) => caught)) as ToolError;
    expect(error).toMatchObject({ code: 'PROVIDERS_EXHAUSTED', details: { retryAt: null } });
    expect(error.message).toContain('GOOGLE_API_KEY');
    expect(error.message).toContain('SERPAPI_KEY or GOOGLE_API_KEY');
    expect(JSON.stringify([error.message, error.details])).not.toContain('very-secret');
  });
});

it('a provider factory is called once, when its provider is first needed', async () => {
  let made = 0;
  const factory: ProviderFactory = () => ((made += 1), new FakeProvider());
  const router = new ProviderRouter({
    toolName: 'search',
    providers: [{ name: 'a' }, { name: 'b' }],
    factories: { a: factory, b: factory },
  });
  expect(made).toBe(0);
  await router.call({}, {}, REPEATABLE);
  await router.call({}, {}, REPEATABLE);
  expect(made).toBe(1);
});

it('a provider factory makes its provider unhealthy if it throws, and is retried after the interval', async () => {
  let isBroken = true;
  const a: ProviderFactory = () => {
    if (isBroken) throw new RangeError('/home/me/config');
    return new FakeProvider();
  };
  const { call, clock, router } = routerOf(
    { b: new FakeProvider() },
    {
      providers: [{ name: 'a' }, { name: 'b' }],
      factories: { a, b: new FakeProvider().factory },
    },
  );
  expect(await call()).toMatchObject({
    provider: 'b',
    attempts: [{ reason: 'its factory failed: RangeError' }, {}],
  });
  expect(router.snapshot()[0]).toMatchObject({ state: 'unhealthy' });
  isBroken = false;
  expect(await call()).toMatchObject({ provider: 'b' });
  clock.advance(300_000);
  expect(await call()).toMatchObject({ provider: 'a' });
});
