import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  fail,
  halt,
  image,
  ok,
  text,
  ToolError,
  type Around,
  type ToolOutcome,
  type ToolResult,
} from '../../src/index.js';
import { anyTool, brief, reader, settled, setup, writer } from './fixtures/executor-setup.js';
import type { AroundCall } from '../../src/execution/around.js';

const passOn: Around = (_, run) => run();
const hangs = () => new Promise<never>(() => undefined);
const call = (name: string, input: unknown = {}) => ({ id: 'c1', name, input });
/** Returns a successful result with a changed value. */
const changed = (result: ToolResult, change: (value: string) => string) =>
  result.status === 'ok' ? ok(change(String(result.value))) : result;
const messageOf = (outcome: ToolOutcome) => (outcome.status === 'error' ? outcome.message : '');

it("middleware gets the tool, call id, input, and context, and can't change them", async () => {
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

it('middleware can replace the result, which must match the output schema', async () => {
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
  executor.use(async (_, run) => (await run(), ok({ email: '***' })));
  expect(brief(await executor.execute(call('user')))).toBe('ok {"email":"***"}');
  executor.use(() => ok({ email: 5 }));
  executor.use(() => expect.unreachable('the outer function answers'));
  expect(brief(await executor.execute(call('user')))).toBe('ok {"email":"***"}');
  const { executor: other } = setup([tool]);
  other.use(() => ok({ email: 5 }));
  expect(brief(await other.execute(call('user')))).toBe('error INVALID_RESULT');
});

it.each<[string, () => unknown, object, string]>([
  ['a plain value as ok(value)', () => 'x', { status: 'ok', value: 'x' }, 'ok "x"'],
  [
    'an error result',
    () => fail('no luck'),
    { status: 'error', message: 'no luck' },
    'error EXECUTION_FAILED',
  ],
  ['a halt result', () => halt('done', 1), { status: 'halt', reason: 'done' }, 'halt'],
  ['ok(undefined) if the tool returns nothing', () => undefined, ok(undefined), 'ok null'],
])('run() resolves to %s', async (_, execute, seen, expected) => {
  const { executor } = setup([reader('work', execute)]);
  let given: unknown = 'nothing yet';
  executor.use(async (_call, run) => (given = await run()));
  expect(brief(await executor.execute(call('work')))).toBe(expected);
  expect(given).toMatchObject(seen);
});

it('middleware that throws after the call ends the call with an error that hides its message', async () => {
  const { executor } = setup([reader('work', () => undefined)], { maxAttempts: 1 });
  executor.use(passOn);
  executor.use(async (_, run) => {
    await run();
    throw new ToolError('FORBIDDEN_PATH', 'token=hunter2');
  });
  const outcome = await executor.execute(call('work'));
  expect(outcome).toMatchObject({
    status: 'error',
    code: 'EXECUTION_FAILED',
    details: { ran: true },
  });
  expect(messageOf(outcome)).toMatch(/^A function that wraps work failed/);
  expect(JSON.stringify(outcome)).not.toContain('hunter2');
  expect(outcome).not.toHaveProperty('origin');
});

it('middleware that returns no result ends the call with an error', async () => {
  const { executor } = setup([reader('work', () => 1)]);
  for (const [returned, shown] of [
    [undefined, 'undefined'],
    ['done', '"done"'],
    [{ email: '***' }, 'an object'],
  ] as const) {
    const remove = executor.use(async (_, run) => (await run(), returned) as never);
    const outcome = await executor.execute(call('work'));
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'INVALID_RESULT',
      details: { ran: true },
    });
    expect(messageOf(outcome)).toContain(
      `must return a result, but returned ${shown}. Return the result of run(), or ok(value).`,
    );
    remove();
  }
});

it('a changed copy of a result is the same kind of result', async () => {
  const { executor } = setup([reader('work', () => fail('no luck with token=1'))]);
  executor.use(async (_, run) => ({ ...(await run()), message: 'no luck' }) as ToolResult);
  expect(await executor.execute(call('work'))).toMatchObject({
    status: 'error',
    message: 'no luck',
    origin: 'reported',
  });
});

it("if middleware never calls run(), the middleware's own result is returned and the tool doesn't run", async () => {
  let runs = 0;
  const { executor } = setup([reader('work', () => ++runs)]);
  executor.use(() => ok('from the archive'));
  expect(await executor.execute(call('work'))).toMatchObject({
    status: 'ok',
    value: 'from the archive',
    attempts: 0,
  });
  expect(runs).toBe(0);
  expect(executor.health.summary('tool', 'work')).toMatchObject({ total: 0 });
});

it('calling run() twice runs the tool once', async () => {
  let runs = 0;
  const { executor } = setup([reader('work', async () => (await settled(), ++runs))]);
  executor.use(async (_, run) => ok(await Promise.all([run(), run()])));
  expect(await executor.execute(call('work'))).toMatchObject({
    value: [{ value: 1 }, { value: 1 }],
  });
  expect(runs).toBe(1);
});

it("if middleware doesn't wait for run(), the tool's signal is aborted and a tool that keeps running counts as abandoned", async () => {
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
  executor.use(async (_, run) => (void run(), await settled(), ok('early')));
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

it('middleware runs only after the call has been validated, allowed, and approved', async () => {
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

it('middleware runs once per call, even if the tool is retried', async () => {
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

const cached = (work: () => unknown) => reader('read', work, { cacheTtlMs: 60_000 });

it('the cache stores the result of the outermost middleware, and a cached answer skips all middleware', async () => {
  let [runs, asked] = [0, 0];
  const { executor } = setup([cached(() => ++runs)]);
  executor.use(async (_, run) => (asked++, changed(await run(), (value) => `redacted ${value}`)));
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

it("a cached answer isn't reused after middleware was added or removed", async () => {
  const { executor } = setup([cached(() => 'secret')]);
  expect(brief(await executor.execute(call('read')))).toBe('ok "secret"');
  const remove = executor.use(async (_, run) =>
    changed(await run(), (value) => value.replace('secret', '***')),
  );
  expect(brief(await executor.execute(call('read')))).toBe('ok "***"');
  remove();
  expect(brief(await executor.execute(call('read')))).toBe('ok "secret"');
  executor.use(() => ok('other'));
  expect(brief(await executor.execute(call('read')))).toBe('ok "other"');
});

describe('result content and middleware', () => {
  const value = { secret: 'abc' };
  const parts = [text('{"secret":"abc"}'), image(new Uint8Array(3), 'image/png')];
  const contentAfter = async (...arounds: readonly Around[]) => {
    const { executor } = setup([reader('work', () => ok({ ...value }, { content: parts }))]);
    for (const around of arounds) executor.use(around);
    const outcome = await executor.execute(call('work'));
    return outcome.status === 'ok' ? outcome.content : outcome;
  };

  it('content is kept if middleware passes the result on, or a copy of it', async () => {
    expect(await contentAfter(passOn)).toEqual(parts);
    expect(
      await contentAfter(passOn, async (_, run) => ({ ...(await run()), value: 1 }) as ToolResult),
    ).toEqual(parts);
  });

  it('content is dropped if middleware returns a new result', async () => {
    expect(
      await contentAfter(async (_, run) => (await run(), ok({ secret: '…' }))),
    ).toBeUndefined();
  });
});
