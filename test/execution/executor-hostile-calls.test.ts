import { expect, it } from 'vitest';
import { type ExecuteOptions, type ToolCall } from '../../src/index.js';
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

it.each([
  ['null', null],
  ['an object with a number as its name', { id: '1', name: 5 }],
])('a call that is %s gets one outcome and one pair of events', async (_, call) => {
  const { executor, events } = setup([reader('read', () => 1)]);
  expect(brief(await executor.execute(call as unknown as ToolCall))).toBe('error TOOL_NOT_FOUND');
  expect(events.map(({ type }) => type)).toEqual(['decision', 'call-settled']);
});

it("a call whose id isn't a string gets a new id", async () => {
  const { executor } = setup([reader('read', () => 1)]);
  const given = [
    { name: 'read' },
    { name: 'read' },
    { id: '', name: 'read' },
    { id: 7, name: 'read' } as unknown as ToolCall,
  ];
  const outcomes = [
    ...(await Promise.all(given.map((call) => executor.execute(call)))),
    ...(await executor.executeAll(given)),
  ];
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'ok'));
  expect(new Set(outcomes.map(({ callId }) => callId)).size).toBe(8);
  for (const { callId } of outcomes) expect(callId).toMatch(/^[0-9a-f-]{36}$/);
});

it('an unknown option is rejected, because a misspelled principal would count as no principal', async () => {
  let runs = 0;
  const { executor } = setup([reader('read', () => runs++)]);
  expect(
    brief(
      await executor.execute({ id: '1', name: 'read' }, {
        principle: 'ada',
      } as unknown as ExecuteOptions),
    ),
  ).toBe('error INVALID_ARGUMENT');
  expect(runs).toBe(0);
});

it('executeAll runs calls as they were passed, even if the caller changes them while earlier calls are running', async () => {
  const received: unknown[] = [];
  const gate = new Gate();
  const { executor } = setup(
    [
      anyTool('first', () => gate.promise),
      reader('read', (input) => void received.push(input)),
      reader('other', () => void received.push('other')),
    ],
    { policy: allowAll },
  );
  const calls = [
    { id: '1', name: 'first', input: {} },
    { id: '2', name: 'read', input: { to: 'ada' } },
  ];
  const running = executor.executeAll(calls);
  await settled();
  calls[1]!.input = { to: 'eve' };
  calls[1]!.name = 'other';
  gate.open();
  await running;
  expect(received).toEqual([{ to: 'ada' }]);
});

it('executeAll returns outcomes in the order of the calls, whichever call ends first', async () => {
  const gates = [new Gate(), new Gate(), new Gate()];
  const { executor } = setup([
    reader('read', async ({ n }: { n?: number }) => (await gates[n!]!.promise, n)),
  ]);
  const running = executor.executeAll(
    [0, 1, 2].map((n) => ({ id: `${n}`, name: 'read', input: { n } })),
  );
  await settled();
  for (const n of [2, 0, 1]) {
    gates[n]!.open();
    await settled();
  }
  expect((await running).map(brief)).toEqual(['ok 0', 'ok 1', 'ok 2']);
});

it('executeAll runs writes one after another and reads in parallel', async () => {
  const log: string[] = [];
  const tools = [
    reader('read', async (input) => {
      log.push(`read ${JSON.stringify(input)} begins`);
      await settled();
      log.push('read ends');
    }),
    writer('write', async () => {
      log.push('write begins');
      await settled();
      log.push('write ends');
    }),
  ];
  const { executor } = setup(tools, { policy: allowAll });
  await executor.executeAll([
    { id: '1', name: 'write' },
    { id: '2', name: 'write' },
    { id: '3', name: 'read', input: { a: 1 } },
    { id: '4', name: 'read', input: { a: 2 } },
  ]);
  expect(log).toEqual([
    'write begins',
    'write ends',
    'write begins',
    'write ends',
    'read {"a":1} begins',
    'read {"a":2} begins',
    'read ends',
    'read ends',
  ]);
});

it('executeAll rejects calls with the same id before any call runs', async () => {
  let runs = 0;
  const { executor } = setup([reader('read', () => runs++)]);
  await expect(
    executor.executeAll([
      { id: '1', name: 'read' },
      { id: '1', name: 'read' },
    ]),
  ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(runs).toBe(0);
});

it('executeAll runs reads and approved calls while other calls wait for approval', async () => {
  const { executor } = setup([
    reader('read', () => 'read'),
    writer('write', ({ n }: { n?: number }) => n),
  ]);
  const calls = [
    { id: 'a', name: 'write', input: { n: 1 } },
    { id: 'b', name: 'write', input: { n: 2 } },
    { id: 'c', name: 'read' },
  ];
  const held = await executor.executeAll(calls);
  expect(held.map(brief)).toEqual(['approval_required', 'approval_required', 'ok "read"']);
  await executor.approve(
    (held[1] as Extract<(typeof held)[1], { status: 'approval_required' }>).pending,
  );
  expect((await executor.executeAll(calls)).map(brief)).toEqual([
    'approval_required',
    'ok 2',
    'ok "read"',
  ]);
});
