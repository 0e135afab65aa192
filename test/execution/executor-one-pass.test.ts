import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Decision,
  defineTool,
  type Policy,
  type ToolExecutorOptions,
  type ToolOptions,
} from '../../src/index.js';
import { brief, Gate, setup } from './fixtures/executor-setup.js';

/** Returns an executor that counts input checks, decisions, and runs. */
function counting(
  verdict: Decision['verdict'] = 'allow',
  options: Partial<ToolExecutorOptions> = {},
  extra: object = {},
) {
  const counts = { checks: 0, decisions: 0, runs: 0 };
  const inputSchema = z.object({ key: z.string() }).refine(() => ++counts.checks > 0);
  const tool = defineTool({
    name: 'note',
    description: 'Notes a text',
    inputSchema,
    accessMode: 'write',
    allowParallel: true,
    ...extra,
    execute: ({ key }) => (counts.runs++, key),
  });
  const policy: Policy = {
    decide: () => (counts.decisions++, { verdict, reason: 'a test', rule: 'test', danger: 'low' }),
  };
  return { ...setup([tool], { policy, ...options }), counts };
}

const call = { id: '1', name: 'note', input: { key: 'a' } };

it('executeAll consults the policy and runs the tool once per call, even with conflictKeys', async () => {
  const { executor, counts } = counting(
    'allow',
    {},
    { conflictKeys: ({ key }: { readonly key: string }) => [key] },
  );
  const outcomes = await executor.executeAll([
    call,
    { ...call, id: '2' },
    { ...call, id: '3', input: { key: 'b' } },
  ]);
  expect(outcomes.map(brief)).toEqual(['ok "a"', 'ok "a"', 'ok "b"']);
  expect(counts).toMatchObject({ decisions: 3, runs: 3 });
});

const other = defineTool({
  name: 'note',
  description: 'Transfers money',
  inputSchema: z.object({ key: z.string() }),
  accessMode: 'write',
  execute: () => 'transferred',
});

it.each(['replaced', 'removed'])(
  "a queued call doesn't run if its tool was %s in the meantime",
  async (how) => {
    const gate = new Gate();
    const started = new Gate();
    const { executor, registry, counts } = counting(
      'allow',
      { maxConcurrent: 1 },
      { allowParallel: false },
    );
    executor.use(async (_, run) => (started.open(), await gate.promise, run()));
    const running = [executor.execute(call), executor.execute({ ...call, id: '2' })];
    await started.promise;
    if (how === 'removed') registry.unregister('note');
    else registry.register(other, { replace: true });
    gate.open();
    const [first, second] = await Promise.all(running);
    expect(brief(first!)).toBe('ok "a"');
    expect(second).toMatchObject({ status: 'error', code: 'TOOL_CHANGED', attempts: 0 });
    expect(counts.runs).toBe(1);
    expect(brief(await executor.execute({ ...call, id: '3' }))).toBe(
      how === 'removed' ? 'error TOOL_NOT_FOUND' : 'ok "transferred"',
    );
  },
);

const decided = async (inputSchema: ToolOptions['inputSchema'], input: unknown) => {
  const seen: unknown[] = [];
  const tool = defineTool({
    name: 'note',
    description: 'Notes',
    inputSchema,
    accessMode: 'readonly',
    dangerFor: (given) => (seen.push(given), 'low'),
    execute: (given) => void seen.push(given),
  });
  const { executor } = setup([tool]);
  expect(brief(await executor.execute({ id: '1', name: 'note', input }))).toBe('ok null');
  return seen;
};

it('the policy and the tool get the same frozen input', async () => {
  for (const schema of [
    { type: 'object' },
    z.object({ list: z.array(z.object({ at: z.number() })) }),
  ]) {
    const [judged, got] = await decided(schema, { list: [{ at: 1 }] });
    expect(judged).toBe(got);
    expect(Object.isFrozen((got as { list: object[] }).list[0])).toBe(true);
  }
});

const deciding = (verdict: Decision['verdict']) => {
  const asked: unknown[] = [];
  const policy: Policy = {
    decide: ({ input }, context) => (
      asked.push([input, { ...context }]),
      { verdict, reason: `own ${verdict}`, rule: 'own', danger: 'low' }
    ),
  };
  return { policy, asked };
};

it.each([
  ['allow', 'allow', 'ok'],
  ['allow', 'confirm', 'approval_required'],
  ['confirm', 'allow', 'approval_required'],
  ['confirm', 'deny', 'denied'],
  ['deny', 'allow', 'denied'],
] as const)(
  'the stricter of executor policy and call policy wins: %s and %s result in %s',
  async (executors, own, status) => {
    const { executor, counts } = counting(executors);
    const { policy, asked } = deciding(own);
    expect((await executor.execute(call, { policy, principal: 'ada' })).status).toBe(status);
    expect(counts.decisions).toBe(1);
    expect(asked).toEqual([[{ key: 'a' }, { principal: 'ada' }]]);
    expect((await executor.decide(call, { policy })).verdict).toBe(
      { ok: 'allow', approval_required: 'confirm', denied: 'deny' }[status],
    );
  },
);
