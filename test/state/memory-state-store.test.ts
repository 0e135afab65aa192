import { describe, expect, it } from 'vitest';
import { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';

describe('MemoryStateStore', () => {
  it('frees the memory of expired keys', async () => {
    const clock = new ManualClock();
    const store = new MemoryStateStore({ clock });
    for (let key = 0; key < 20_000; key++) {
      await store.increment(`key ${key}`, 1, { ttlMs: 100 });
      clock.advance(1);
    }
    expect(store.size).toBeLessThan(2_000);
    expect(clock.pending).toBe(0);
  });

  it('throws for unknown options', () => {
    expect(() => new MemoryStateStore({ time: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  it('expires keys on time even if the system clock is changed', async () => {
    const clock = new ManualClock();
    const store = new MemoryStateStore({ clock });
    await store.compareAndSet('key', undefined, 'a', { ttlMs: 1_000 });
    clock.shiftDate(3_600_000);
    expect(await store.get('key')).toBe('a');
    clock.shiftDate(-7_200_000);
    clock.advance(1_000);
    expect(await store.get('key')).toBeUndefined();
  });
});
