import { describe, expect, it } from 'vitest';
import { finish, inSlices, type Work } from '../../src/core/clock.js';

function* steps(count: number, log: string[] = []): Work<string> {
  for (let step = 1; step <= count; step++) {
    log.push(String(step));
    yield;
  }
  return 'done';
}

describe('work in slices', () => {
  it('is done at once by finish', () => expect(finish(steps(3))).toBe('done'));

  it('lets others in whenever 10 ms have passed, and gives the same result', async () => {
    let time = 0;
    const log: string[] = [];
    const result = await inSlices(steps(9, log), {
      now: () => (time += 3),
      pause: async () => void log.push('others'),
    });
    expect(result).toBe('done');
    expect(log).toEqual(['1', '2', '3', '4', 'others', '5', '6', '7', '8', 'others', '9']);
  });

  it('rejects with what the work throws', async () => {
    const failing = (function* (): Work<never> {
      yield;
      throw new RangeError('no');
    })();
    await expect(inSlices(failing)).rejects.toThrow(RangeError);
  });

  it('answers timers in between', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    const untilTimersFired = (function* (): Work<string> {
      while (turns < 2) yield;
      return 'done';
    })();
    let time = 0;
    expect(await inSlices(untilTimersFired, { now: () => (time += 11) })).toBe('done');
    clearInterval(timer);
  });
});
