import { expect, it } from 'vitest';
import { fail, type ToolDefinition } from '../../src/index.js';
import { allowAll, anyTool, reader, setup, settled, writer } from './fixtures/executor-setup.js';

/** Returns how often a tool that always fails is started. */
async function attemptsOf(
  tool: (execute: () => unknown) => ToolDefinition,
  error: unknown = new Error('again'),
  options = {},
): Promise<number> {
  let runs = 0;
  const { executor, clock } = setup(
    [
      tool(() => {
        runs++;
        throw error;
      }),
    ],
    { policy: allowAll, ...options },
  );
  const running = executor.execute({ id: '1', name: 'work' });
  await clock.advanceAsync(20_000);
  const outcome = await running;
  expect(outcome.attempts).toBe(runs);
  expect(clock.pending).toBe(0);
  return runs;
}

it('a failing tool is retried if it is readonly or has an idempotency key', async () => {
  expect(await attemptsOf((execute) => reader('work', execute))).toBe(3);
  expect(await attemptsOf((execute) => writer('work', execute, { idempotencyKey: true }))).toBe(3);
  expect(
    await attemptsOf((execute) => reader('work', execute), undefined, { maxAttempts: 5 }),
  ).toBe(5);
});

it("a failing tool that is neither declared readonly nor has an idempotency key isn't retried", async () => {
  expect(await attemptsOf((execute) => anyTool('work', execute))).toBe(1);
  expect(await attemptsOf((execute) => writer('work', execute))).toBe(1);
  expect(await attemptsOf((execute) => anyTool('work', execute, { accessMode: 'execute' }))).toBe(
    1,
  );
  expect(
    await attemptsOf((execute) => anyTool('work', execute, { sideEffects: 'none' })),
    'inferred readonly',
  ).toBe(1);
  expect(
    await attemptsOf((execute) => reader('work', execute), undefined, { maxAttempts: 1 }),
  ).toBe(1);
});

it("a failure that the tool returns isn't retried", async () => {
  let runs = 0;
  const { executor } = setup([reader('work', () => (runs++, fail('no')))]);
  expect((await executor.execute({ id: '1', name: 'work' })).attempts).toBe(1);
  expect(runs).toBe(1);
});

it("an approved write isn't retried", async () => {
  let runs = 0;
  const { executor, clock } = setup(
    [
      writer(
        'work',
        () => {
          runs++;
          throw new Error('again');
        },
        { idempotencyKey: true },
      ),
    ],
    { confirm: () => true },
  );
  const running = executor.execute({ id: '1', name: 'work' });
  await clock.advanceAsync(20_000);
  expect(await running).toMatchObject({ status: 'error', attempts: 1 });
  expect(runs).toBe(1);
});

it('the delay before each retry is random below a limit that doubles from 100 ms to 2,000 ms', async () => {
  const starts: number[] = [];
  const { executor, clock } = setup(
    [
      reader('work', () => {
        starts.push(clock.elapsed());
        throw new Error('again');
      }),
    ],
    { maxAttempts: 8, random: () => 0.5 },
  );
  const running = executor.execute({ id: '1', name: 'work' });
  await clock.advanceAsync(20_000);
  await running;
  expect(starts.map((at, index) => at - (starts[index - 1] ?? 0))).toEqual([
    0, 50, 100, 200, 400, 800, 1_000, 1_000,
  ]);
});

it('all attempts of a call use the same idempotency key', async () => {
  const keys: (string | undefined)[] = [];
  const { executor, clock } = setup(
    [
      writer(
        'work',
        (_, { idempotencyKey }) => {
          keys.push(idempotencyKey);
          throw new Error('again');
        },
        { idempotencyKey: true },
      ),
    ],
    { policy: allowAll },
  );
  const running = executor.execute({ id: '1', name: 'work' });
  await clock.advanceAsync(20_000);
  await running;
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toMatch(/./);
});

it('a caller can set the idempotency key', async () => {
  let key: string | undefined;
  const { executor } = setup(
    [writer('work', (_, context) => void (key = context.idempotencyKey))],
    { policy: allowAll },
  );
  await executor.execute({ id: '1', name: 'work' }, { idempotencyKey: 'mine' });
  expect(key).toBe('mine');
});

it('an equal call in the same conversation gets the same key in every process, and any difference changes the key', async () => {
  const keyOf = async (
    call: { id?: string; name?: string; input?: unknown } = {},
    options: object = { conversationId: 'c', principal: 'p' },
  ) => {
    let key: string | undefined;
    const note = (_: unknown, context: { idempotencyKey?: string }) =>
      void (key = context.idempotencyKey);
    const { executor } = setup(
      [writer('work', note, { aliases: ['alias'] }), writer('other', note)],
      { policy: allowAll },
    );
    await executor.execute({ id: '1', name: 'work', input: { a: 1, b: 2 }, ...call }, options);
    return key!;
  };
  const key = await keyOf();
  expect(await keyOf()).toBe(key);
  expect(await keyOf({ input: { b: 2, a: 1 } })).toBe(key);
  expect(await keyOf({ name: 'alias' })).toBe(key);
  const others = await Promise.all([
    keyOf({ id: '2' }),
    keyOf({ name: 'other' }),
    keyOf({ input: { a: 1, b: 3 } }),
    keyOf({}, { conversationId: 'd', principal: 'p' }),
    keyOf({}, { conversationId: 'c', principal: 'q' }),
    keyOf({}, { conversationId: 'c' }),
    keyOf({}, { principal: 'p' }),
    keyOf({}, { principal: 'p' }),
  ]);
  expect(new Set([key, ...others]).size).toBe(9);
});

it('if the user edits the arguments, the key is derived from the approved arguments', async () => {
  const keys: (string | undefined)[] = [];
  const { executor } = setup(
    [writer('work', (_, { idempotencyKey }) => void keys.push(idempotencyKey))],
    { confirm: ({ input }) => ((input as { n: number }).n === 1 ? { input: { n: 2 } } : true) },
  );
  await executor.execute({ id: '1', name: 'work', input: { n: 1 } }, { conversationId: 'c' });
  await executor.execute({ id: '1', name: 'work', input: { n: 2 } }, { conversationId: 'c' });
  await settled();
  expect(keys).toHaveLength(2);
  expect(keys[0]).toBe(keys[1]);
});
