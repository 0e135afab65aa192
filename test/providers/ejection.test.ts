import { expect, it } from 'vitest';
import type { ToolEvent } from '../../src/core/tool-event.js';
import { ToolError } from '../../src/core/errors.js';
import { ProviderRouter, type ProviderRouterOptions } from '../../src/providers.js';
import { FakeProvider } from '../../src/testing/fake-provider.js';
import { ManualClock } from '../../src/testing/manual-clock.js';

type Fakes = Readonly<Record<string, FakeProvider>>;

/** Returns a router over providers in the given order, by default without checks and jitter. */
function routerOf(fakes: Fakes, options: Partial<ProviderRouterOptions> = {}) {
  const clock = (options.clock as ManualClock | undefined) ?? new ManualClock(1_000_000);
  const events: ToolEvent[] = [];
  const router = new ProviderRouter({
    toolName: 'search',
    providers: Object.keys(fakes).map((name) => ({ name, healthCheckIntervalMs: 0 })),
    factories: Object.fromEntries(
      Object.entries(fakes).map(([name, fake]) => [name, fake.factory]),
    ),
    clock,
    random: () => 1,
    env: {},
    onEvent: (event) => events.push(event),
    ...options,
  });
  /** Makes one call. Returns its answer or error code, and the number of providers that were called. */
  const call = async (repeatable = true) => {
    const before = callsOf(fakes);
    const answer = await router.call({}, {}, { repeatable }).then(
      ({ value }) => value,
      (error: unknown) => (error as { code?: string }).code ?? 'failed',
    );
    return { answer, sent: callsOf(fakes) - before };
  };
  const ejections = () =>
    events.flatMap((event) => (event.type === 'provider-ejected' ? [event.provider] : []));
  return { router, clock, events, ejections, call };
}

const callsOf = (fakes: Fakes) => Object.values(fakes).reduce((sum, { calls }) => sum + calls, 0);
const settled = () => new Promise((resolve) => setImmediate(resolve));
const busy = (retryAfterMs: number) =>
  new ToolError('PROVIDER_UNAVAILABLE', 'too many requests', { details: { retryAfterMs } });

it('a single provider backs off after five consecutive failures, and is then probed by a single call', async () => {
  const a = new FakeProvider();
  a.fails();
  const { call, clock, router, ejections } = routerOf({ a });
  for (let failures = 1; failures <= 4; failures += 1) {
    expect(await call()).toEqual({ answer: 'PROVIDERS_EXHAUSTED', sent: 1 });
    expect(router.snapshot()[0]).toMatchObject({
      state: 'available',
      failures,
      backoffUntil: null,
    });
  }
  expect(ejections()).toEqual([]);
  expect((await call()).sent).toBe(1);
  expect(ejections()).toEqual(['a']);
  expect(router.snapshot()[0]).toMatchObject({
    state: 'backing-off',
    failures: 5,
    backoffUntil: clock.now() + 16_000,
  });
  expect(await call()).toEqual({ answer: 'PROVIDERS_EXHAUSTED', sent: 0 });
  clock.advance(16_000);
  let end = (): void => {};
  a.answers(() => new Promise((resolve) => (end = () => resolve('back'))));
  const calls = Array.from({ length: 1_000 }, () => call());
  await settled();
  expect(a.calls).toBe(6);
  end();
  expect((await Promise.all(calls)).filter(({ answer }) => answer === 'back')).toHaveLength(1);
  expect(router.snapshot()[0]).toMatchObject({ state: 'available', failures: 0 });
});

it('a success resets the number of consecutive failures', async () => {
  const a = new FakeProvider();
  const { call, ejections } = routerOf({ a });
  for (let round = 0; round < 5; round += 1) {
    a.fails();
    for (let failures = 0; failures < 4; failures += 1) expect((await call()).sent).toBe(1);
    a.answers(() => 'back');
    expect(await call()).toEqual({ answer: 'back', sent: 1 });
  }
  expect(ejections()).toEqual([]);
});

it('a single provider backs off after failuresToEject failures', async () => {
  for (const failuresToEject of [1, 3]) {
    const a = new FakeProvider();
    a.fails();
    const { call } = routerOf({ a }, { failuresToEject });
    for (let index = 0; index < 10; index += 1) await call();
    expect(a.calls).toBe(failuresToEject);
  }
});

it.each([
  ['details.retryAfterMs', busy(30_000)],
  [
    'the headers of a fetch response',
    Object.assign(new Error('429'), { headers: new Headers({ 'Retry-After': '30' }) }),
  ],
])(
  'a provider that requests a retry delay backs off for the requested time after one failure, even if it is the only provider: %s',
  async (_, error) => {
    const a = new FakeProvider();
    a.fails(error);
    const { call, clock, router, ejections } = routerOf({ a });
    expect((await call()).sent).toBe(1);
    expect(ejections()).toEqual(['a']);
    expect(router.snapshot()[0]).toMatchObject({ state: 'backing-off', backoffUntil: 1_030_000 });
    clock.advance(29_999);
    expect((await call()).sent).toBe(0);
    clock.advance(1);
    a.answers(() => 'back');
    expect(await call()).toEqual({ answer: 'back', sent: 1 });
  },
);

it('a provider that requests a retry delay is probed after ten minutes at the latest, even if it requests a longer delay', async () => {
  const a = new FakeProvider();
  a.fails(busy(86_400_000));
  const { call, clock } = routerOf({ a });
  await call();
  clock.advance(599_999);
  expect((await call()).sent).toBe(0);
  clock.advance(1);
  expect((await call()).sent).toBe(1);
});

it('a provider backs off after one failure if another provider is usable, and the last usable provider after five failures', async () => {
  const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b')];
  a.fails();
  const { call, router, ejections } = routerOf({ a, b });
  expect(await call()).toEqual({ answer: 'from b', sent: 2 });
  expect(ejections()).toEqual(['a']);
  b.fails();
  for (let failures = 1; failures <= 4; failures += 1) {
    expect((await call()).sent).toBe(1);
    expect(router.snapshot()[1]).toMatchObject({ state: 'available', failures });
  }
  expect(b.calls).toBe(5);
  await call();
  expect(ejections()).toEqual(['a', 'b']);
});

it('a provider counts as the last usable provider if all others lack credentials or a factory, are unhealthy, or are backing off', async () => {
  const others: Readonly<Record<string, (b: FakeProvider) => Partial<ProviderRouterOptions>>> = {
    'no credentials': () => ({}),
    unhealthy: (b) => {
      b.health = () => false;
      return {
        env: { KEY: 'k' },
        providers: [
          { name: 'b', priority: 1 },
          { name: 'a', priority: 2, healthCheckIntervalMs: 0 },
        ],
      };
    },
  };
  for (const [why, make] of Object.entries(others)) {
    const [a, b] = [new FakeProvider(), new FakeProvider(undefined, ['KEY'])];
    const { call, ejections } = routerOf({ a, b }, make(b));
    await call();
    a.fails();
    const before = a.calls;
    for (let failures = 1; failures <= 5; failures += 1) {
      expect(
        ejections().filter((name) => name === 'a'),
        why,
      ).toEqual([]);
      await call();
    }
    expect(a.calls - before, why).toBe(5);
    expect(
      ejections().filter((name) => name === 'a'),
      why,
    ).toEqual(['a']);
  }
});
