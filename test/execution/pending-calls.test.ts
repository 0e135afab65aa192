import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  askUser,
  defineTool,
  ToolExecutor,
  ToolMetadataRegistry,
  type PendingApproval,
  type PendingManualCall,
  type PendingQuestion,
  type Policy,
  type ToolExecutorOptions,
} from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';
import { ListedStore } from '../state/listed-store.js';
import { brief } from './fixtures/executor-setup.js';

const KEY = new Uint8Array(32).fill(7);
const IN = { conversationId: 'talk', principal: 'ada' };
const call = { id: 'c1', name: 'put', input: { text: 'a' } };

function setUp(options: Partial<ToolExecutorOptions> = {}) {
  const runs: unknown[] = [];
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      name: 'put',
      description: 'Puts a text',
      inputSchema: z.object({ text: z.string() }),
      accessMode: 'write',
      execute: (input) => (runs.push(input), 'put'),
    }),
    defineTool({
      name: 'by_hand',
      description: 'Is done by a person',
      inputSchema: { type: 'object' },
      accessMode: 'write',
      manual: true,
    }),
    defineTool({
      name: 'ask',
      description: 'Asks',
      inputSchema: { type: 'object' },
      accessMode: 'readonly',
      execute: () => askUser('Which?'),
    }),
    defineTool({
      name: 'read',
      description: 'Reads',
      inputSchema: { type: 'object' },
      accessMode: 'readonly',
      execute: () => 1,
    }),
  ]);
  const executor = new ToolExecutor({ registry, approvalKey: KEY, ...options });
  return { executor, registry, runs };
}

it('a requested call is stored without running, and runs once after its approval', async () => {
  const store = new MemoryStateStore();
  const { executor, runs } = setUp({ store, budgets: [{ per: 'principal', calls: 1 }] });
  const pending = (await executor.request(call, IN)) as PendingApproval;
  expect(pending).toMatchObject({ kind: 'approval', callId: 'c1', toolName: 'put' });
  expect(await executor.request(call, IN)).toEqual(pending);
  expect(brief(await executor.execute(call, IN))).toBe('approval_required');
  expect(runs).toEqual([]);
  await setUp({ store }).executor.approve(pending);
  expect(await executor.request(call, IN)).toMatchObject({ id: pending.id, answer: 'approved' });
  expect(brief(await executor.execute(call, IN))).toBe('ok "put"');
  for (let replay = 0; replay < 3; replay++)
    expect(brief(await executor.execute(call, IN))).toBe('error INVALID_APPROVAL');
  expect(runs).toHaveLength(1);
});

it("a requested call isn't replaced when somebody copies another call's record over its record in the store", async () => {
  const store = new ListedStore();
  const { executor } = setUp({ store });
  await executor.request(call, IN);
  const [first] = await store.list('waiting:');
  const other = { ...call, id: 'c2', input: { text: 'b' } };
  await executor.request(other, IN);
  const second = (await store.list('waiting:')).find((key) => key !== first)!;
  await store.compareAndSet(second, await store.get(second), await store.get(first!));
  expect(await executor.request(other, IN)).toMatchObject({ callId: 'c2', input: { text: 'b' } });
});

it("an answer that was written to the store without the key doesn't count as an approval", async () => {
  const store = new ListedStore();
  const { executor, runs } = setUp({ store });
  await executor.request(call, IN);
  const [key] = await store.list('waiting:');
  const text = (await store.get(key!))!;
  await store.compareAndSet(key!, text, text.replace('"is":"open"', '"is":"approved"'));
  expect(brief(await executor.execute(call, IN))).toBe('approval_required');
  expect(runs).toEqual([]);
});

it("request returns the decision if no approval is needed or the call can't run", async () => {
  const { executor } = setUp();
  expect(await executor.request({ id: '1', name: 'read' }, IN)).toMatchObject({
    verdict: 'allow',
  });
  expect(await executor.request(call, { ...IN, mode: 'read-only' })).toMatchObject({
    verdict: 'deny',
    rule: 'read-only',
  });
  expect(await executor.request({ ...call, input: { text: 5 } }, IN)).toMatchObject({
    refused: expect.stringContaining('text'),
  });
  expect(await executor.waiting()).toEqual([]);
});

it('any process with the store and the key can list and answer approvals, questions, and manual calls', async () => {
  const store = new MemoryStateStore();
  const { executor } = setUp({ store });
  const operators = setUp({ store }).executor;
  const manual = { id: 'm', name: 'by_hand', input: { a: 1 } };
  const question = { id: 'q', name: 'ask', input: {} };
  await executor.request(call, IN);
  expect(brief(await executor.execute(manual, IN))).toBe('manual');
  expect(brief(await executor.execute(question, IN))).toBe('ask_user');
  const [asked, done, approval] = await operators.waiting();
  expect([asked, done, approval].map((each) => each?.kind)).toEqual([
    'question',
    'manual',
    'approval',
  ]);
  await operators.answer(asked as PendingQuestion, 'the second');
  await operators.answer(done as PendingManualCall, { done: true });
  await expect(operators.answer(done as PendingManualCall, 2)).rejects.toMatchObject({
    code: 'ALREADY_RESOLVED',
  });
  await operators.deny(approval!);
  expect(await executor.execute(question, IN)).toMatchObject({
    status: 'ok',
    value: 'the second',
  });
  expect(await executor.execute(manual, IN)).toMatchObject({
    status: 'ok',
    value: { done: true },
  });
  expect((await executor.execute(call, IN)).status).toBe('denied');
});

it('decide returns the decision for a call without using up grants, budgets, or repeats', async () => {
  const { executor, runs } = setUp({ budgets: [{ per: 'principal', calls: 1 }], maxRepeats: 1 });
  const events: unknown[] = [];
  executor.on((event) => events.push(event));
  const { grant } = await executor.grant(
    (await executor.request({ ...call, id: 'c0' }, IN)) as PendingApproval,
    { uses: 1 },
  );
  events.length = 0;
  for (let time = 0; time < 3; time++)
    expect(await executor.decide({ ...call, id: 'x' }, IN)).toMatchObject({
      callId: 'x',
      verdict: 'allow',
      rule: 'grant',
    });
  expect(await executor.decide({ ...call, input: {} }, IN)).toMatchObject({
    refused: expect.stringContaining('text'),
  });
  expect(await executor.decide({ name: 'nope' })).toMatchObject({ rule: 'unknown-tool' });
  expect(await executor.decide(call, { principle: 'ada' } as never)).toMatchObject({
    verdict: 'deny',
    refused: expect.stringContaining('principle'),
  });
  expect([events, runs, await executor.grants()]).toMatchObject([
    [],
    [],
    [{ id: grant.id, used: 0 }],
  ]);
});

it('run returns an outcome whose type comes from the registered definition', async () => {
  const double = defineTool({
    name: 'double',
    description: 'Doubles',
    inputSchema: z.object({ n: z.number() }),
    accessMode: 'readonly',
    execute: ({ n }) => n * 2,
  });
  const { executor, registry } = setUp();
  await expect(executor.run(double, { n: 2 })).rejects.toMatchObject({
    code: 'TOOL_NOT_FOUND',
    message: expect.stringContaining('registry.register'),
  });
  registry.register(double);
  const outcome = await executor.run(double, { n: 2 }, { id: 'own', principal: 'ada' });
  const value: number | undefined = outcome.status === 'ok' ? outcome.value : undefined;
  expect([outcome.callId, value]).toEqual(['own', 4]);
});

function askingWrite(options: Partial<ToolExecutorOptions> = {}) {
  const runs: unknown[] = [];
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'book',
      description: 'Books a seat',
      inputSchema: z.object({ seat: z.string() }),
      accessMode: 'write',
      execute: (input) => (runs.push(input), askUser('Window or aisle?')),
    }),
  );
  return { executor: new ToolExecutor({ registry, approvalKey: KEY, ...options }), runs };
}
const book = { id: 'b1', name: 'book', input: { seat: '12' } };
const pendingOf = async (executor: ToolExecutor) =>
  (await executor.execute(book, IN)) as unknown as { status: string; pending: never };

it.each([
  ['as asked', {}, { seat: '12' }],
  ['with edited arguments', { input: { seat: '14' } }, { seat: '14' }],
])(
  'a write that asks the user a question runs once and returns the answer, in any process: %s',
  async (_, edited, ran) => {
    const clock = new ManualClock();
    const store = new MemoryStateStore({ clock });
    const [one, other] = [askingWrite({ store, clock }), askingWrite({ store, clock })];
    await one.executor.approve((await pendingOf(one.executor)).pending, edited);
    expect((await pendingOf(other.executor)).status).toBe('ask_user');
    const again = await pendingOf(one.executor);
    expect(again.status).toBe('ask_user');
    clock.advance(700_000); // The approval itself has expired in the meantime.
    await other.executor.answer(again.pending, 'window', { by: 'ada' });
    for (const { executor } of [one, other])
      expect(brief(await executor.execute(book, IN))).toBe('ok "window"');
    expect([...one.runs, ...other.runs]).toEqual([ran]);
  },
);

it('a write that asks the user a question needs a new approval if the tool was defined differently when it asked', async () => {
  const store = new MemoryStateStore();
  const { executor } = askingWrite({ store });
  await executor.approve((await pendingOf(executor)).pending);
  await executor.answer((await pendingOf(executor)).pending, 'window');
  executor.registry.register(
    defineTool({
      name: 'book',
      description: 'Books two seats',
      inputSchema: z.object({ seat: z.string() }),
      accessMode: 'write',
      execute: () => 'booked',
    }),
    { replace: true },
  );
  expect((await pendingOf(executor)).status).toBe('approval_required');
});

it('an approved call runs once, even if its record is put back into the store afterwards', async () => {
  const store = new ListedStore();
  const { executor, runs } = setUp({ store });
  await executor.approve((await executor.request(call, IN)) as PendingApproval);
  const [key] = await store.list('waiting:');
  const text = await store.get(key!);
  expect(brief(await executor.execute(call, IN))).toBe('ok "put"');
  await store.compareAndSet(key!, await store.get(key!), text);
  expect(brief(await executor.execute(call, IN))).toBe('error INVALID_APPROVAL');
  expect(runs).toHaveLength(1);
});

it('a requested call shows the new reason if the decision about it has changed', async () => {
  let reason = 'it writes';
  const policy: Policy = {
    decide: () => ({ verdict: 'confirm', reason, rule: 'own', danger: 'low' }),
  };
  const { executor } = setUp({ policy });
  const before = (await executor.request(call, IN)) as PendingApproval;
  reason = 'the conversation has read something untrusted';
  const after = (await executor.request(call, IN)) as PendingApproval;
  expect(after).toMatchObject({ kind: 'approval', reason });
  await expect(executor.approve(before)).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
  expect(await executor.waiting(IN)).toEqual([after]);
});

it('a call without principal and conversation that waits in a shared store is reported once', async () => {
  const { executor } = setUp({ store: new MemoryStateStore() });
  const events: unknown[] = [];
  executor.on(({ type }) => events.push(type));
  await executor.execute(call, IN);
  for (const id of ['1', '2']) await executor.execute({ ...call, id });
  await setUp().executor.execute(call);
  expect(events.filter((type) => type === 'caller-unknown')).toHaveLength(1);
});
