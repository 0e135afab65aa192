import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/testing.js';
import { MemoryStateStore, type StateStore } from '../../src/state.js';
import { storeInTime } from '../../src/state/store-in-time.js';

/** A store in memory whose `get` is answered when the test says so. */
function slowStore(): { readonly store: StateStore; readonly answers: (() => void)[] } {
  const answers: (() => void)[] = [];
  const store: StateStore = Object.assign(new MemoryStateStore(), {
    get: () => new Promise<undefined>((resolve) => answers.push(() => resolve(undefined))),
  });
  return { store, answers };
}

/** What has become of an operation so far. */
function followed(operation: Promise<unknown>): { outcome: string } {
  const seen = { outcome: 'waits' };
  operation.then(
    () => (seen.outcome = 'answered'),
    (error: { code: string }) => (seen.outcome = error.code),
  );
  return seen;
}

describe('a store held to its time', () => {
  it('refuses an operation once it has been silent for 300 ms, and all others until it answers again', async () => {
    const clock = new ManualClock();
    const { store, answers } = slowStore();
    const inTime = storeInTime(store, clock);
    const heard: boolean[] = [];
    const stop = inTime.onAvailability((available) => heard.push(available));
    const first = followed(inTime.get('key'));
    await clock.advanceAsync(299);
    expect(first.outcome).toBe('waits');
    await clock.advanceAsync(1);
    expect(first.outcome).toBe('STATE_UNAVAILABLE');
    await expect(inTime.increment('count', 1)).rejects.toMatchObject({
      code: 'STATE_UNAVAILABLE',
      details: { sent: false },
    });
    expect(heard).toEqual([false]);
    answers[0]!();
    await clock.advanceAsync(0);
    expect(heard).toEqual([false, true]);
    expect(await inTime.increment('count', 1)).toEqual({ applied: true, value: 1 });
    expect(clock.pending).toBe(0);
    stop();
  });

  it('is asked once a second whether it answers again', async () => {
    const clock = new ManualClock();
    const { store, answers } = slowStore();
    const inTime = storeInTime(store, clock);
    const first = inTime.get('key').catch(() => undefined);
    await clock.advanceAsync(300);
    await first;
    for (let asked = 0; asked < 5; asked += 1) await inTime.get('key').catch(() => undefined);
    expect(answers).toHaveLength(1);
    await clock.advanceAsync(1_000);
    await expect(inTime.get('key')).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    expect(answers).toHaveLength(2);
    answers[1]!();
    await clock.advanceAsync(0);
    expect(await inTime.increment('count', 1)).toEqual({ applied: true, value: 1 });
  });

  it('does not count time in which this process could not listen', async () => {
    // Each timer is 10 s late, as after work that blocked the process or a night in which it was stopped.
    let elapsed = 0;
    const timers: (() => void)[] = [];
    const clock = {
      now: () => elapsed,
      elapsed: () => elapsed,
      after: (_: number, call: () => void) => (
        timers.push(call),
        () => void timers.splice(timers.indexOf(call), 1)
      ),
    };
    const { store } = slowStore();
    const waiting = followed(storeInTime(store, clock).get('key'));
    const outcomes: string[] = [];
    for (let late = 0; late < 8; late += 1) {
      elapsed += 10_000;
      for (const call of timers.splice(0)) call();
      await new Promise((resolve) => setImmediate(resolve));
      outcomes.push(waiting.outcome);
    }
    expect(outcomes).toEqual([...Array.from({ length: 7 }, () => 'waits'), 'STATE_UNAVAILABLE']);
  });

  it('is waited for while it answers others, for at most 10 s', async () => {
    const clock = new ManualClock();
    const { store, answers } = slowStore();
    const inTime = storeInTime(store, clock);
    const heard: boolean[] = [];
    inTime.onAvailability((available) => heard.push(available));
    const [early, never] = [followed(inTime.get('early')), followed(inTime.get('never'))];
    for (let waited = 0; waited < 9_800; waited += 200) {
      await inTime.increment('count', 1);
      await clock.advanceAsync(200);
    }
    expect([early.outcome, never.outcome]).toEqual(['waits', 'waits']);
    answers[0]!();
    await clock.advanceAsync(0);
    expect([early.outcome, never.outcome]).toEqual(['answered', 'waits']);
    await clock.advanceAsync(300);
    expect(never.outcome).toBe('STATE_UNAVAILABLE');
    // One lost answer is no lost store.
    expect(await inTime.increment('count', 1)).toMatchObject({ applied: true });
    expect(heard).toEqual([]);
  });

  it('has 10 s for a list, which may take several steps', async () => {
    const clock = new ManualClock();
    const store: StateStore = Object.assign(new MemoryStateStore(), {
      list: () => new Promise<never>(() => undefined),
    });
    const listed = followed(storeInTime(store, clock).list('key'));
    await clock.advanceAsync(9_999);
    expect(listed.outcome).toBe('waits');
    await clock.advanceAsync(100);
    expect(listed.outcome).toBe('STATE_UNAVAILABLE');
  });

  it('passes on what it is refused with', async () => {
    const inTime = storeInTime(new MemoryStateStore(), new ManualClock());
    await inTime.compareAndSet('text', undefined, 'a');
    await expect(inTime.increment('text', 1)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
