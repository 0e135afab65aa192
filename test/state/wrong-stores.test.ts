import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryStateStore } from '../../src/state.js';
import type { AppendOptions, Increment, IncrementOptions } from '../../src/state/state-store.js';
import { ManualClock, stateStoreCases } from '../../src/testing.js';

class ShortWindow extends MemoryStateStore {
  readonly share: number = 1 / 2;
  override increment(key: string, by: number, options?: IncrementOptions): Promise<Increment> {
    return super.increment(
      key,
      by,
      options?.windowMs === undefined || options.ttlMs !== undefined
        ? options
        : { ...options, windowMs: options.windowMs * this.share },
    );
  }
}

class SlightlyShortWindow extends ShortWindow {
  override readonly share = 7 / 9;
}

/** Counts windows that begin with their first call. */
class FixedWindow extends MemoryStateStore {
  override increment(
    key: string,
    by: number,
    { windowMs, ...options }: IncrementOptions = {},
  ): Promise<Increment> {
    return super.increment(
      key,
      by,
      windowMs === undefined ? options : { ...options, ttlMs: windowMs },
    );
  }
}

class RacyIncrement extends MemoryStateStore {
  override async increment(
    key: string,
    by: number,
    options?: IncrementOptions,
  ): Promise<Increment> {
    const text = by === 1 && options === undefined ? await this.get(key) : undefined;
    if (text === undefined) return super.increment(key, by, options);
    await this.compareAndSet(key, await this.get(key), String(Number(text) + 1));
    return { applied: true, value: Number(text) + 1 };
  }
}

class RacyWindow extends MemoryStateStore {
  override async increment(
    key: string,
    by: number,
    { max, ...options }: IncrementOptions = {},
  ): Promise<Increment> {
    if (options.windowMs === undefined || max === undefined)
      return super.increment(key, by, { ...options, ...(max !== undefined && { max }) });
    const { value } = await super.increment(key, 0, { ...options, mustExist: true });
    return value === undefined || value + by > max
      ? super.increment(key, by, { ...options, max })
      : super.increment(key, by, options);
  }
}

class RacyAppend extends MemoryStateStore {
  override async append(
    key: string,
    item: string,
    options: AppendOptions,
  ): Promise<number | undefined> {
    const at = options?.at ?? 0;
    if (at === 0 || (await this.read(key, { limit: 1_000 })).length !== at)
      return super.append(key, item, options);
    return super.append(key, item, { max: options.max });
  }
}

class IgnoringRejections extends MemoryStateStore {
  override subscribe(
    channel: string,
    listener: (message: string) => void,
  ): Promise<() => Promise<void>> {
    return super.subscribe(
      channel,
      typeof listener === 'function' ? (message) => void listener(message) : listener,
    );
  }
}

describe('the cases of state stores', () => {
  // An unhandled rejection fails the case; here it is not to fail the run, too.
  const handlers = process.listeners('unhandledRejection');
  beforeAll(() => void process.removeAllListeners('unhandledRejection'));
  afterAll(() => handlers.forEach((handler) => process.on('unhandledRejection', handler)));

  it.each([
    [ShortWindow, 'counts all that was added within the window, however late in it'],
    [SlightlyShortWindow, 'counts all that was added within the window, however late in it'],
    [FixedWindow, 'counts all that was added within the window, however late in it'],
    [RacyIncrement, 'adds up what 100 add at once'],
    [RacyWindow, 'never lets more into a window than its limit, whoever adds at the same time'],
    [RacyAppend, 'lets exactly one of 100 that append at the same place win'],
    [IgnoringRejections, 'is not hurt by listeners that throw'],
  ])('notice a store that is wrong: %o', async (Store, title) => {
    const clock = new ManualClock(1_000);
    const found = stateStoreCases().find(({ name }) => name === title)!;
    await expect(
      found.run(new Store({ clock }), { advance: (ms) => clock.advanceAsync(ms) }),
    ).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
    await found.run(new MemoryStateStore({ clock }), { advance: (ms) => clock.advanceAsync(ms) });
  });
});
