import { expect, it } from 'vitest';
import type { ToolOutcome } from '../../src/index.js';
import { allowAll, anyTool, brief, setup, settled, writer } from './fixtures/executor-setup.js';

function pendingOf(outcome: ToolOutcome) {
  if (outcome.status !== 'approval_required')
    throw new Error(`expected approval_required, found ${brief(outcome)}`);
  return outcome.pending;
}

it('executeAll runs calls that need the user after all other calls, and asks about one call at a time', async () => {
  let running = 0;
  const log: string[] = [];
  const work = async (input: { key?: string }) => {
    log.push(`begin ${input.key} beside ${running++}`);
    await settled();
    running--;
  };
  const keys = {
    allowParallel: true,
    conflictKeys: (input: { key?: string }) => [input.key ?? ''],
  };
  const tools = [writer('write', work, keys), writer('plain', work, keys)];
  const { executor } = setup(tools, {
    policy: {
      decide: ({ name }) => ({
        verdict: name === 'write' ? 'confirm' : 'allow',
        reason: 'r',
        rule: 'x',
        danger: 'low',
      }),
    },
    confirm: ({ input }) =>
      (input as { key: string }).key === 'a' ? { input: { key: 'b' } } : true,
  });
  const outcomes = await executor.executeAll([
    { id: '1', name: 'write', input: { key: 'a' } },
    { id: '2', name: 'plain', input: { key: 'b' } },
    { id: '3', name: 'write', input: { key: 'c' } },
  ]);
  expect(outcomes.map(brief)).toEqual(['ok null', 'ok null', 'ok null']);
  expect(log).toEqual(['begin b beside 0', 'begin b beside 0', 'begin c beside 0']);
});

it("a call with `arguments` instead of `input` is rejected and doesn't run", async () => {
  let runs = 0;
  const { executor } = setup([anyTool('work', () => ++runs)], { policy: allowAll });
  const outcome = await executor.execute({ id: '1', name: 'work', arguments: { a: 1 } } as never);
  expect(outcome).toMatchObject({ status: 'error', code: 'INVALID_INPUT' });
  expect(outcome.status === 'error' && outcome.message).toContain('got arguments');
  expect(runs).toBe(0);
});

it("if onStart throws, the call's approval stays valid for exactly one run", async () => {
  let runs = 0;
  const { executor, events } = setup([writer('save', () => ++runs)]);
  const call = { id: '1', name: 'save' };
  const held = await executor.execute(call);
  await executor.approve(pendingOf(held));
  const failing = { onStart: () => Promise.reject(new Error('no')) };
  expect(await executor.execute(call, failing)).toMatchObject({
    status: 'error',
    code: 'EXECUTION_FAILED',
    attempts: 0,
  });
  expect(await executor.execute(call, { onStart: () => undefined })).toMatchObject({
    status: 'ok',
    value: 1,
  });
  let told = 0;
  expect(await executor.execute(call, { onStart: () => void told++ })).toMatchObject({
    status: 'error',
    code: 'INVALID_APPROVAL',
  });
  expect([runs, told]).toEqual([1, 0]);
  expect(
    events.filter((event) => event.type === 'approval' && event.state === 'redeemed'),
  ).toHaveLength(1);
});
