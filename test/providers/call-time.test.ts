import { expect, it } from 'vitest';
import { ToolError } from '../../src/core/errors.js';
import { ProviderRouter, type ProviderRouterOptions } from '../../src/providers.js';
import { FakeProvider } from '../../src/testing/fake-provider.js';
import { ManualClock } from '../../src/testing/manual-clock.js';

/** Returns a router over providers in the given order, by default without checks and jitter. */
function routerOf(
  fakes: Readonly<Record<string, FakeProvider>>,
  options: Partial<ProviderRouterOptions> = {},
) {
  const clock = new ManualClock(1_000_000);
  const router = new ProviderRouter({
    toolName: 'search',
    providers: Object.keys(fakes).map((name) => ({ name, healthCheckIntervalMs: 0 })),
    factories: Object.fromEntries(
      Object.entries(fakes).map(([name, fake]) => [name, fake.factory]),
    ),
    clock,
    random: () => 1,
    env: {},
    ...options,
  });
  return { router, clock, call: () => router.call({}, {}, { repeatable: true }) };
}

const hangs = () => new Promise(() => {});
/** Returns a call that is aborted after `timeoutMs`, like a call from an executor. */
function callFor(router: ProviderRouter, clock: ManualClock, timeoutMs: number, repeatable = true) {
  const deadline = new AbortController();
  const started: { readonly provider: string; readonly at: number }[] = [];
  clock.after(timeoutMs, () => deadline.abort(new ToolError('TIMEOUT', 'time is up')));
  const result = router.call(
    {},
    { signal: deadline.signal },
    {
      repeatable,
      timeoutMs,
      onStart: (provider) => started.push({ provider, at: clock.elapsed() }),
    },
  );
  const told = { ended: -1 };
  const code = result
    .then(
      ({ value }) => value,
      (error: { code: string }) => error.code,
    )
    .finally(() => (told.ended = clock.elapsed()));
  return { started, code, told };
}

it('each provider gets half of the remaining time, and the last provider gets all of it', async () => {
  const { router, clock } = routerOf({
    a: new FakeProvider(hangs),
    b: new FakeProvider(hangs),
    c: new FakeProvider(hangs),
  });
  const { started, code } = callFor(router, clock, 800);
  await clock.advanceAsync(800);
  expect(await code).toBe('TIMEOUT');
  expect(started).toEqual([
    { provider: 'a', at: 0 },
    { provider: 'b', at: 400 },
    { provider: 'c', at: 600 },
  ]);
  expect(router.snapshot().map(({ failures }) => failures)).toEqual([1, 1, 1]);
  expect(clock.pending).toBe(0);
});

it('a provider gets all the remaining time if no other provider would be tried after it', async () => {
  const [a, keyless, down, ill] = [
    new FakeProvider(),
    new FakeProvider(undefined, ['KEY']),
    new FakeProvider(),
    new FakeProvider(),
  ];
  const providers = ['a', 'keyless', 'down', 'ill'].map((name) => ({
    name,
    healthCheckIntervalMs: name === 'ill' ? 60_000 : 0,
  }));
  const draws = [0, 1]; // The backoff of `a` ends immediately, and the backoff of `b` after a second.
  const { router, clock, call } = routerOf(
    { a, keyless, down, ill },
    { providers, random: () => draws.shift()! },
  );
  a.fails();
  down.fails();
  ill.health = () => false;
  await expect(call()).rejects.toMatchObject({ code: 'PROVIDERS_EXHAUSTED' });
  a.answers(hangs);
  const { started, code } = callFor(router, clock, 800);
  await clock.advanceAsync(799);
  expect(router.snapshot()[0]!.state).toBe('half-open');
  expect(started).toEqual([{ provider: 'a', at: 0 }]);
  await clock.advanceAsync(1);
  expect(await code).toBe('TIMEOUT');
});

it('attemptTimeoutMs replaces the default share of the time', async () => {
  const { router, clock } = routerOf(
    { a: new FakeProvider(hangs), b: new FakeProvider() },
    { attemptTimeoutMs: 700 },
  );
  const { started, code } = callFor(router, clock, 800);
  await clock.advanceAsync(700);
  expect(await code).toBe('answered');
  expect(started[1]).toEqual({ provider: 'b', at: 700 });
});

it("a call that can't be repeated gets the whole time, because no other provider would be tried", async () => {
  const b = new FakeProvider();
  const { router, clock } = routerOf({ a: new FakeProvider(hangs), b });
  const { code, told } = callFor(router, clock, 800, false);
  await clock.advanceAsync(800);
  expect(await code).toBe('TIMEOUT');
  expect(told.ended).toBe(800);
  expect(b.calls).toBe(0);
});
