import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  askUser,
  defineTool,
  fail,
  halt,
  image,
  ok,
  text,
  ToolError,
  type Around,
  type AroundCall,
  type ToolOutcome,
} from '../../src/index.js';
import { anyTool, brief, Gate, reader, settled, setup, writer } from './fixtures/executor-setup.js';

const passOn: Around = (_, run) => run();
const hangs = () => new Promise<never>(() => undefined);
const call = (name: string, input: unknown = {}) => ({ id: 'c1', name, input });
const messageOf = (outcome: ToolOutcome) => (outcome.status === 'error' ? outcome.message : '');

describe('functions around calls', () => {
  it("a function around calls gets the tool, the id, the input, and the context, and can't change them", async () => {
    const told: AroundCall[] = [];
    let given: unknown;
    const tool = defineTool({
      name: 'count',
      description: 'd',
      accessMode: 'readonly',
      inputSchema: z.object({ words: z.array(z.string()), unit: z.string().default('w') }),
      execute: (input) => (given = input),
    });
    const { executor, registry } = setup([tool]);
    executor.use((around, run) => {
      told.push(around);
      expect(() => (around.input as { words: string[] }).words.push('more')).toThrow(TypeError);
      expect(() => Object.assign(around, { input: {} })).toThrow(TypeError);
      expect(() => Object.assign(around.context, { principal: 'eve' })).toThrow(TypeError);
      return run();
    });
    const outcome = await executor.execute(call('count', { words: ['a'] }), {
      principal: 'ada',
      conversationId: 't1',
      context: { plan: 'free' },
    });
    expect(brief(outcome)).toBe('ok {"words":["a"],"unit":"w"}');
    expect(given).toEqual({ words: ['a'], unit: 'w' });
    expect(told).toMatchObject([
      {
        id: 'c1',
        input: { words: ['a'] },
        context: {
          callId: 'c1',
          principal: 'ada',
          conversationId: 't1',
          context: { plan: 'free' },
        },
      },
    ]);
    expect(told[0]!.tool).toBe(registry.get('count'));
    expect(told[0]!.context.signal).toBeInstanceOf(AbortSignal);
  });

  it('a function around calls can replace the result, which must match the output schema', async () => {
    const tool = defineTool({
      name: 'user',
      description: 'd',
      accessMode: 'readonly',
      inputSchema: z.object({}),
      outputSchema: z.object({ email: z.string().max(5) }),
      execute: () => ({ email: 'ada@example.org' }),
    });
    const { executor } = setup([tool]);
    expect(brief(await executor.execute(call('user')))).toBe('error INVALID_RESULT');
    executor.use(async (_, run) => ({ ...((await run()) as object), email: '***' }));
    expect(brief(await executor.execute(call('user')))).toBe('ok {"email":"***"}');
    executor.use(() => ({ email: 5 }));
    executor.use(() => expect.unreachable('the outer function answers'));
    expect(brief(await executor.execute(call('user')))).toBe('ok {"email":"***"}');
    const { executor: other } = setup([tool]);
    other.use(() => ({ email: 5 }));
    expect(brief(await other.execute(call('user')))).toBe('error INVALID_RESULT');
  });

  it.each<[string, () => unknown, unknown, string]>([
    ['the value of ok', () => ok('x'), 'x', 'ok "x"'],
    [
      'a failure',
      () => fail('no luck'),
      { status: 'error', message: 'no luck' },
      'error EXECUTION_FAILED',
    ],
    ['a question', () => askUser('Which?'), { status: 'ask_user', question: 'Which?' }, 'ask_user'],
    ['the end of the run', () => halt('done', 1), { status: 'halt', reason: 'done' }, 'halt'],
    ['nothing', () => undefined, undefined, 'ok null'],
  ])('a function around calls sees %s', async (_, execute, seen, expected) => {
    const { executor } = setup([reader('work', execute)]);
    let given: unknown = 'nothing yet';
    executor.use(async (_call, run) => (given = await run()));
    expect(brief(await executor.execute(call('work')))).toBe(expected);
    if (typeof seen === 'object') expect(given).toMatchObject(seen as object);
    else expect(given).toBe(seen);
  });

  it.each<[string, Around, boolean]>([
    [
      'before the call',
      () => {
        throw new Error('token=hunter2 in /etc/x');
      },
      false,
    ],
    [
      'after the call',
      async (_, run) => {
        await run();
        throw new ToolError('FORBIDDEN_PATH', 'token=hunter2');
      },
      true,
    ],
    [
      'over what the tool threw',
      (_, run) =>
        run().catch((cause: unknown) => {
          throw new Error('hunter2', { cause });
        }),
      true,
    ],
  ])(
    'a function around calls that throws %s ends the call with an error that hides the message',
    async (when, around, ran) => {
      const { executor } = setup(
        [
          reader('work', () => {
            if (when.startsWith('over')) throw new Error('x');
          }),
        ],
        { maxAttempts: 1 },
      );
      executor.use(passOn);
      executor.use(around);
      const outcome = await executor.execute(call('work'));
      expect(outcome).toMatchObject({
        status: 'error',
        code: 'EXECUTION_FAILED',
        details: { ran },
      });
      expect(messageOf(outcome)).toMatch(/^A function that wraps work failed/);
      expect(JSON.stringify(outcome)).not.toMatch(/hunter2|etc/);
      expect(outcome).not.toHaveProperty('origin');
    },
  );

  it('a function around calls that returns nothing ends the call with an error, and null means no value', async () => {
    const { executor } = setup([reader('work', () => 1)]);
    const remove = executor.use(async (_, run) => void (await run()));
    const outcome = await executor.execute(call('work'));
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'INVALID_RESULT',
      details: { ran: true },
    });
    expect(messageOf(outcome)).toContain('Return the result of run()');
    remove();
    executor.use(() => null);
    expect(brief(await executor.execute(call('work')))).toBe('ok null');
  });
});

describe('run in a function around calls', () => {
  it("if run is never called, the function's own result is used and the tool doesn't run", async () => {
    let runs = 0;
    const { executor } = setup([reader('work', () => ++runs)]);
    executor.use(() => 'from the archive');
    expect(await executor.execute(call('work'))).toMatchObject({
      status: 'ok',
      value: 'from the archive',
      attempts: 0,
    });
    expect(runs).toBe(0);
    expect(executor.health.summary('tool', 'work')).toMatchObject({ total: 0 });
  });

  it.each<[string, Around]>([
    ['one after the other', async (_, run) => (await run(), run())],
    ['at once', async (_, run) => Promise.all([run(), run()])],
    [
      'without waiting',
      async (_, run) => {
        const first = run();
        await run();
        return first;
      },
    ],
  ])('a second run is refused %s', async (_, around) => {
    let runs = 0;
    const { executor } = setup([reader('work', async () => (await settled(), ++runs))]);
    executor.use(around);
    expect(await executor.execute(call('work'))).toMatchObject({
      status: 'error',
      code: 'INVALID_STATE',
    });
    await settled();
    expect(runs).toBe(1);
  });

  it('run does nothing after the function around it has returned, even for an inner function', async () => {
    let runs = 0;
    const kept: (() => Promise<unknown>)[] = [];
    const gate = new Gate();
    const { executor } = setup([reader('work', () => ++runs)]);
    executor.use(async (_, run) => (kept.push(run), 'first'));
    expect(brief(await executor.execute(call('work')))).toBe('ok "first"');
    executor.use(passOn);
    const { executor: nested } = setup([reader('work', () => ++runs)]);
    nested.use(async (_, run) => (void run(), await settled(), 'early'));
    nested.use(async (_, run) => (kept.push(run), await gate.promise, run()));
    expect(brief(await nested.execute(call('work')))).toBe('ok "early"');
    gate.open();
    await settled();
    for (const run of kept) await expect(run()).rejects.toMatchObject({ code: 'INVALID_STATE' });
    expect(runs).toBe(0);
  });

  it('if nobody waits for run, the tool gets an abort signal and the call counts as abandoned if its work goes on', async () => {
    let stopped: unknown;
    const { executor, events, clock } = setup([
      reader('deaf', () => hangs()),
      reader(
        'polite',
        (_, { signal }) =>
          new Promise((_resolve, reject) =>
            signal!.addEventListener(
              'abort',
              () => ((stopped = signal!.reason), reject(new Error('stopped'))),
            ),
          ),
      ),
    ]);
    executor.use(async (_, run) => (void run(), await settled(), 'early'));
    expect(await executor.execute(call('polite'))).toMatchObject({
      status: 'ok',
      value: 'early',
      attempts: 1,
    });
    expect(stopped).toMatchObject({ code: 'ABORTED' });
    expect(await executor.execute(call('deaf'))).toMatchObject({
      status: 'ok',
      value: 'early',
      abandoned: true,
    });
    await clock.advanceAsync(1_000);
    expect(events.filter(({ type }) => type === 'call-abandoned')).toHaveLength(1);
  });
});

describe('functions around calls and the rest of a call', () => {
  it('functions around calls run only after a call is checked, decided, and approved', async () => {
    let asked = 0;
    const tools = [
      writer('save', () => 1),
      anyTool('ask_expert', undefined, { manual: true, accessMode: 'readonly' }),
      reader('strict', () => 1, { inputSchema: { type: 'object', required: ['a'] } }),
    ];
    const { executor } = setup(tools, {
      confirm: ({ input }) => ((input as { ok?: boolean }).ok === true ? true : 'later'),
    });
    executor.use((_, run) => (asked++, run()));
    expect(brief(await executor.execute(call('nothing')))).toBe('error TOOL_NOT_FOUND');
    expect(brief(await executor.execute(call('strict')))).toBe('error INVALID_INPUT');
    expect(brief(await executor.execute(call('save')))).toBe('approval_required');
    expect(brief(await executor.execute(call('ask_expert')))).toBe('manual');
    expect(brief(await executor.execute(call('save'), { mode: 'read-only' }))).toBe('denied');
    expect(asked).toBe(0);
    expect(brief(await executor.execute(call('save', { ok: true })))).toBe('ok 1');
    expect(asked).toBe(1);
  });

  it('a function around calls runs once per call, even if the tool needs several attempts', async () => {
    let asked = 0;
    let runs = 0;
    const { executor, clock } = setup([
      reader('work', () => {
        if (++runs < 3) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
        return runs;
      }),
    ]);
    executor.use((_, run) => (asked++, run()));
    const outcome = executor.execute(call('work'));
    await clock.advanceAsync(5_000);
    expect(await outcome).toMatchObject({ status: 'ok', value: 3, attempts: 3 });
    expect(asked).toBe(1);
  });
});

const cached = (work: () => unknown) => reader('read', work, { cacheTtlMs: 60_000 });

it('the cache keeps the result of the outermost function, and a cached answer skips all functions', async () => {
  let [runs, asked] = [0, 0];
  const { executor } = setup([cached(() => ++runs)]);
  executor.use(async (_, run) => (asked++, `redacted ${String(await run())}`));
  expect(await executor.execute(call('read'))).toMatchObject({
    value: 'redacted 1',
    cached: false,
  });
  expect(await executor.execute(call('read'))).toMatchObject({
    value: 'redacted 1',
    cached: true,
  });
  expect([runs, asked]).toEqual([1, 1]);
});

it("a cached answer isn't used after a function was added or removed", async () => {
  const { executor } = setup([cached(() => 'secret')]);
  expect(brief(await executor.execute(call('read')))).toBe('ok "secret"');
  const remove = executor.use(async (_, run) => String(await run()).replace('secret', '***'));
  expect(brief(await executor.execute(call('read')))).toBe('ok "***"');
  remove();
  expect(await executor.execute(call('read'))).toMatchObject({ value: 'secret', cached: true });
  executor.use(() => 'other');
  expect(brief(await executor.execute(call('read')))).toBe('ok "other"');
});

it('the health of a tool ignores the time and the errors of functions around it', async () => {
  const { executor, clock } = setup(
    [
      reader('works', () => 1),
      reader('fails', () => {
        throw new Error('x');
      }),
    ],
    { maxAttempts: 1 },
  );
  const remove = executor.use(async (_, run) => {
    await run().catch(() => undefined);
    clock.advance(500);
    throw new Error('mine');
  });
  await executor.execute(call('works'));
  remove();
  executor.use((_, run) => run().catch(() => 'caught'));
  expect(brief(await executor.execute(call('fails')))).toBe('ok "caught"');
  expect(executor.health.summary('tool', 'works')).toMatchObject({
    successRate: 1,
    averageLatencyMs: 0,
  });
  expect(executor.health.summary('tool', 'fails')).toMatchObject({ successRate: 0 });
});

describe('content of results with functions around calls', () => {
  const value = { secret: 'abc' };
  const parts = [text('{"secret":"abc"}'), image(new Uint8Array(3), 'image/png')];
  const contentAfter = async (...arounds: readonly Around[]) => {
    const { executor } = setup([reader('work', () => ok({ ...value }, { content: parts }))]);
    for (const around of arounds) executor.use(around);
    const outcome = await executor.execute(call('work'));
    return outcome.status === 'ok' ? outcome.content : outcome;
  };

  it('content stays with a value that functions return unchanged', async () => {
    expect(await contentAfter(passOn)).toEqual(parts);
    expect(await contentAfter(passOn, async (_, run) => await run(), passOn)).toEqual(parts);
  });

  it('content is dropped when a function replaces or changes the value, because it may show what was removed', async () => {
    expect(
      await contentAfter(async (_, run) => ({ ...((await run()) as object), secret: '…' })),
    ).toBeUndefined();
    expect(
      await contentAfter(async (_, run) => Object.assign((await run()) as object, { secret: '…' })),
    ).toBeUndefined();
    expect(
      await contentAfter(passOn, async (_, run) =>
        Object.assign((await run()) as object, { secret: '…' }),
      ),
    ).toBeUndefined();
  });

  it('a function around calls can return its own content', async () => {
    const own = [image(new Uint8Array(1), 'image/gif')];
    expect(await contentAfter(passOn, async (_, run) => ok(await run(), { content: own }))).toEqual(
      own,
    );
  });
});
