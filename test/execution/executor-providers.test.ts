import { expect, it } from 'vitest';
import {
  ToolError,
  type ToolDefinition,
  type ToolEvent,
  type ToolExecutorOptions,
} from '../../src/index.js';
import { FakeProvider } from '../../src/testing/fake-provider.js';
import { allowAll, Gate, reader, settled, setup, writer } from './fixtures/executor-setup.js';

const hangs = (): Promise<never> => new Promise(() => {});
const named = (...names: readonly string[]) =>
  names.map((name, priority) => ({ name, priority, healthCheckIntervalMs: 0 }));
const search = (extra: Parameters<typeof reader>[2] = {}): ToolDefinition =>
  reader('search', undefined, { providers: named('a', 'b'), ...extra });

/** Returns an executor over fake providers. Its policy never asks for approval. */
function withProviders(
  tools: readonly ToolDefinition[],
  fakes: Readonly<Record<string, FakeProvider>>,
  options: Partial<ToolExecutorOptions> = {},
) {
  const providers = Object.fromEntries(
    Object.entries(fakes).map(([name, fake]) => [name, fake.factory]),
  );
  let id = 0;
  const all = setup(tools, {
    policy: allowAll,
    env: {},
    random: () => 1 - Number.EPSILON,
    providers,
    ...options,
  });
  const call = (name = 'search', rest: Parameters<typeof all.executor.execute>[1] = {}) =>
    all.executor.execute({ id: `${(id += 1)}`, name }, rest);
  const told = (type: ToolEvent['type']) => all.events.filter((event) => event.type === type);
  return { ...all, call, told };
}

it('if the first provider fails, the next provider answers and the outcome reports its name', async () => {
  const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b')];
  a.fails();
  const { call, told } = withProviders([search()], { a, b });
  expect(await call()).toMatchObject({
    status: 'ok',
    value: 'from b',
    provider: 'b',
    attempts: 2,
  });
  expect(told('provider-attempt')).toMatchObject([
    { provider: 'a', success: false },
    { provider: 'b', success: true },
  ]);
  expect(told('call-settled')).toMatchObject([{ provider: 'b', attempts: 2 }]);
  expect(told('late-result')).toEqual([]);
});

it('a provider that hangs is given up early enough to try the next provider', async () => {
  const [a, b] = [new FakeProvider(hangs), new FakeProvider(() => 'from b')];
  const { call, clock, executor } = withProviders([search()], { a, b }, { timeoutMs: 800 });
  const outcome = call();
  await clock.advanceAsync(400);
  expect(await outcome).toMatchObject({
    status: 'ok',
    value: 'from b',
    provider: 'b',
    attempts: 2,
    durationMs: 400,
  });
  expect(executor.providers('search')).toMatchObject([
    { provider: 'a', state: 'backing-off' },
    { provider: 'b', state: 'available' },
  ]);
  await clock.advanceAsync(1_000);
  expect(clock.pending).toBe(0);
});

it('a write moves on to the next provider only if nothing was sent', async () => {
  const [a, b] = [new FakeProvider(hangs), new FakeProvider()];
  const { call, clock, executor } = withProviders(
    [writer('save', undefined, { providers: named('a', 'b'), allowParallel: true })],
    { a, b },
    { timeoutMs: 800 },
  );
  const slow = call('save');
  await clock.advanceAsync(800);
  expect(await slow).toMatchObject({ code: 'TIMEOUT', attempts: 1 });
  await clock.advanceAsync(60_000);
  for (const { callId } of executor.abandoned()) executor.release(callId);
  a.fails(new Error('connection reset'));
  expect(await call('save')).toMatchObject({ code: 'EXECUTION_FAILED', attempts: 1 });
  expect(b.calls).toBe(0);
  await clock.advanceAsync(60_000);
  a.fails(new ToolError('PROVIDER_UNAVAILABLE', 'not connected'));
  expect(await call('save')).toMatchObject({ status: 'ok', provider: 'b', attempts: 2 });
});

it('a call that needed no approval and has an idempotency key is retried with the next provider under the same key', async () => {
  const keys: unknown[] = [];
  const [a, b] = [
    new FakeProvider(),
    new FakeProvider((_, { idempotencyKey }) => void keys.push(idempotencyKey)),
  ];
  a.answers((_, { idempotencyKey }) => {
    keys.push(idempotencyKey);
    throw new Error('connection reset');
  });
  const save = writer('save', undefined, { providers: named('a', 'b'), idempotencyKey: true });
  expect(await withProviders([save], { a, b }).call('save')).toMatchObject({
    status: 'ok',
    provider: 'b',
  });
  expect(keys).toEqual([expect.any(String), keys[0]]);
  const approved = withProviders(
    [save],
    { a, b },
    {
      policy: { decide: () => ({ ...allowAll.decide(), verdict: 'confirm' }) },
      confirm: () => true,
    },
  );
  expect(await approved.call('save')).toMatchObject({ status: 'error', attempts: 1 });
  expect(b.calls).toBe(1);
});

it("a tool's own function answers if none of its providers is configured", async () => {
  const { call, executor } = withProviders(
    [reader('search', () => 'own', { providers: named('a') })],
    {},
  );
  expect(await call()).toMatchObject({ value: 'own', attempts: 1 });
  expect(executor.health.lifetime('tool', 'search').total).toBe(1);
  expect(executor.providers('search')).toEqual([]);
});

it('a call uses the provider whose credentials are in the environment', async () => {
  const fakes = { a: new FakeProvider(() => 'from a', ['KEY']), b: new FakeProvider() };
  for (const [env, provider] of [
    [{ KEY: 'k' }, 'a'],
    [{}, 'b'],
  ] as const)
    expect(await withProviders([search()], fakes, { env }).call()).toMatchObject({ provider });
});

it('executor.providers reports which providers are backing off and until when', async () => {
  const [a, b] = [new FakeProvider(), new FakeProvider()];
  a.fails();
  const { call, clock, executor } = withProviders([search({ aliases: ['find'] })], { a, b });
  expect(executor.providers('search')).toEqual([]);
  await call();
  const [first, second] = executor.providers('search');
  expect(first).toMatchObject({ provider: 'a', state: 'backing-off', failures: 1 });
  expect(first!.backoffUntil).toBeCloseTo(clock.now() + 1_000, 6);
  expect(second).toMatchObject({
    provider: 'b',
    state: 'available',
    metrics: { total: 1, success: 1 },
  });
  expect(executor.providers('find')).toEqual(executor.providers('search'));
  await clock.advanceAsync(1_000);
  a.answers(() => 'back');
  expect(await call()).toMatchObject({ value: 'back', provider: 'a' });
  expect(executor.providers('search')).toMatchObject([
    { state: 'available', backoffUntil: null },
    {},
  ]);
});

it.each([
  ['without a reason', undefined],
  ['because of its own timeout', new DOMException('too long', 'TimeoutError')],
])(
  'if the caller aborts %s, no failure is recorded for the provider and no other provider is called',
  async (_, reason) => {
    const gate = new Gate<string>();
    const [a, b] = [new FakeProvider(() => gate.promise), new FakeProvider()];
    const { call, clock, executor, told } = withProviders([search()], { a, b });
    const caller = new AbortController();
    const outcome = call('search', { signal: caller.signal });
    await clock.advanceAsync(10);
    caller.abort(reason);
    expect(await outcome).toMatchObject({ code: 'ABORTED', attempts: 1 });
    expect(executor.health.lifetime('tool', 'search').total).toBe(0);
    expect(executor.providers('search')[0]).toMatchObject({
      state: 'available',
      metrics: { total: 0 },
    });
    expect(told('provider-ejected')).toEqual([]);
    expect(told('late-result')).toEqual([]);
    gate.open('late');
    await settled();
    expect(told('late-result')).toHaveLength(1);
    expect([a.calls, b.calls, clock.pending]).toEqual([1, 0, 0]);
    a.answers(() => 'again');
    expect(await call()).toMatchObject({ value: 'again', provider: 'a' });
  },
);
