import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolEvent } from '../../src/core/tool-event.js';
import { ToolError } from '../../src/core/errors.js';
import { ProviderRouter, type ProviderRouterOptions } from '../../src/providers.js';
import { MemoryStateStore } from '../../src/state/memory-state-store.js';
import { FakeProvider } from '../../src/testing/fake-provider.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { seededRandom } from '../../src/testing/seeded-random.js';

type Fakes = Readonly<Record<string, FakeProvider>>;

/** A router over providers in the order given, without checks and jitter, unless told otherwise. */
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
  /** Makes one call: its answer or the code of its error, and the number of providers that it reached. */
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

/** A provider of whose calls a share fails at random. */
function flaky(share: number, seed: number): FakeProvider {
  const random = seededRandom(seed);
  return new FakeProvider(() => {
    if (random() < share) throw new Error('connection reset');
    return 'answered';
  });
}

describe('a single provider', () => {
  it('of whose calls 1 % fail at random is sent every one of 600 calls', async () => {
    for (const seed of [1, 2, 3]) {
      const a = flaky(0.01, seed);
      const { call, clock, ejections } = routerOf({ a });
      for (let index = 0; index < 600; index += 1) {
        expect((await call()).sent).toBe(1);
        clock.advance(10);
      }
      expect(ejections()).toEqual([]);
    }
  });

  it('of whose calls 1 % fail at once and the rest answer slowly is sent all of 2,000 overlapping calls', async () => {
    const clock = new ManualClock();
    const random = seededRandom(4);
    const a = new FakeProvider(() => {
      if (random() < 0.01) throw new Error('refused');
      return new Promise((resolve) => clock.after(100, () => resolve('answered')));
    });
    const { call } = routerOf({ a }, { clock });
    const calls = [];
    for (let index = 0; index < 2_000; index += 1) {
      calls.push(call());
      await clock.advanceAsync(1);
    }
    await clock.advanceAsync(100);
    await Promise.all(calls);
    expect(a.calls).toBe(2_000);
  });

  it('that fails is called until it has failed five times in a row, then left alone and tried out by one call', async () => {
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

  it('that answered in between has not failed five times in a row', async () => {
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

  it('is left alone again when the call that tries it out fails', async () => {
    const a = new FakeProvider();
    a.fails();
    const { call, clock } = routerOf({ a }, { failuresToEject: 2 });
    await call();
    await call();
    clock.advance(2_000);
    expect((await call()).sent).toBe(1);
    expect((await call()).sent).toBe(0);
    clock.advance(3_999);
    expect((await call()).sent).toBe(0);
    clock.advance(1);
    expect((await call()).sent).toBe(1);
  });

  it('is left alone after as many failures in a row as failuresToEject says', async () => {
    for (const failuresToEject of [1, 3]) {
      const a = new FakeProvider();
      a.fails();
      const { call } = routerOf({ a }, { failuresToEject });
      for (let index = 0; index < 10; index += 1) await call();
      expect(a.calls).toBe(failuresToEject);
    }
    for (const failuresToEject of [0, 1.5, '5', NaN])
      expect(() => routerOf({}, { failuresToEject: failuresToEject as never })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
  });

  it('says when trying again is worth it, also while nothing keeps calls from it', async () => {
    const a = new FakeProvider();
    a.fails();
    const { router, clock } = routerOf({ a });
    await expect(router.call({}, {}, { repeatable: true })).rejects.toMatchObject({
      details: { retryAt: clock.now() + 1_000 },
    });
  });
});

describe('a service that says when to come back', () => {
  it.each([
    ['details.retryAfterMs', busy(30_000)],
    [
      'headers of a fetch answer',
      Object.assign(new Error('429'), { headers: new Headers({ 'Retry-After': '30' }) }),
    ],
    [
      'plain headers',
      Object.assign(new Error('429'), { responseHeaders: { 'Retry-After': '30' } }),
    ],
    [
      'headers of its response',
      Object.assign(new Error('429'), { response: { headers: { 'retry-after': '30' } } }),
    ],
    [
      'headers of its cause',
      new ToolError('PROVIDER_UNAVAILABLE', 'busy', {
        cause: Object.assign(new Error('429'), { headers: { 'retry-after': '30' } }),
      }),
    ],
    [
      'a date',
      Object.assign(new Error('503'), {
        headers: { 'retry-after': new Date(1_030_000).toUTCString() },
      }),
    ],
  ])('is left alone until then after one failure, even as the only one: %s', async (_, error) => {
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
  });

  it.each([['0'], ['-3'], ['soon'], [''], ['1e400'], [null], [{}]])(
    'and says %j has said nothing',
    async (value) => {
      const a = new FakeProvider();
      a.fails(Object.assign(new Error('429'), { headers: { 'retry-after': value } }));
      const { call } = routerOf({ a });
      for (let failures = 1; failures <= 4; failures += 1) expect((await call()).sent).toBe(1);
    },
  );

  it('and fails the call that tries it out then, is left alone for its backoff, even as the only one', async () => {
    const a = new FakeProvider();
    a.fails(busy(30_000));
    const { call, clock } = routerOf({ a });
    await call();
    clock.advance(30_000);
    a.fails();
    expect((await call()).sent).toBe(1);
    clock.advance(1_999);
    expect((await call()).sent).toBe(0);
    clock.advance(1);
    expect((await call()).sent).toBe(1);
  });

  it('and names a time far away is tried out after ten minutes', async () => {
    const a = new FakeProvider();
    a.fails(busy(86_400_000));
    const { call, clock } = routerOf({ a });
    await call();
    clock.advance(599_999);
    expect((await call()).sent).toBe(0);
    clock.advance(1);
    expect((await call()).sent).toBe(1);
  });

  it('is heard by calls that were under way when an earlier one failed without a word', async () => {
    const ends: ((error: unknown) => void)[] = [];
    const a = new FakeProvider(() => new Promise((_, reject) => ends.push(reject)));
    const { call, clock, router, ejections } = routerOf({ a });
    const calls = [call(), call(), call()];
    await settled();
    ends[0]!(new Error('reset'));
    await settled();
    ends[1]!(busy(20_000));
    ends[2]!(busy(20_000));
    await Promise.all(calls);
    expect(router.snapshot()[0]).toMatchObject({
      state: 'backing-off',
      failures: 1,
      backoffUntil: clock.now() + 20_000,
    });
    expect(ejections()).toEqual(['a']);
  });

  it('cannot break the router with what an error holds', async () => {
    const a = new FakeProvider();
    a.fails(
      Object.defineProperty(new Error('odd'), 'headers', {
        get: () => {
          throw new Error('getter');
        },
      }),
    );
    const { call } = routerOf({ a });
    expect(await call()).toEqual({ answer: 'PROVIDERS_EXHAUSTED', sent: 1 });
  });
});

describe('one of several providers', () => {
  it('is left alone after one failure while another is usable; the last usable one after five in a row', async () => {
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

  it('that flaps beside a steady one costs no call its answer', async () => {
    const [a, b] = [flaky(0.5, 5), new FakeProvider(() => 'from b')];
    const { call, clock } = routerOf({ a, b }, { random: seededRandom(6) });
    for (let index = 0; index < 600; index += 1) {
      expect(['answered', 'from b']).toContain((await call()).answer);
      clock.advance(50);
    }
    expect(a.calls).toBeLessThan(300);
  });

  it('that flaps beside one that is down is sent every call, unless it failed five times in a row', async () => {
    const [a, b] = [flaky(0.05, 7), new FakeProvider()];
    b.fails();
    const { call, clock } = routerOf({ b, a });
    for (let index = 0; index < 600; index += 1) {
      expect((await call()).sent).toBeGreaterThan(0);
      clock.advance(50);
    }
  });

  it('counts as the last when the other has no credentials, is unhealthy, has no factory, or was told to wait', async () => {
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
      'no factory': () => ({ providers: [{ name: 'a', healthCheckIntervalMs: 0 }, { name: 'c' }] }),
      waiting: (b) => {
        b.fails(busy(60_000));
        return {
          env: { KEY: 'k' },
          providers: [
            { name: 'b', priority: 1, healthCheckIntervalMs: 0 },
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

  it('that was left alone while another was usable is called when that one is no more: it lost its credentials, fails its check or is down', async () => {
    const ways: Readonly<Record<string, (b: FakeProvider, env: Record<string, string>) => void>> = {
      'no credentials': (_, env) => delete env['KEY'],
      unhealthy: (b) => (b.health = () => false),
      waiting: (b) => b.fails(busy(60_000)),
    };
    for (const [why, lose] of Object.entries(ways)) {
      const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b', ['KEY'])];
      const env: Record<string, string> = { KEY: 'k' };
      const { call, clock, router } = routerOf(
        { a, b },
        {
          env,
          baseMs: 60_000,
          providers: [
            { name: 'a', healthCheckIntervalMs: 0 },
            { name: 'b', healthCheckIntervalMs: 1_000 },
          ],
        },
      );
      a.fails();
      expect((await call()).answer, why).toBe('from b');
      a.answers(() => 'from a');
      clock.advance(1_000);
      lose(b, env);
      if (why === 'waiting') await call();
      expect(await call(), why).toEqual({ answer: 'from a', sent: 1 });
      expect(router.snapshot()[0], why).toMatchObject({ state: 'available', failures: 0 });
    }
  });

  it('that is called as the last one while it was left alone counts on to five', async () => {
    const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b', ['KEY'])];
    const env: Record<string, string> = { KEY: 'k' };
    const { call } = routerOf({ a, b }, { env });
    a.fails();
    await call();
    delete env['KEY'];
    for (let index = 0; index < 10; index += 1) await call();
    expect(a.calls).toBe(5);
  });

  it('that is called as the last one is named once among the attempts', async () => {
    const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b', ['KEY'])];
    const env: Record<string, string> = { KEY: 'k' };
    const { call, router } = routerOf({ b, a }, { env });
    await call();
    a.fails();
    b.fails();
    await call();
    delete env['KEY'];
    a.answers(() => 'from a');
    expect(await router.call({}, {}, { repeatable: true })).toMatchObject({
      provider: 'a',
      attempts: [
        { provider: 'b', status: 'skipped' },
        { provider: 'a', status: 'answered' },
      ],
    });
  });

  it('refuses a call unsent only if each lacks credentials, failed its check, or is in a backoff that holds for the last one too', async () => {
    const names = ['a', 'b', 'c'] as const;
    const step = fc.record({
      advanceMs: fc.constantFrom(0, 0, 10, 500, 5_000),
      answers: fc.array(fc.constantFrom('answers', 'answers', 'fails', 'fails', 'fails', 'busy'), {
        minLength: 3,
        maxLength: 3,
      }),
      keys: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
      healthy: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
      repeatable: fc.boolean(),
    });
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { minLength: 1, maxLength: 60 }),
        async (count, steps) => {
          const env: Record<string, string> = {};
          const clock = new ManualClock();
          let now: (typeof steps)[number];
          // The rule told again, from what the providers themselves have seen.
          const seen = names.map(() => ({ streak: 0, isOut: false, outUntil: 0, checked: true }));
          const fakes = Object.fromEntries(
            names.slice(0, count).map((name, index) => {
              const own = seen[index]!;
              const fake = new FakeProvider(() => {
                const what = now.answers[index]!;
                if (what === 'answers') {
                  Object.assign(own, { streak: 0, isOut: false });
                  return name;
                }
                own.streak += 1;
                own.isOut ||= own.streak >= 5 || what === 'busy';
                own.outUntil =
                  clock.elapsed() +
                  Math.max(1_000 * 2 ** (Math.min(own.streak, 7) - 1), what === 'busy' ? 3_000 : 0);
                throw what === 'busy' ? busy(3_000) : new Error('down');
              }, [name]);
              fake.health = () => (own.checked = now.healthy[index]!);
              return [name, fake];
            }),
          );
          const { call } = routerOf(fakes, {
            clock,
            env,
            providers: Object.keys(fakes).map((name) => ({ name, healthCheckIntervalMs: 2_000 })),
          });
          for (now of steps) {
            clock.advance(now.advanceMs);
            for (const [index, name] of names.entries()) {
              if (now.keys[index]) env[name] = 'key';
              else delete env[name];
            }
            if ((await call(now.repeatable)).sent > 0) continue;
            refusals += 1;
            for (const index of Object.keys(fakes).keys()) {
              const { isOut, outUntil, checked } = seen[index]!;
              expect(!now.keys[index] || !checked || (isOut && clock.elapsed() < outUntil)).toBe(
                true,
              );
            }
          }
        },
      ),
      { numRuns: 300 },
    );
    expect(refusals).toBeGreaterThan(0);
  });
});

describe('providers that several processes share', () => {
  /** So many processes on one clock and one store, each with an environment of its own. */
  function processes(
    count: number,
    fakes: Fakes,
    envs: readonly Readonly<Record<string, string>>[] = [],
  ) {
    const clock = new ManualClock();
    const store = new MemoryStateStore({ clock });
    const all = Array.from({ length: count }, (_, index) =>
      routerOf(fakes, { clock, store, env: envs[index] ?? {} }),
    );
    return { all, clock, store };
  }

  it('are sent every call when there is one and 1 % of its calls fail at random', async () => {
    const a = flaky(0.01, 8);
    const { all, clock } = processes(4, { a });
    for (let index = 0; index < 600; index += 1) {
      expect((await all[index % 4]!.call()).sent).toBe(1);
      if (index % 3 === 0) await settled();
      clock.advance(10);
    }
  });

  it('are left alone by a process only as the rule allows there: where the other has no credentials, one failure elsewhere is not enough', async () => {
    const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b', ['KEY'])];
    const { all } = processes(2, { a, b }, [{ KEY: 'k' }, {}]);
    const [rich, poor] = [all[0]!, all[1]!];
    await poor.call();
    a.fails();
    expect((await rich.call()).answer).toBe('from b');
    await settled();
    expect((await rich.call()).sent).toBe(1);
    a.answers(() => 'from a');
    expect(await poor.call()).toEqual({ answer: 'from a', sent: 1 });
    await settled();
    expect((await rich.call()).answer).toBe('from a');
  });

  it('are left alone by all when one process has seen five failures in a row, and by those without another provider too', async () => {
    const a = new FakeProvider();
    a.fails();
    const { all, clock } = processes(3, { a });
    await Promise.all(all.map(({ call }) => call()));
    for (let failures = 2; failures <= 5; failures += 1) await all[0]!.call();
    await settled();
    const before = a.calls;
    for (const { call } of all) expect((await call()).sent).toBe(0);
    expect(a.calls).toBe(before);
    clock.advance(16_000);
    let end = (): void => {};
    a.answers(() => new Promise((resolve) => (end = () => resolve('back'))));
    const calls = all.flatMap(({ call }) => Array.from({ length: 20 }, () => call()));
    for (let turn = 0; turn < 5; turn += 1) await settled();
    expect(a.calls).toBe(before + 1);
    end();
    await Promise.all(calls);
    await settled();
    expect(all.map(({ router }) => router.snapshot()[0]!.state)).toEqual([
      'available',
      'available',
      'available',
    ]);
  });

  it('are left alone as long as the service asked, also when another process tells of a mere failure at the same moment', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b')];
      const { all, clock } = processes(3, { a, b });
      for (const { call } of all) await call();
      const ends: ((error: unknown) => void)[] = [];
      a.answers(() => new Promise((_, reject) => ends.push(reject)));
      const calls = [all[0]!.call(), all[1]!.call()];
      await settled();
      const errors = [busy(30_000), new Error('reset')];
      for (const index of order) ends[index]!(errors[index]);
      await Promise.all(calls);
      await settled();
      clock.advance(29_000);
      const before = a.calls;
      for (const { call } of all) expect(await call()).toEqual({ answer: 'from b', sent: 1 });
      expect(a.calls).toBe(before);
    }
  });
});
