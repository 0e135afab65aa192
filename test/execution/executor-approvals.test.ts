import { expect, it } from 'vitest';
import { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import {
  isToolError,
  type PendingApproval,
  type Policy,
  type ToolCall,
  type ToolExecutor,
  type ToolOutcome,
} from '../../src/index.js';
import { brief, Gate, reader, setup, settled, writer } from './fixtures/executor-setup.js';
import { FailingStore } from './fixtures/failing-store.js';

const call = { id: '1', name: 'write', input: { text: 'bread' } };

function pendingOf(outcome: ToolOutcome): PendingApproval {
  if (outcome.status !== 'approval_required')
    throw new Error(`expected approval_required, found ${brief(outcome)}`);
  return outcome.pending;
}

async function approved(
  executor: ToolExecutor,
  of: ToolCall = call,
  options: object = {},
): Promise<PendingApproval> {
  const pending = pendingOf(await executor.execute(of, options));
  await executor.approve(pending);
  return pending;
}

function writing(options: Parameters<typeof setup>[1] = {}) {
  const written: unknown[] = [];
  return { ...setup([writer('write', (input) => void written.push(input))], options), written };
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'fine',
    (error: unknown) => (isToolError(error) ? error.code : String(error)),
  );

it('an approved read runs each time it is approved, even if its answers can be cached', async () => {
  let runs = 0;
  const ask = reader('ask', () => ++runs, { requiresConsent: true, cacheTtlMs: 60_000 });
  const { executor } = setup([ask]);
  for (const expected of [1, 2]) {
    const asking = { id: `call ${expected}`, name: 'ask', input: {} };
    await approved(executor, asking);
    expect(brief(await executor.execute(asking))).toBe(`ok ${expected}`);
  }
});

it('a pending call contains everything the user has to know, and the approved call runs once', async () => {
  const { executor, written, events } = writing();
  const pending = pendingOf(
    await executor.execute(call, { principal: 'ada', conversationId: 'c' }),
  );
  expect(pending).toMatchObject({
    kind: 'approval',
    callId: '1',
    toolName: 'write',
    input: { text: 'bread' },
    principal: 'ada',
    conversationId: 'c',
    danger: 'medium',
    createdAt: 1_000_000,
    expiresAt: 1_600_000,
  });
  expect(written).toEqual([]);
  await executor.approve(pending);
  expect(brief(await executor.execute(call, { principal: 'ada', conversationId: 'c' }))).toBe(
    'ok null',
  );
  expect(brief(await executor.execute(call, { principal: 'ada', conversationId: 'c' }))).toBe(
    'error INVALID_APPROVAL',
  );
  expect(written).toEqual([{ text: 'bread' }]);
  const told = events.flatMap((event) =>
    event.type === 'approval'
      ? [[event.state, event.pendingId === pending.id, event.principal, event.conversationId]]
      : [],
  );
  expect(told).toEqual(
    ['requested', 'granted', 'redeemed', 'refused'].map((state) => [state, true, 'ada', 'c']),
  );
});

it('an approval lets exactly one call run, even with two executors on one store', async () => {
  const shared = { store: new MemoryStateStore(), approvalKey: new Uint8Array(32).fill(7) };
  const [one, other] = [writing(shared), writing(shared)];
  const pending = pendingOf(await one.executor.execute(call));
  await other.executor.approve(pending);
  await Promise.all([one, other, one, other].map(({ executor }) => executor.execute(call)));
  expect(one.written.length + other.written.length).toBe(1);
  expect(await codeOf(one.executor.approve(pending))).toBe('INVALID_APPROVAL');
});

it("an approval isn't used if anything differs from the approved call", async () => {
  const { executor, written, registry } = writing();
  registry.register(writer('other', (input) => void written.push(input)));
  await approved(executor, call, { principal: 'ada' });
  const attempts: [ToolCall, object][] = [
    [{ ...call, id: '2' }, { principal: 'ada' }],
    [{ ...call, name: 'other' }, { principal: 'ada' }],
    [{ ...call, input: { text: 'Bread' } }, { principal: 'ada' }],
    [{ ...call, input: { text: 'bread', more: null } }, { principal: 'ada' }],
    [call, { principal: 'eve' }],
    [call, { principal: 'ada', conversationId: 'c' }],
    [call, {}],
  ];
  for (const [each, options] of attempts)
    expect(brief(await executor.execute(each, options)), JSON.stringify([each, options])).toBe(
      'approval_required',
    );
  expect(written).toEqual([]);
  expect(brief(await executor.execute(call, { principal: 'ada' })), 'still good').toBe('ok null');
});

it("expired approvals don't let a call run, and expired pending calls can't be approved", async () => {
  const { executor, clock, written } = writing({ approvalTtlMs: 1_000 });
  const pending = pendingOf(await executor.execute(call));
  clock.advance(999);
  await executor.approve(pending);
  clock.advance(1);
  const late = pendingOf(await executor.execute(call));
  clock.advance(1_000);
  expect(await codeOf(executor.approve(late))).toBe('INVALID_APPROVAL');
  expect(written).toEqual([]);
});

it("a denied call can't be approved, and an approved call can't be denied", async () => {
  const { executor, events } = writing();
  const pending = pendingOf(await executor.execute(call));
  await executor.deny(pending);
  expect(await codeOf(executor.approve(pending))).toBe('INVALID_APPROVAL');
  const granted = pendingOf(await executor.execute({ ...call, id: '2' }));
  await executor.approve(granted);
  expect(await codeOf(executor.deny(granted))).toBe('INVALID_APPROVAL');
  expect(await codeOf(executor.approve(granted))).toBe('INVALID_APPROVAL');
  expect(events.flatMap((event) => (event.type === 'approval' ? [event.state] : []))).toEqual([
    'requested',
    'denied',
    'requested',
    'granted',
  ]);
});

it('an approval with edited arguments lets the original call run once, with the edited arguments', async () => {
  const { executor, written } = writing();
  const edited = { input: { text: 'rolls' } };
  await executor.approve(pendingOf(await executor.execute(call)), edited);
  edited.input.text = 'cake';
  for (const text of ['rolls', 'cake'])
    expect(brief(await executor.execute({ ...call, input: { text } }))).toBe('approval_required');
  expect(brief(await executor.execute(call))).toBe('ok null');
  expect(brief(await executor.execute(call))).toBe('error INVALID_APPROVAL');
  expect(written).toEqual([{ text: 'rolls' }]);
});

it('an edited call that needs no approval by itself still runs only once', async () => {
  const policy: Policy = {
    decide: ({ input }) => ({
      verdict: (input as { text: string }).text === 'crumbs' ? 'allow' : 'confirm',
      ...{ reason: 'r', rule: 'x', danger: 'low' },
    }),
  };
  const { executor, written } = writing({ policy });
  await executor.approve(pendingOf(await executor.execute(call)), { input: { text: 'crumbs' } });
  expect(brief(await executor.execute(call))).toBe('ok null');
  expect(brief(await executor.execute(call))).toBe('error INVALID_APPROVAL');
  expect(written).toEqual([{ text: 'crumbs' }]);
});

it("edited arguments that don't fit the schema are refused, and the call stays pending", async () => {
  const { executor, registry, written } = writing();
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };
  registry.register(
    writer('write', (input) => void written.push(input), { inputSchema }),
    {
      replace: true,
    },
  );
  const pending = pendingOf(await executor.execute(call));
  expect(await codeOf(executor.approve(pending, { input: { text: 5 } }))).toBe('INVALID_INPUT');
  expect(await executor.waiting()).toEqual([pending]);
  await executor.approve(pending, { input: { text: 'rolls' } });
  await executor.execute(call);
  expect(written).toEqual([{ text: 'rolls' }]);
});

it("an approved call is denied if the policy has become stricter, and the approval isn't used up", async () => {
  let verdict: 'confirm' | 'deny' = 'confirm';
  const policy: Policy = { decide: () => ({ verdict, reason: 'r', rule: 'x', danger: 'high' }) };
  const { executor, written } = writing({ policy });
  await approved(executor);
  verdict = 'deny';
  expect(await executor.execute(call)).toMatchObject({
    status: 'denied',
    reason: 'r',
    rule: 'x',
    danger: 'high',
  });
  expect(written).toEqual([]);
  verdict = 'confirm';
  expect(brief(await executor.execute(call))).toBe('ok null');
});

it("an approved call doesn't run if the tool's definition has changed", async () => {
  const { executor, registry, written } = writing();
  await approved(executor);
  registry.register(
    writer('write', () => void written.push('another'), { description: 'Does something else' }),
    { replace: true },
  );
  expect(brief(await executor.execute(call))).toBe('approval_required');
  expect(written).toEqual([]);
});

it("a call that exceeds its budget doesn't use up the approval", async () => {
  const { executor } = writing({ budgets: [{ per: 'principal', calls: 1 }] });
  await approved(executor);
  await approved(executor, { ...call, id: '2' });
  expect(brief(await executor.execute(call))).toBe('ok null');
  expect(brief(await executor.execute({ ...call, id: '2' }))).toBe('error BUDGET_EXCEEDED');
  await executor.resetBudgets('');
  expect(brief(await executor.execute({ ...call, id: '2' }))).toBe('ok null');
});

it("a call with an approval that was already used isn't charged to the budget", async () => {
  const { executor, registry } = writing({ budgets: [{ per: 'principal', calls: 3 }] });
  registry.register(reader('read', () => 1));
  await approved(executor);
  await executor.execute(call);
  for (let attempt = 0; attempt < 5; attempt++)
    expect(brief(await executor.execute(call))).toBe('error INVALID_APPROVAL');
  expect(brief(await executor.execute({ id: '9', name: 'read' }))).toBe('ok 1');
});

it('an approval is rejected while the store is unreachable and after the store was cleared', async () => {
  const store = new FailingStore(new MemoryStateStore({ clock: new ManualClock() }));
  const { executor, written } = writing({ store });
  const pending = pendingOf(await executor.execute(call));
  await executor.approve(pending);
  store.fails = () => true;
  expect(brief(await executor.execute(call))).toBe('error STATE_UNAVAILABLE');
  expect(await codeOf(executor.approve(pending))).toBe('STATE_UNAVAILABLE');
  store.fails = () => false;
  store.flush();
  expect(await codeOf(executor.approve(pending))).toBe('INVALID_APPROVAL');
  expect(brief(await executor.execute(call))).toBe('approval_required');
  expect(written).toEqual([]);
});

it("a call that is aborted while it is queued doesn't use up its approval", async () => {
  const gate = new Gate();
  const { executor } = setup([writer('write', () => gate.promise)]);
  await approved(executor);
  await approved(executor, { ...call, id: '2' });
  const controller = new AbortController();
  const running = [
    executor.execute(call),
    executor.execute({ ...call, id: '2' }, { signal: controller.signal }),
  ];
  await settled();
  controller.abort();
  expect(brief(await running[1]!)).toBe('error ABORTED');
  gate.open();
  await running[0];
  expect(brief(await executor.execute({ ...call, id: '2' }))).toBe('ok null');
});

const answers: [string, unknown, string, unknown[]][] = [
  ['true', true, 'ok null', [{ text: 'bread' }]],
  ['false', false, 'denied', []],
  ['undefined', undefined, 'denied', []],
  ['the string "yes"', 'yes', 'denied', []],
  ['other arguments', { input: { text: 'rolls' } }, 'ok null', [{ text: 'rolls' }]],
  [
    "other arguments that aren't plain data",
    { input: { text: new Date() } },
    'error INVALID_ARGUMENT',
    [],
  ],
];
it.each(answers)(
  'a call runs only if confirm returns true or new arguments: %s',
  async (_, answer, outcome, ran) => {
    for (const late of [false, true]) {
      const { executor, written, events } = writing({
        confirm: (() => (late ? Promise.resolve(answer) : answer)) as never,
      });
      expect(brief(await executor.execute(call))).toBe(outcome);
      expect(written).toEqual(ran);
      const wasEdited = typeof answer === 'object' && outcome.startsWith('ok');
      expect(events.filter(({ type }) => type === 'decision')).toHaveLength(wasEdited ? 2 : 1);
      expect(events.filter(({ type }) => type === 'call-settled')).toHaveLength(1);
    }
  },
);

it('when confirm throws or rejects, the call is denied', async () => {
  for (const confirm of [
    () => {
      throw new Error('x');
    },
    () => Promise.reject(new Error('x')),
  ]) {
    const { executor, written } = writing({ confirm });
    expect(await executor.execute(call)).toMatchObject({
      status: 'denied',
      rule: 'confirmation',
    });
    expect(written).toEqual([]);
  }
});

it('arguments edited by confirm are checked against the schema and the policy', async () => {
  const policy: Policy = {
    decide: ({ input }) =>
      (input as { text: string }).text === 'poison'
        ? { verdict: 'deny', reason: 'r', rule: 'x', danger: 'critical' }
        : { verdict: 'confirm', reason: 'r', rule: 'y', danger: 'low' },
  };
  const { executor, written } = writing({
    policy,
    confirm: () => ({ input: { text: 'poison' } }),
  });
  expect(await executor.execute(call)).toMatchObject({ status: 'denied', rule: 'x' });
  expect(written).toEqual([]);
  const strict = setup(
    [
      writer('write', (input) => void written.push(input), {
        inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
      }),
    ],
    { confirm: () => ({ input: { text: 5 } }) },
  );
  expect(brief(await strict.executor.execute(call))).toBe('error INVALID_INPUT');
  expect(written).toEqual([]);
});

it("confirm isn't called if the policy allows or denies the call", async () => {
  let asked = 0;
  const { executor } = setup([reader('read', () => 1), writer('write', () => 2)], {
    confirm: () => (asked++, true),
  });
  await executor.execute({ id: '1', name: 'read' });
  await executor.execute({ id: '2', name: 'write' }, { mode: 'read-only' });
  await executor.execute({ id: '3', name: 'write' }, { mode: 'unattended' });
  expect(asked).toBe(0);
});

it('a denied call stays denied until its approval would have expired', async () => {
  const { executor, clock } = writing({ approvalTtlMs: 1_000 });
  await executor.deny(pendingOf(await executor.execute(call, { principal: 'ada' })));
  expect(await executor.execute(call, { principal: 'ada' })).toMatchObject({
    status: 'denied',
    rule: 'confirmation',
  });
  expect(brief(await executor.execute(call, { principal: 'eve' })), 'of another principal').toBe(
    'approval_required',
  );
  expect(
    brief(await executor.execute({ ...call, id: '2' }, { principal: 'ada' })),
    'another call',
  ).toBe('approval_required');
  clock.advance(1_000);
  expect(brief(await executor.execute(call, { principal: 'ada' })), 'later').toBe(
    'approval_required',
  );
});
