import { describe, expect, it } from 'vitest';
import type { ToolEvent, ToolOptions } from '../../src/index.js';
import {
  allowAll,
  anyTool,
  brief,
  Gate,
  reader,
  setup,
  writer,
} from './fixtures/executor-setup.js';

const never = () => new Promise<never>(() => undefined);
/** A handler that hangs the first time and answers afterwards. */
function hangsOnce(gate = new Gate<string>()): {
  readonly work: () => unknown;
  readonly gate: Gate<string>;
  readonly starts: () => number;
} {
  let starts = 0;
  return { gate, starts: () => starts, work: () => (starts++ === 0 ? gate.promise : 'done') };
}
const kindsOf = (events: readonly ToolEvent[], type: ToolEvent['type']) =>
  events.filter((event) => event.type === type);
const TIMES = { timeoutMs: 100, graceMs: 50 };

describe('a call whose handler goes on after the deadline', () => {
  it('says so in its outcome, in an event after the grace and in the health of its tool', async () => {
    const { executor, clock, events } = setup([reader('slow', never)], TIMES);
    const running = executor.execute({ id: 'c1', name: 'slow' }, { principal: 'ada' });
    await clock.advanceAsync(100);
    expect(await running).toMatchObject({ status: 'error', code: 'TIMEOUT', abandoned: true });
    expect(kindsOf(events, 'call-settled')).toMatchObject([{ abandoned: true }]);
    expect(executor.health.summary('tool', 'slow')).toMatchObject({ failure: 1, abandoned: 1 });
    await clock.advanceAsync(49);
    expect(kindsOf(events, 'call-abandoned')).toEqual([]);
    expect(executor.abandoned()).toEqual([]);
    await clock.advanceAsync(1);
    expect(kindsOf(events, 'call-abandoned')).toMatchObject([
      { callId: 'c1', toolName: 'slow', principal: 'ada' },
    ]);
    expect(executor.abandoned()).toEqual([
      { callId: 'c1', toolName: 'slow', principal: 'ada', since: 1_000_100 },
    ]);
  });

  it('is not abandoned when it ends as soon as it hears its signal', async () => {
    const heeds = (_: unknown, { signal }: { signal?: AbortSignal }) =>
      new Promise<never>((_resolve, reject) =>
        signal!.addEventListener('abort', () => reject(new Error('stopped'))),
      );
    const { executor, clock, events } = setup([writer('save', heeds)], {
      ...TIMES,
      policy: allowAll,
    });
    const running = executor.execute({ id: '1', name: 'save' });
    await clock.advanceAsync(100);
    expect(await running).not.toHaveProperty('abandoned');
    await clock.advanceAsync(1_000);
    expect(events.map(({ type }) => type)).toEqual(['decision', 'call-started', 'call-settled']);
  });

  it('is not abandoned when it ends within the grace', async () => {
    const { work, gate } = hangsOnce();
    const { executor, clock, events } = setup([writer('save', work)], {
      ...TIMES,
      policy: allowAll,
    });
    void executor.execute({ id: '1', name: 'save' });
    await clock.advanceAsync(149);
    gate.open('late');
    await clock.advanceAsync(1_000);
    expect(kindsOf(events, 'call-abandoned')).toEqual([]);
    expect(kindsOf(events, 'late-result')).toHaveLength(1);
    expect(brief(await executor.execute({ id: '2', name: 'save' }))).toBe('ok "done"');
  });

  it('is abandoned too when its caller gave it up', async () => {
    const controller = new AbortController();
    const { executor, clock, events } = setup([reader('slow', never)], TIMES);
    const running = executor.execute({ id: '1', name: 'slow' }, { signal: controller.signal });
    await clock.advanceAsync(1);
    controller.abort();
    expect(await running).toMatchObject({ code: 'ABORTED', abandoned: true });
    await clock.advanceAsync(50);
    expect(kindsOf(events, 'call-abandoned')).toHaveLength(1);
  });
});

describe('calls after an abandoned one', () => {
  const runnable: readonly [string, boolean, Partial<ToolOptions>][] = [
    ['a readonly tool that may run beside itself run', true, { accessMode: 'readonly' }],
    [
      'a readonly tool that may not are refused',
      false,
      { accessMode: 'readonly', allowParallel: false },
    ],
    ['a writing tool are refused', false, { accessMode: 'write' }],
    [
      'a writing tool that may run beside itself are refused',
      false,
      { accessMode: 'write', allowParallel: true },
    ],
    ['a tool that declares nothing are refused', false, {}],
  ];
  it.each(runnable)('of %s', async (_, runs, extra) => {
    const { work, starts } = hangsOnce();
    const { executor, clock } = setup([anyTool('tool', work, extra as never)], {
      ...TIMES,
      policy: allowAll,
    });
    void executor.execute({ id: 'c1', name: 'tool' });
    await clock.advanceAsync(150);
    const outcome = await executor.execute({ id: 'c2', name: 'tool' });
    if (runs) expect(brief(outcome)).toBe('ok "done"');
    else
      expect(outcome).toMatchObject({
        status: 'error',
        code: 'ABANDONED_RUNNING',
        attempts: 0,
        message: expect.stringContaining('"c1"') as string,
        details: { callId: 'c1', toolName: 'tool' },
      });
    expect(starts()).toBe(runs ? 2 : 1);
  });

  it('of other tools run', async () => {
    const { executor, clock } = setup([writer('stuck', never), writer('other', () => 'fine')], {
      ...TIMES,
      policy: allowAll,
      maxConcurrent: 1,
    });
    void executor.execute({ id: '1', name: 'stuck' });
    await clock.advanceAsync(150);
    expect(brief(await executor.execute({ id: '2', name: 'other' }))).toBe('ok "fine"');
  });

  it('of its tool wait during the grace, and are refused when it is over', async () => {
    const { executor, clock } = setup([writer('stuck', never)], { ...TIMES, policy: allowAll });
    void executor.execute({ id: '1', name: 'stuck' });
    await clock.advanceAsync(100);
    let outcome: unknown;
    void executor.execute({ id: '2', name: 'stuck' }).then((settled) => (outcome = settled));
    await clock.advanceAsync(49);
    expect(outcome).toBeUndefined();
    await clock.advanceAsync(1);
    expect(outcome).toMatchObject({ code: 'ABANDONED_RUNNING', durationMs: 50 });
  });

  it('of its tool run again as soon as its handler has ended', async () => {
    const { work, gate } = hangsOnce();
    const { executor, clock } = setup([writer('save', work)], { ...TIMES, policy: allowAll });
    void executor.execute({ id: '1', name: 'save' });
    await clock.advanceAsync(500);
    expect(brief(await executor.execute({ id: '2', name: 'save' }))).toBe(
      'error ABANDONED_RUNNING',
    );
    gate.fail(new Error('at last'));
    await clock.advanceAsync(0);
    expect(executor.abandoned()).toEqual([]);
    expect(brief(await executor.execute({ id: '3', name: 'save' }))).toBe('ok "done"');
  });

  it('of its tool run again once it is released, and its late end changes nothing', async () => {
    const { work, gate } = hangsOnce();
    const { executor, clock, events } = setup([writer('save', work)], {
      ...TIMES,
      policy: allowAll,
    });
    void executor.execute({ id: 'c1', name: 'save' });
    await clock.advanceAsync(100);
    expect(executor.release('c1')).toBe(false);
    await clock.advanceAsync(50);
    expect(executor.release('other')).toBe(false);
    expect(executor.release('c1')).toBe(true);
    expect(executor.release('c1')).toBe(false);
    expect(brief(await executor.execute({ id: 'c2', name: 'save' }))).toBe('ok "done"');
    gate.open('late');
    await clock.advanceAsync(0);
    expect(kindsOf(events, 'late-result')).toHaveLength(1);
    expect(brief(await executor.execute({ id: 'c3', name: 'save' }))).toBe('ok "done"');
  });

  it('of a writing tool that may run beside itself run beside it during the grace, and are refused after it', async () => {
    const { work, starts } = hangsOnce();
    const { executor, clock } = setup([writer('save', work, { allowParallel: true })], {
      ...TIMES,
      policy: allowAll,
    });
    void executor.execute({ id: '1', name: 'save' });
    await clock.advanceAsync(149);
    expect(brief(await executor.execute({ id: '2', name: 'save' }))).toBe('ok "done"');
    await clock.advanceAsync(1);
    expect(brief(await executor.execute({ id: '3', name: 'save' }))).toBe(
      'error ABANDONED_RUNNING',
    );
    expect(starts()).toBe(2);
  });

  it('are released one by one where calls of several conversations have the same id', async () => {
    const { executor, clock } = setup([writer('pay', never), writer('mail', never)], {
      ...TIMES,
      policy: allowAll,
    });
    void executor.execute({ id: 'call_1', name: 'pay' }, { principal: 'ada', conversationId: 'x' });
    void executor.execute(
      { id: 'call_1', name: 'mail' },
      { principal: 'bob', conversationId: 'y' },
    );
    await clock.advanceAsync(150);
    const [pay, mail] = executor.abandoned();
    expect([pay, mail]).toEqual([
      {
        callId: 'call_1',
        toolName: 'pay',
        principal: 'ada',
        conversationId: 'x',
        since: 1_000_100,
      },
      {
        callId: 'call_1',
        toolName: 'mail',
        principal: 'bob',
        conversationId: 'y',
        since: 1_000_100,
      },
    ]);
    expect(() => executor.release('call_1')).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('executor.abandoned()') as string,
      }) as Error,
    );
    expect(executor.abandoned()).toHaveLength(2);
    expect(executor.release(JSON.parse(JSON.stringify(pay)) as typeof pay & object)).toBe(true);
    expect(executor.abandoned()).toEqual([mail]);
    expect(executor.release(pay!)).toBe(false);
    expect(executor.release('call_1')).toBe(true);
    expect(executor.abandoned()).toEqual([]);
  });

  it('ask nobody for approval and use none up', async () => {
    const asked: string[] = [];
    const { work } = hangsOnce();
    const { executor, clock } = setup([writer('save', work)], {
      ...TIMES,
      confirm: ({ callId }) => asked.push(callId) > 0,
    });
    void executor.execute({ id: 'c1', name: 'save' });
    await clock.advanceAsync(150);
    expect(brief(await executor.execute({ id: 'c2', name: 'save' }))).toBe(
      'error ABANDONED_RUNNING',
    );
    expect(asked).toEqual(['c1']);
  });
});

describe('handlers that hang', () => {
  it('live in bounded number: at most maxConcurrent and maxAbandoned together, also of 320 calls', async () => {
    let live = 0;
    const { executor, clock } = setup(
      [reader('stuck', () => (live++, never())), reader('other', () => 1)],
      { ...TIMES, maxConcurrent: 16, maxAbandoned: 8 },
    );
    const codes: string[] = [];
    for (let wave = 0; wave < 20; wave++) {
      const running = Array.from({ length: 16 }, (_, index) =>
        executor.execute({ id: `${wave}-${index}`, name: 'stuck', input: { wave, index } }),
      );
      await clock.advanceAsync(1_000);
      codes.push(...(await Promise.all(running)).map(brief));
    }
    expect(live).toBeLessThanOrEqual(24);
    expect(codes.filter((code) => code === 'error TIMEOUT').length).toBeGreaterThanOrEqual(live);
    expect(new Set(codes)).toEqual(new Set(['error TIMEOUT', 'error ABANDONED_RUNNING']));
    expect(await executor.execute({ id: 'x', name: 'other' })).toMatchObject({
      code: 'ABANDONED_RUNNING',
      details: { toolName: 'stuck' },
    });
    for (const { callId } of executor.abandoned()) executor.release(callId);
    expect(brief(await executor.execute({ id: 'y', name: 'other' }))).toBe('ok 1');
  });
});
