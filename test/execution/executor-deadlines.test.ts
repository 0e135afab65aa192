import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { ToolContext } from '../../src/index.js';
import { brief, Gate, reader, setup, settled, writer } from './fixtures/executor-setup.js';

const never = () => new Promise<never>(() => undefined);

describe('deadlines', () => {
  it('a call ends exactly at its timeout, even if the handler ignores its signal', async () => {
    let given: AbortSignal | undefined;
    const work = (_: unknown, context: ToolContext) => ((given = context.signal), never());
    const { executor, clock } = setup(
      [reader('own', work, { timeoutMs: 700 }), reader('usual', work)],
      { timeoutMs: 900 },
    );
    for (const [name, ms] of [
      ['own', 700],
      ['usual', 900],
    ] as const) {
      let outcome: unknown;
      const { signal } = new AbortController();
      void executor.execute({ id: '1', name }, { signal }).then((end) => (outcome = end));
      await clock.advanceAsync(ms - 1);
      expect([outcome, given?.aborted]).toEqual([undefined, false]);
      await clock.advanceAsync(1);
      expect(given?.reason).toMatchObject({ name: 'TimeoutError' });
      expect(outcome).toMatchObject({
        status: 'error',
        code: 'TIMEOUT',
        durationMs: ms,
        attempts: 1,
        details: { timeoutMs: ms },
        abandoned: true,
      });
      await clock.advanceAsync(1_000);
      expect(clock.pending).toBe(0);
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    }
  });

  it('the timeout covers all attempts and the delays between them', async () => {
    const { executor, clock } = setup([reader('flaky', () => Promise.reject(new Error('again')))], {
      timeoutMs: 60,
      maxAttempts: 10,
      random: () => 0.999,
    });
    const running = executor.execute({ id: '1', name: 'flaky' });
    await clock.advanceAsync(60);
    expect(await running).toMatchObject({ status: 'error', code: 'TIMEOUT', durationMs: 60 });
    await clock.advanceAsync(100_000);
    expect(clock.pending).toBe(0);
  });

  it('a result that arrives after the deadline is dropped and reported once', async () => {
    const gate = new Gate<string>();
    const { executor, clock, events } = setup([reader('slow', () => gate.promise)], {
      timeoutMs: 10,
    });
    const running = executor.execute({ id: '1', name: 'slow' }, { principal: 'ada' });
    await clock.advanceAsync(10);
    const outcome = await running;
    const before = JSON.stringify(outcome);
    gate.open('late');
    await settled();
    expect(JSON.stringify(outcome)).toBe(before);
    expect(events.map(({ type }) => type)).toEqual([
      'decision',
      'call-started',
      'call-abandoned',
      'call-settled',
      'late-result',
    ]);
    expect(events.at(-1)).toMatchObject({
      type: 'late-result',
      callId: '1',
      toolName: 'slow',
      principal: 'ada',
    });
  });
});

it("a call that is aborted before it starts doesn't run", async () => {
  let runs = 0;
  const { executor, events } = setup([reader('read', () => runs++)]);
  expect(
    brief(await executor.execute({ id: '1', name: 'read' }, { signal: AbortSignal.abort() })),
  ).toBe('error ABORTED');
  expect(runs).toBe(0);
  expect(events.filter(({ type }) => type === 'call-settled')).toHaveLength(1);
});

it('aborting a call while its handler is running ends the call at once and passes the abort reason to the handler', async () => {
  let signal: AbortSignal | undefined;
  const { executor, clock } = setup([
    reader('slow', (_, context) => ((signal = context.signal), never())),
  ]);
  const controller = new AbortController();
  const running = executor.execute({ id: '1', name: 'slow' }, { signal: controller.signal });
  await settled();
  controller.abort('enough');
  expect(await running).toMatchObject({ status: 'error', code: 'ABORTED', attempts: 1 });
  expect(signal?.reason).toBe('enough');
  clock.advance(1_000);
  expect(clock.pending).toBe(0);
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
});

it.each(['on all calls', 'on its tool'])(
  'a call that is aborted while it waits for the limit %s lets the next call run',
  async (where) => {
    const gate = new Gate();
    const started: string[] = [];
    const { executor } = setup(
      [
        reader('slow', async ({ n }: { n?: string }) => {
          started.push(n!);
          await gate.promise;
        }),
      ],
      where === 'on all calls'
        ? { maxConcurrent: 1, maxConcurrentPerTool: 5 }
        : { maxConcurrentPerTool: 1 },
    );
    const controller = new AbortController();
    const call = (n: string) => ({ id: n, name: 'slow', input: { n } });
    const running = [
      executor.execute(call('a')),
      executor.execute(call('b'), { signal: controller.signal }),
      executor.execute(call('c')),
    ];
    await settled();
    controller.abort();
    expect(await running[1]).toMatchObject({ status: 'error', code: 'ABORTED', attempts: 0 });
    gate.open();
    expect((await Promise.all(running)).map(brief)).toEqual([
      'ok null',
      'error ABORTED',
      'ok null',
    ]);
    expect(started).toEqual(['a', 'c']);
    expect(brief(await executor.execute(call('d')))).toBe('ok null');
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  },
);

it("a call that is aborted while the user is asked ends at once and doesn't run the tool", async () => {
  let runs = 0;
  const { executor } = setup([writer('write', () => runs++)], { confirm: () => never() });
  const controller = new AbortController();
  const running = executor.execute({ id: '1', name: 'write' }, { signal: controller.signal });
  await settled();
  controller.abort();
  expect(
    brief(
      await Promise.race([
        running,
        settled()
          .then(settled)
          .then(() => ({ status: 'no outcome' }) as never),
      ]),
    ),
  ).toMatch(/^(error ABORTED|denied)$/);
  expect(runs).toBe(0);
});

it('if one of several calls that share a run is aborted, the other calls still get the answer', async () => {
  const gate = new Gate<string>();
  let runs = 0;
  const { executor } = setup([reader('read', () => (runs++, gate.promise), { cacheTtlMs: 1_000 })]);
  const controller = new AbortController();
  const running = [
    executor.execute({ id: '1', name: 'read' }),
    executor.execute({ id: '2', name: 'read' }, { signal: controller.signal }),
    executor.execute({ id: '3', name: 'read' }),
  ];
  await settled();
  controller.abort();
  expect(brief(await running[1]!)).toBe('error ABORTED');
  gate.open('answer');
  expect((await Promise.all(running)).map(brief)).toEqual([
    'ok "answer"',
    'error ABORTED',
    'ok "answer"',
  ]);
  expect(runs).toBe(1);
});

it('if the call that started a shared run is aborted, the other calls still get an answer', async () => {
  const gates = [new Gate<string>(), new Gate<string>()];
  let runs = 0;
  const { executor } = setup([reader('read', () => gates[runs++]!.promise, { cacheTtlMs: 1_000 })]);
  const controller = new AbortController();
  const running = [
    executor.execute({ id: '1', name: 'read' }, { signal: controller.signal }),
    executor.execute({ id: '2', name: 'read' }),
  ];
  await settled();
  controller.abort();
  await settled();
  gates[1]!.open('answer');
  expect((await Promise.all(running)).map(brief)).toEqual(['error ABORTED', 'ok "answer"']);
});

it('no more handlers run at once than the overall limit and the limit per tool allow', async () => {
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await settled();
    running--;
  };
  const { executor } = setup([reader('a', work), reader('b', work)], {
    maxConcurrent: 3,
    maxConcurrentPerTool: 2,
  });
  await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      executor.execute({ id: `${index}`, name: 'a', input: { index } }),
    ),
  );
  expect(most).toBe(2);
  most = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      executor.execute({ id: `${index}`, name: index % 2 === 0 ? 'a' : 'b', input: { index } }),
    ),
  );
  expect(most).toBe(3);
});
