import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalJson } from '../../src/core/plain-data.js';
import {
  halt,
  type ToolContext,
  type ToolDefinition,
  type ToolExecutorOptions,
} from '../../src/index.js';
import {
  allowAll,
  anyTool,
  brief,
  Gate,
  reader,
  setup,
  settled,
  writer,
} from './fixtures/executor-setup.js';

let nextId = 0;
const read = (input: unknown = {}, name = 'read') => ({ id: `${nextId++}`, name, input });

/** Counts the runs of a tool that is called before and after the other tools. */
async function runsOf(
  extra: object,
  between: readonly ToolDefinition[] = [],
  options: Partial<ToolExecutorOptions> = {},
): Promise<number> {
  let runs = 0;
  const { executor } = setup([anyTool('read', () => runs++, extra), ...between], {
    policy: allowAll,
    ...options,
  });
  await executor.execute(read());
  for (const { name } of between) await executor.execute(read({}, name));
  await executor.execute(read());
  return runs;
}

it('the second call of a readonly tool with cacheTtlMs returns the first answer, marked as cached', async () => {
  let runs = 0;
  const { executor, events } = setup([
    reader('read', () => ({ runs: ++runs }), { cacheTtlMs: 1_000 }),
  ]);
  const first = await executor.execute(read());
  const second = await executor.execute(read());
  expect(first).toMatchObject({ status: 'ok', value: { runs: 1 }, cached: false, attempts: 1 });
  expect(second).toMatchObject({ status: 'ok', value: { runs: 1 }, cached: true, attempts: 0 });
  expect(events.map(({ type }) => type)).toEqual([
    'decision',
    'call-started',
    'call-settled',
    'decision',
    'call-settled',
  ]);
  expect(events.at(-1)).toMatchObject({ cached: true, attempts: 0 });
});

it("answers aren't cached if the tool isn't declared readonly, has no cacheTtlMs, or cacheEntries is 0", async () => {
  expect(await runsOf({ accessMode: 'readonly' })).toBe(2);
  expect(await runsOf({ sideEffects: 'none' })).toBe(2);
  expect(await runsOf({ sideEffects: 'none', cacheTtlMs: 1_000 }), 'inferred').toBe(2);
  expect(await runsOf({ accessMode: 'readonly', cacheTtlMs: 1_000 }, [], { cacheEntries: 0 })).toBe(
    2,
  );
});

it('a cached answer expires exactly after cacheTtlMs', async () => {
  let runs = 0;
  const { executor, clock } = setup([reader('read', () => runs++, { cacheTtlMs: 1_000 })]);
  await executor.execute(read());
  clock.advance(999);
  expect((await executor.execute(read())).cached).toBe(true);
  clock.advance(1);
  expect((await executor.execute(read())).cached).toBe(false);
});

it('a cached answer is reused only for equal arguments, in any key order', async () => {
  const { executor } = setup([reader('read', (input) => input, { cacheTtlMs: 1_000 })]);
  await executor.execute(read({ a: 1, b: { c: [1, 2] } }));
  expect((await executor.execute(read({ b: { c: [1, 2] }, a: 1 }))).cached).toBe(true);
  for (const input of [
    { a: 1, b: { c: [2, 1] } },
    { a: '1', b: { c: [1, 2] } },
    { a: 1 },
    {},
    { a: 1, b: { c: [1, 2] }, d: null },
  ])
    expect((await executor.execute(read(input))).cached, JSON.stringify(input)).toBe(false);
});

it('a cached answer is reused only for an equal context', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (one, other) => {
      const { executor } = setup([
        reader('read', (_, { context }) => context, { cacheTtlMs: 1_000 }),
      ]);
      await executor.execute(read(), { context: one });
      const second = await executor.execute(read(), { context: other });
      expect(second).toMatchObject({ cached: canonicalJson(one) === canonicalJson(other) });
      expect(canonicalJson((second as { value: unknown }).value)).toBe(canonicalJson(other));
    }),
    { numRuns: 100 },
  );
});

it('with cacheKey, a cached answer is reused for an equal key and the same principal', async () => {
  const cacheKey = (_: unknown, { context }: ToolContext) =>
    (context as { customer: number }).customer;
  const { executor } = setup([
    reader('orders', (_, { principal, context }) => [principal, context], {
      cacheTtlMs: 1_000,
      cacheKey,
    }),
  ]);
  const cached = async (customer: number, principal: string) =>
    (
      await executor.execute(read({}, 'orders'), {
        principal,
        context: { customer, request: nextId++ },
      })
    ).cached;
  expect(await cached(7, 'ada')).toBe(false);
  expect(await cached(7, 'ada')).toBe(true);
  expect(await cached(8, 'ada')).toBe(false);
  expect(await cached(7, 'bob')).toBe(false);
});

it('a cached answer is reused only for the same principal', async () => {
  const { executor } = setup([reader('read', () => 1, { cacheTtlMs: 1_000 })]);
  for (const principal of [undefined, '', 'null', 'ada', 'eve'])
    for (const cached of [false, true])
      expect(
        await executor.execute(read(), principal === undefined ? {} : { principal }),
      ).toMatchObject({ cached });
});

it('a cached answer is reused only in the same conversation, unless the tool has a cacheKey that ignores the conversation', async () => {
  for (const cacheKey of [undefined, () => 'all']) {
    const { executor } = setup([
      reader('read', (_, { conversationId }) => conversationId ?? 'none', {
        cacheTtlMs: 1_000,
        ...(cacheKey && { cacheKey }),
      }),
    ]);
    const cached = [];
    for (const conversationId of ['a', 'b', 'a', undefined])
      cached.push(
        (await executor.execute(read(), conversationId === undefined ? {} : { conversationId }))
          .cached,
      );
    expect(cached).toEqual(
      cacheKey === undefined ? [false, false, true, false] : [false, true, true, true],
    );
  }
});

it.each<[string, unknown, undefined | (() => unknown), string]>([
  ['a context with a function', { now: () => 1 }, undefined, "the context isn't plain data"],
  [
    'a cacheKey that throws',
    {},
    () => {
      throw new Error('secret');
    },
    'its cacheKey failed',
  ],
  ['a cacheKey that returns undefined', {}, () => undefined, 'its cacheKey returned undefined'],
])(
  "an answer isn't cached with %s, and an event reports the reason",
  async (_, context, cacheKey, reason) => {
    let runs = 0;
    const { executor, events } = setup([
      reader('read', () => ++runs, { cacheTtlMs: 1_000, ...(cacheKey && { cacheKey }) }),
    ]);
    await executor.execute(read(), { context });
    expect(await executor.execute(read(), { context })).toMatchObject({
      value: 2,
      cached: false,
    });
    expect(events.filter(({ type }) => type === 'cache-skipped')).toMatchObject([
      { toolName: 'read', reason: expect.stringContaining(reason) },
      { toolName: 'read' },
    ]);
  },
);

it("failures, halts, and values that can't be serialized to JSON or are too large aren't cached", async () => {
  for (const answer of [
    () => {
      throw new Error('x');
    },
    () => halt('r', 1),
    () => NaN,
    () => 'x'.repeat(2 ** 20 + 1),
  ]) {
    let runs = 0;
    const { executor } = setup([reader('read', () => (runs++, answer()), { cacheTtlMs: 1_000 })], {
      maxAttempts: 1,
    });
    await executor.execute(read());
    await executor.execute(read());
    expect(runs).toBe(2);
  }
});

it('if a run that equal calls share fails, each waiting call runs separately', async () => {
  const gates = [new Gate<string>(), new Gate<string>(), new Gate<string>()];
  let runs = 0;
  const { executor } = setup(
    [reader('read', () => gates[runs++]!.promise, { cacheTtlMs: 1_000 })],
    { maxAttempts: 1 },
  );
  const running = [0, 1, 2].map(() => executor.execute(read()));
  await settled();
  gates[0]!.fail(new Error('x'));
  await settled();
  gates[1]!.open('b');
  gates[2]!.open('c');
  expect((await Promise.all(running)).map(brief).sort()).toEqual([
    'error EXECUTION_FAILED',
    'ok "b"',
    'ok "c"',
  ]);
});

const kept = { accessMode: 'readonly', category: 'notes', cacheTtlMs: 1_000 };
const after = (tool: ToolDefinition) => runsOf(kept, [tool]);

it('a write invalidates only cached answers in its own category', async () => {
  expect(await after(writer('write', () => 1, { category: 'notes' }))).toBe(2);
  expect(await after(writer('write', () => 1, { category: 'files' }))).toBe(1);
});

it('a write with the option invalidates drops only the cached answers of the tools and categories in that option', async () => {
  expect(await after(writer('write', () => 1, { category: 'files', invalidates: ['read'] }))).toBe(
    2,
  );
  expect(await after(writer('write', () => 1, { category: 'files', invalidates: ['notes'] }))).toBe(
    2,
  );
  expect(await after(writer('write', () => 1, { category: 'notes', invalidates: ['files'] }))).toBe(
    1,
  );
});

it('execute and mixed calls, and writes without a category, invalidate all cached answers', async () => {
  expect(
    await after(
      anyTool('run', () => 1, {
        accessMode: 'execute',
        category: 'files',
        invalidates: ['files'],
      }),
    ),
  ).toBe(2);
  expect(await after(anyTool('any', () => 1, { category: 'files' }))).toBe(2);
  expect(await after(writer('write', () => 1))).toBe(2);
});

it('every write invalidates the cached answers of tools without a category', async () => {
  for (const extra of [{}, { invalidates: ['notes'] }])
    expect(
      await runsOf({ accessMode: 'readonly', cacheTtlMs: 1_000 }, [
        writer('write', () => 1, { category: 'files', ...extra }),
      ]),
    ).toBe(2);
});

it('a write that finishes after its deadline still invalidates cached answers', async () => {
  const gate = new Gate();
  let runs = 0;
  const { executor, clock } = setup(
    [
      reader('read', () => runs++, { ...kept } as never),
      writer('write', () => gate.promise, { category: 'notes', timeoutMs: 10 }),
    ],
    { policy: allowAll },
  );
  const writing = executor.execute(read({}, 'write'));
  await clock.advanceAsync(10);
  expect(brief(await writing)).toBe('error TIMEOUT');
  await executor.execute(read());
  gate.open();
  await settled();
  expect((await executor.execute(read())).cached).toBe(false);
});

it("an answer isn't cached if a write ran in the meantime", async () => {
  const gate = new Gate<string>();
  let runs = 0;
  const { executor } = setup(
    [
      reader('read', () => (runs++ === 0 ? gate.promise : 'new'), { ...kept } as never),
      writer('write', () => 1, { category: 'notes' }),
    ],
    { policy: allowAll },
  );
  const running = executor.execute(read());
  await settled();
  await executor.execute(read({}, 'write'));
  const joined = executor.execute(read());
  gate.open('old');
  expect(brief(await running)).toBe('ok "old"');
  expect(brief(await joined)).toBe('ok "new"');
  expect(brief(await executor.execute(read()))).toBe('ok "new"');
});
