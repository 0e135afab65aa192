import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scriptedModel, Session, type DecisionResult } from '../../src/chat.js';
import {
  AccessMode,
  askUser,
  defineTool,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { call, newCase } from './session-cases.js';
import { resultsIn } from './session-thread.js';
import { propertyRuns } from '../property-runs.js';

const copyOf = (session: Session): Session => Session.fromJSON(JSON.parse(JSON.stringify(session)));
const codeIn = (decided: DecisionResult): string =>
  decided.ok ? (decided.applied ? 'applied' : 'no change') : decided.error.code;

function sessionOf(decided: DecisionResult): Session {
  if (!decided.ok) throw decided.error;
  return decided.session;
}

async function waiting(...calls: Parameters<typeof call>[]) {
  const made = newCase([{ calls: calls.map((each) => call(...each)) }, 'done', 'more']);
  const { session } = await Session.create({ id: 's' }).start(made.engine, 'Go');
  return { ...made, session };
}

it('pending calls can be resolved in any order, and the model reads the results in the order of the calls', async () => {
  const kinds = ['manual', 'pay', 'auto', 'ask', 'manual'] as const;
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([0, 1, 3, 4], { minLength: 4 }), async (order) => {
      const {
        engine,
        session: first,
        world,
      } = await waiting(...kinds.map((kind, at): Parameters<typeof call> => [`c${at}`, kind]));
      expect(first.pending.map(({ callId }) => callId)).toEqual(['c0', 'c1', 'c3', 'c4']);
      let session = copyOf(first);
      for (const at of order) {
        const id = `c${at}`;
        session = copyOf(
          sessionOf(
            kinds[at] === 'pay'
              ? session.approve(id)
              : kinds[at] === 'ask'
                ? session.answer(id, 'blue')
                : session.submitToolResult(id, { by: id }),
          ),
        );
      }
      const { session: last, result } = await session.continue(engine);
      expect(result.text).toBe('done');
      expect(resultsIn(last.messages)).toEqual([
        ['c0', { type: 'json', value: { by: 'c0' } }],
        ['c1', { type: 'json', value: { did: 'c1' } }],
        ['c2', { type: 'json', value: { did: 'c2' } }],
        ['c3', { type: 'text', value: 'blue' }],
        ['c4', { type: 'json', value: { by: 'c4' } }],
      ]);
      expect([...world.starts.values()]).toEqual([1, 1, 1]);
    }),
    { numRuns: propertyRuns(24) },
  );
});

it('repeating a decision changes nothing, and a different decision about the same call is refused, even after the turn', async () => {
  const { engine, session } = await waiting(
    ['m', 'manual'],
    ['p', 'pay'],
    ['q', 'choose'],
    ['d', 'pay'],
  );
  const decide: Readonly<Record<string, (on: Session) => DecisionResult>> = {
    m: (on) => on.submitToolResult('m', { b: 1, a: [2] }),
    p: (on) => on.approve('p'),
    q: (on) => on.answer('q', 'red'),
    d: (on) => on.deny('d', 'too much'),
  };
  let decided = session;
  for (const [id, take] of Object.entries(decide)) {
    decided = sessionOf(take(decided));
    expect([id, codeIn(take(decided))]).toEqual([id, 'no change']);
    expect(sessionOf(take(decided))).toBe(decided);
  }
  const { session: closed } = await decided.continue(engine);
  for (const on of [decided, closed, copyOf(closed)]) {
    for (const [id, take] of Object.entries(decide))
      expect([id, codeIn(take(on))]).toEqual([id, 'no change']);
    expect(codeIn(on.submitToolResult('m', { a: [2], b: 1 }))).toBe('no change'); // The data is equal for any order of keys.
    const others = [
      on.submitToolResult('m', { b: 2 }),
      on.deny('p'),
      on.approve('p', { input: { of: 'x' } }),
      on.answer('q', 'blue'),
      on.approve('d'),
    ];
    expect(others.map(codeIn)).toEqual(others.map(() => 'ALREADY_RESOLVED'));
    for (const other of others) expect(other.session).toBe(on);
  }
});

it('a decision of the wrong kind is refused, and the error lists the right kinds', async () => {
  const { session } = await waiting(['m', 'manual'], ['p', 'pay'], ['q', 'choose']);
  const wrong = [
    session.approve('m'),
    session.submitToolResult('p', 1),
    session.submitToolResult('q', 'red'),
    session.answer('q', 'green'),
    session.submitToolResult('m', () => 1),
    session.submitToolResult('m', askUser('?')),
    session.approve('p', { input: () => 1 }),
  ];
  expect(wrong.map(codeIn)).toEqual(wrong.map(() => 'INVALID_INPUT'));
  for (const each of wrong) expect(each.session).toBe(session);
  expect(session.submitToolResult('p', 1)).toMatchObject({
    error: { message: expect.stringContaining('approve, deny') },
  });
});

it('an approval with arguments that violate the schema leaves the call pending', async () => {
  const { engine, session, world } = await waiting(['p', 'pay']);
  const { session: refused } = await sessionOf(session.approve('p', { input: { of: 1 } })).continue(
    engine,
  );
  // The user made the mistake, so the model isn't told about it.
  expect(resultsIn(refused.messages)).toEqual([]);
  expect(refused.pending).toMatchObject([{ kind: 'approval', callId: 'p' }]);
  expect(world.starts.size).toBe(0);
});

it('edited arguments that raise the danger need another approval, and the call then runs with the edited arguments', async () => {
  const { engine, session, world } = await waiting(['p', 'pay', { amount: 1 }]);
  const { session: again, result } = await sessionOf(
    session.approve('p', { input: { of: 'p', amount: 5000 } }),
  ).continue(engine);
  expect(result.haltedReason).toBe('approval_required');
  expect(world.starts.size).toBe(0);
  expect(again.pending).toMatchObject([
    { kind: 'approval', input: { of: 'p', amount: 5000 }, danger: 'critical' },
  ]);
  const { session: last } = await sessionOf(copyOf(again).approve('p')).continue(engine);
  expect(last.status).toBe('completed');
  expect(world.inputs).toEqual([{ of: 'p', amount: 5000 }]);
});

it('an approval is refused if its pendingId is no longer pending', async () => {
  const { engine, session } = await waiting(['p', 'pay']);
  const shown = session.pending[0]!;
  const pendingId = 'id' in shown ? shown.id : '';
  const { session: again } = await sessionOf(
    session.approve('p', { input: { of: 'p', amount: 5000 }, pendingId }),
  ).continue(engine);
  expect(again.approve('p', { pendingId })).toMatchObject({
    ok: false,
    error: { code: 'INVALID_APPROVAL' },
  });
  expect(codeIn(again.approve('p', { pendingId: (again.pending[0] as { id: string }).id }))).toBe(
    'applied',
  );
});

it('an approved call needs another approval if its tool has changed since', async () => {
  const ran: string[] = [];
  const executorOf = (description: string) => {
    const registry = new ToolMetadataRegistry();
    registry.register(
      defineTool({
        name: 'pay',
        description,
        inputSchema: { type: 'object' },
        accessMode: AccessMode.WRITE,
        execute: () => void ran.push(description),
      }),
    );
    return new ToolExecutor({ registry });
  };
  const { engine } = newCase([{ calls: [{ id: 'p', name: 'pay', input: {} }] }, 'done'], {
    executor: executorOf('Pays'),
  });
  const { session } = await Session.create({ id: 's' }).start(engine, 'Go');
  const changed = { ...engine, executor: executorOf('Pays twice') };
  const { session: again } = await sessionOf(session.approve('p')).continue(changed);
  expect([again.status, ran]).toEqual(['awaiting_approval', []]);
  const { session: last } = await sessionOf(again.approve('p')).continue(changed);
  expect([last.status, ran]).toEqual(['completed', ['Pays twice']]);
});

it('the policy can still deny an approved call when it runs', async () => {
  const { engine, session, world } = await waiting(['p', 'pay']);
  const forbidding = new ToolExecutor({
    registry: engine.executor.registry,
    policy: {
      decide: () => ({
        verdict: 'deny',
        rule: 'closed',
        reason: 'closed for today',
        danger: 'low',
      }),
    },
  });
  const { session: last } = await sessionOf(session.approve('p')).continue({
    ...engine,
    executor: forbidding,
  });
  expect(resultsIn(last.messages)).toMatchObject([['p', { type: 'execution-denied' }]]);
  expect(world.starts.size).toBe(0);
});

it("a denied call gets a result that reports the denial, and doesn't run", async () => {
  const { engine, session, world } = await waiting(['p', 'pay'], ['m', 'manual'], ['q', 'ask']);
  const { session: last } = await sessionOf(
    sessionOf(sessionOf(session.deny('p')).deny('m', 'not here')).deny('q'),
  ).continue(engine);
  expect(resultsIn(last.messages).map(([, output]) => output)).toEqual([
    { type: 'execution-denied', reason: 'the user denied this call' },
    { type: 'execution-denied', reason: 'not here' },
    { type: 'execution-denied', reason: 'the user denied this call' },
  ]);
  expect([...world.starts.keys()]).toEqual(['q']);
});

it('an uncertain call keeps the arguments that the user edited, and a rerun uses the edited arguments', async () => {
  const { session, engine, world } = await waiting(['p', 'pay', { amount: 9 }]);
  const changed = { of: 'p', amount: 5 };
  let lost: unknown;
  const onCheckpoint = (at: Session) => {
    lost = JSON.parse(JSON.stringify(at));
    if (at.pending.some(({ kind }) => kind === 'uncertain')) throw new Error('gone');
  };
  await expect(
    session.approve('p', { input: changed }).session.continue(engine, { onCheckpoint }),
  ).rejects.toThrow('gone');
  const resumed = Session.fromJSON(lost);
  expect(resumed.pending).toMatchObject([{ kind: 'uncertain', input: changed }]);
  const asked = (await resumed.rerun('p').session.continue(engine)).session;
  expect(asked.pending).toMatchObject([{ kind: 'approval', input: changed }]);
  await copyOf(asked.approve('p').session).continue(engine);
  expect(world.inputs).toEqual([changed]);
});

it("the model sees the edited arguments next to the call's result", async () => {
  const { session, engine } = await waiting(['p', 'pay', { amount: 500 }]);
  const model = scriptedModel(['Paid.']);
  await copyOf(session.approve('p', { input: { of: 'p', amount: 1 } }).session).continue({
    ...engine,
    model,
  });
  expect(model.requests[0]!.messages.slice(1)).toMatchObject([
    { role: 'assistant', content: [{ type: 'tool-call', input: { amount: 1 } }] },
    { role: 'tool', content: [{ output: { value: { did: 'p' } } }] },
  ]);
});
