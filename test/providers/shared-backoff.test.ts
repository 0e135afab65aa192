import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolEvent } from '../../src/core/tool-event.js';
import { ProviderRouter } from '../../src/providers.js';
import { MemoryStateStore } from '../../src/state/memory-state-store.js';
import { FakeProvider } from '../../src/testing/fake-provider.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { FaultyStore } from './faulty-store.js';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** So many processes, each with a clock of its own that began at another time, that share one service `a` and a store. */
function processes(count: number) {
  const storeClock = new ManualClock();
  const memory = new MemoryStateStore({ clock: storeClock });
  const [a, b] = [new FakeProvider(), new FakeProvider(() => 'from b')];
  const all = Array.from({ length: count }, (_, index) => {
    const clock = new ManualClock(index * 7_777_777);
    clock.advance(index * 1_234_567);
    const store = new FaultyStore(memory);
    const events: ToolEvent[] = [];
    const providers = ['a', 'b'].map((name) => ({ name, healthCheckIntervalMs: 0 }));
    const router = new ProviderRouter({
      toolName: 'search',
      providers,
      factories: { a: a.factory, b: b.factory },
      clock,
      random: () => 1,
      env: {},
      store,
      probeLeaseMs: 5_000,
      onEvent: (event) => events.push(event),
    });
    return {
      router,
      store,
      clock,
      events,
      call: () => router.call({}, {}, { repeatable: true }),
      state: () => router.snapshot()[0]!.state,
    };
  });
  const advance = (ms: number) => {
    for (const clock of [storeClock, ...all.map((each) => each.clock)]) clock.advance(ms);
  };
  return { all, a, b, memory, advance };
}

describe('routers that share a store', () => {
  it('need it for nothing while all is well, but for a first look', async () => {
    const { all } = processes(1);
    const { store, call } = all[0]!;
    await call();
    store.operations.length = 0;
    for (let index = 0; index < 100; index += 1) await call();
    expect(store.operations).toEqual([]);
  });

  it('leave a provider alone that failed in another process, for as long as it takes', async () => {
    const { all, a, advance } = processes(4);
    for (const { call } of all) await call();
    a.fails();
    await all[0]!.call();
    await settled();
    expect(all.map(({ state }) => state())).toEqual([
      'backing-off',
      'backing-off',
      'backing-off',
      'backing-off',
    ]);
    expect(
      all.map(({ router, clock }) => router.snapshot()[0]!.backoffUntil! - clock.now()),
    ).toEqual([1_000, 1_000, 1_000, 1_000]);
    const before = a.calls;
    advance(999);
    for (const { call } of all) expect(await call()).toMatchObject({ provider: 'b' });
    expect(a.calls).toBe(before);
    expect(
      all[3]!.events.some(
        (event) =>
          event.type === 'provider-ejected' && event.reason === 'failed in another process',
      ),
    ).toBe(true);
  });

  it('agree also over a store that does not tell its time', async () => {
    const { all, a } = processes(2);
    for (const { store, call } of all) {
      store.now = () => Promise.reject(new Error('no identity'));
      await call();
    }
    a.fails();
    await all[0]!.call();
    await settled();
    expect(
      all.map(({ router, clock }) => router.snapshot()[0]!.backoffUntil! - clock.now()),
    ).toEqual([1_000, 1_000]);
  });

  it('tell a process that starts later', async () => {
    const { all, a } = processes(2);
    a.fails();
    await all[0]!.call();
    await settled();
    expect(await all[1]!.call()).toMatchObject({
      provider: 'b',
      attempts: [{ status: 'skipped' }, {}],
    });
    expect(a.calls).toBe(1);
  });

  it('let exactly one process try it out, and all return when it is back', async () => {
    for (const isBack of [true, false]) {
      const { all, a, advance } = processes(4);
      for (const { call } of all) await call();
      a.fails();
      await all[0]!.call();
      await settled();
      advance(1_000);
      const before = a.calls;
      let end = (): void => {};
      a.answers(
        () =>
          new Promise(
            (resolve, reject) =>
              (end = () => (isBack ? resolve('back') : reject(new Error('down')))),
          ),
      );
      const calls = all.flatMap(({ call }) => Array.from({ length: 25 }, () => call()));
      await settled();
      await settled();
      expect(a.calls).toBe(before + 1);
      end();
      await Promise.all(calls);
      await settled();
      expect(all.map(({ state }) => state())).toEqual(
        all.map(() => (isBack ? 'available' : 'backing-off')),
      );
      expect(all.map(({ router }) => router.snapshot()[0]!.failures)).toEqual(
        all.map(() => (isBack ? 0 : 2)),
      );
    }
  });

  it('let another process try when the one that tried has died', async () => {
    const { all, a, advance } = processes(3);
    for (const { call } of all) await call();
    a.fails();
    await all[0]!.call();
    await settled();
    advance(1_000);
    a.answers(() => new Promise(() => {}));
    void all[0]!.call();
    await settled();
    expect(all.map(({ state }) => state())).toEqual(['half-open', 'half-open', 'half-open']);
    advance(4_999);
    const before = a.calls;
    await all[1]!.call();
    expect(a.calls).toBe(before);
    advance(1);
    a.answers(() => 'back');
    const results = await Promise.all([all[1]!.call(), all[2]!.call()]);
    expect(results.filter(({ attempts }) => attempts[0]!.probe)).toHaveLength(1);
  });

  it('find out within a second of calls what a process that died could not tell', async () => {
    const { all, a, advance } = processes(2);
    const [one, other] = [all[0]!, all[1]!];
    for (const { call } of all) await call();
    a.fails();
    await one.call();
    await settled();
    advance(1_000);
    let end = (): void => {};
    a.answers(() => new Promise((resolve) => (end = () => resolve('back'))));
    const probe = one.call();
    await settled();
    expect(other.state()).toBe('half-open');
    // The state is written, the message to the others is not sent.
    one.store.next = () => (one.store.operations.at(-1) === 'publish' ? 'refused' : 'none');
    end();
    await probe;
    await settled();
    expect(other.state()).toBe('half-open');
    a.answers(() => 'back');
    advance(1_000);
    await other.call();
    await settled();
    expect(await other.call()).toMatchObject({ provider: 'a' });
  });

  it('go on alone without the store, and agree again when it is back', async () => {
    const { all, a, advance } = processes(2);
    const [one, other] = [all[0]!, all[1]!];
    for (const { call } of all) await call();
    one.store.setAvailable(false);
    a.fails();
    expect(await one.call()).toMatchObject({ provider: 'b' });
    await settled();
    expect([one.state(), other.state()]).toEqual(['backing-off', 'available']);
    advance(1_000);
    expect(await one.call()).toMatchObject({
      provider: 'b',
      attempts: [{ provider: 'a', probe: true }, {}],
    });
    one.store.setAvailable(true);
    await settled();
    expect([one.state(), other.state()]).toEqual(['backing-off', 'backing-off']);
    expect(other.router.snapshot()[0]!.failures).toBe(2);
    other.store.setAvailable(false);
    advance(2_000);
    a.answers(() => 'back');
    expect(await one.call()).toMatchObject({ value: 'back' });
    await settled();
    other.store.setAvailable(true);
    await settled();
    expect([one.state(), other.state()]).toEqual(['available', 'available']);
  });

  it('start without the store, and hear of each other when it comes', async () => {
    const { all, a } = processes(2);
    const [one, other] = [all[0]!, all[1]!];
    other.store.setAvailable(false);
    await other.call();
    other.store.setAvailable(true);
    await settled();
    a.fails();
    await one.call();
    await settled();
    expect(other.state()).toBe('backing-off');
  });

  it('listen in the end, when the store refuses that for a moment and says nothing of it', async () => {
    const { all, a, advance } = processes(2);
    const [one, other] = [all[0]!, all[1]!];
    other.store.next = () => 'refused';
    await other.call();
    other.store.next = () => 'none';
    advance(1_000);
    await other.call();
    await settled();
    a.fails();
    await one.call();
    await settled();
    expect(other.state()).toBe('backing-off');
  });

  it('lock no call out for what a store says: damaged and endless states end', async () => {
    for (const text of [
      '',
      '{',
      '[]',
      'null',
      '{"v":1,"kind":"backing-off","failures":1,"backoffMs":1e9}',
      '{"v":2,"kind":"backing-off"}',
      '{"v":2,"kind":"backing-off","failures":-1,"durationMs":1}',
      '{"v":2,"kind":"backing-off","failures":1,"durationMs":1e300}',
      '{"v":2,"kind":"half-open","failures":1,"durationMs":1e300,"binding":true}',
    ]) {
      const { all, memory, advance } = processes(1);
      const { router, call } = all[0]!;
      await memory.compareAndSet(
        `provider:search/${router.snapshot()[0]!.identity}`,
        undefined,
        text,
      );
      await call();
      advance(60_000);
      expect(await call()).toMatchObject({ provider: 'a' });
    }
  });

  it('lose no provider for good and agree in the end, whatever the store does', async () => {
    const step = fc.record({
      process: fc.nat(2),
      advanceMs: fc.constantFrom(0, 500, 1_000, 4_000),
      up: fc.boolean(),
      faults: fc.array(
        fc.constantFrom('none' as const, 'refused' as const, 'lost-answer' as const),
        { maxLength: 3 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const { all, a, advance } = processes(3);
        for (const { process, advanceMs, up, faults } of steps) {
          advance(advanceMs);
          if (up) a.answers(() => 'up');
          else a.fails();
          const { store, call } = all[process]!;
          const coming = [...faults];
          store.next = () => coming.shift() ?? 'none';
          await call();
          await settled();
        }
        a.answers(() => 'up');
        for (const { store } of all) store.setAvailable(true);
        await settled();
        advance(120_000);
        for (const { call } of all) await call();
        await settled();
        expect(all.map(({ state }) => state())).toEqual(['available', 'available', 'available']);
      }),
      { numRuns: 100 },
    );
  });

  it('stop listening when they are closed, and answer calls all the same', async () => {
    const { all, a } = processes(2);
    for (const { call } of all) await call();
    await all[1]!.router.close();
    a.fails();
    await all[0]!.call();
    await settled();
    expect(all[1]!.state()).toBe('available');
    expect(await all[1]!.call()).toMatchObject({ provider: 'b' });
  });
});
