import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/index.js';
import { allowAll, brief, Gate, reader, setup, writer } from './fixtures/executor-setup.js';

const never = () => new Promise<never>(() => undefined);
const TIMES = { timeoutMs: 100 };

describe('a call whose work goes on after the deadline', () => {
  it('says so in its outcome, in an event and in the health of its tool', async () => {
    const { executor, clock, events } = setup([reader('slow', never)], TIMES);
    const running = executor.execute({ id: 'c1', name: 'slow' }, { principal: 'ada' });
    await clock.advanceAsync(100);
    expect(await running).toMatchObject({ status: 'error', code: 'TIMEOUT', abandoned: true });
    expect(executor.health.summary('tool', 'slow')).toMatchObject({ failure: 1, abandoned: 1 });
    expect(events.map(({ type }) => type)).toEqual([
      'decision',
      'call-started',
      'call-abandoned',
      'call-settled',
    ]);
    expect(executor.abandoned()).toEqual([
      { callId: 'c1', toolName: 'slow', principal: 'ada', since: 1_000_100 },
    ]);
  });
});

describe('the place of an abandoned call', () => {
  it('is given up at once by readonly tools that may run beside themselves', async () => {
    const { executor, clock } = setup([reader('slow', never), reader('other', () => 1)], {
      ...TIMES,
      maxConcurrent: 1,
    });
    void executor.execute({ id: '1', name: 'slow' });
    await clock.advanceAsync(100);
    expect(brief(await executor.execute({ id: '2', name: 'other' }))).toBe('ok 1');
  });

  it.each([
    ['a readonly tool that runs alone', { accessMode: 'readonly', allowParallel: false }],
    ['a write', { accessMode: 'write' }],
    ['a tool that declares nothing', {}],
  ] as const)('is kept by %s until its work ends', async (_, extra) => {
    const gate = new Gate<string>();
    let starts = 0;
    const tool = defineTool({
      name: 'tool',
      description: 'Hangs once',
      inputSchema: { type: 'object' },
      ...extra,
      execute: () => (starts++ === 0 ? gate.promise : 'done'),
    });
    const { executor, clock } = setup([tool], { ...TIMES, policy: allowAll });
    void executor.execute({ id: 'c1', name: 'tool' });
    await clock.advanceAsync(100);
    const second = executor.execute({ id: 'c2', name: 'tool' });
    await clock.advanceAsync(100);
    expect(await second).toMatchObject({
      code: 'TIMEOUT',
      attempts: 0,
      message: expect.stringContaining('the abandoned call "c1" is still running') as string,
    });
    gate.open('late');
    await clock.advanceAsync(0);
    expect(executor.abandoned()).toEqual([]);
    expect(brief(await executor.execute({ id: 'c3', name: 'tool' }))).toBe('ok "done"');
    expect(starts).toBe(2);
  });

  it('is free again once the call is released, and its late end changes nothing', async () => {
    const gate = new Gate<string>();
    let starts = 0;
    const { executor, clock, events } = setup(
      [writer('save', () => (starts++ === 0 ? gate.promise : 'done'))],
      { ...TIMES, policy: allowAll },
    );
    void executor.execute({ id: 'c1', name: 'save' });
    expect(executor.release('c1')).toBe(false);
    await clock.advanceAsync(100);
    expect(executor.release('other')).toBe(false);
    expect(executor.release('c1')).toBe(true);
    expect(executor.release('c1')).toBe(false);
    expect(brief(await executor.execute({ id: 'c2', name: 'save' }))).toBe('ok "done"');
    gate.open('late');
    await clock.advanceAsync(0);
    expect(events.filter(({ type }) => type === 'late-result')).toHaveLength(1);
    expect(brief(await executor.execute({ id: 'c3', name: 'save' }))).toBe('ok "done"');
  });

  it('is released one by one where calls of several conversations have the same id', async () => {
    const { executor, clock } = setup([writer('pay', never), writer('mail', never)], {
      ...TIMES,
      policy: allowAll,
    });
    void executor.execute({ id: 'call_1', name: 'pay' }, { principal: 'ada', conversationId: 'x' });
    void executor.execute({ id: 'call_1', name: 'mail' }, { principal: 'bob' });
    await clock.advanceAsync(100);
    const [pay, mail] = executor.abandoned();
    expect(() => executor.release('call_1')).toThrow('executor.abandoned()');
    expect(executor.release(JSON.parse(JSON.stringify(pay)) as typeof pay & object)).toBe(true);
    expect(executor.abandoned()).toEqual([mail]);
  });
});

describe('a preview that hangs', () => {
  it('is listed as abandoned, holds no place, and 500 calls make at most as many at once as there are places', async () => {
    let live = 0;
    const { executor, clock } = setup(
      [
        writer('put', () => 'put', {
          allowParallel: true,
          preview: () => ((live += 1), never()),
        }),
      ],
      { maxConcurrent: 4 },
    );
    const calls = Array.from({ length: 500 }, (_, index) =>
      executor.execute({ id: `${index}`, name: 'put', input: { index } }),
    );
    await clock.advanceAsync(1_000);
    expect(live).toBe(4);
    await clock.advanceAsync(9_000);
    expect(executor.abandoned().length).toBeGreaterThanOrEqual(4);
    expect(await calls[0]).toMatchObject({
      status: 'approval_required',
      pending: { noPreview: 'its preview took longer than 10000 ms' },
    });
    await clock.advanceAsync(60_000);
    await Promise.all(calls);
  });

  it('asks once when it changes with every look and the user always says yes at once', async () => {
    let asked = 0;
    const { executor } = setup(
      [writer('put', () => 'put', { preview: () => `${Math.random()}` })],
      { confirm: () => (asked++, true) },
    );
    const outcome = await executor.execute({ id: '1', name: 'put' });
    expect([outcome.status, asked]).toEqual(['approval_required', 1]);
  });
});
