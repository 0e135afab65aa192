import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { scriptedModel, Session, type DecisionResult } from '../../src/chat.js';
import {
  AccessMode,
  askUser,
  defineTool,
  halt,
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

describe('calls that wait', () => {
  it('pending calls are resolved in any order, and read in the order of the calls', async () => {
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

  it('the same decision twice counts once, and another is refused, even after the turn', async () => {
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
      expect(codeIn(on.submitToolResult('m', { a: [2], b: 1 }))).toBe('no change'); // The data is equal whatever the order of its keys.
      const others = [
        on.submitToolResult('m', { b: 2 }),
        on.deny('m'),
        on.deny('p'),
        on.approve('p', { input: { of: 'x' } }),
        on.submitToolResult('p', 1),
        on.answer('q', 'blue'),
        on.deny('d', 'another reason'),
        on.approve('d'),
      ];
      expect(others.map(codeIn)).toEqual(others.map(() => 'ALREADY_RESOLVED'));
      for (const other of others) expect(other.session).toBe(on);
    }
  });

  it("a decision that doesn't fit is refused, and the error says which one does", async () => {
    const { session } = await waiting(['m', 'manual'], ['p', 'pay'], ['q', 'choose']);
    const wrong = [
      session.approve('m'),
      session.answer('m', 'x'),
      session.submitToolResult('p', 1),
      session.answer('p', 'yes'),
      session.submitToolResult('q', 'red'),
      session.approve('q'),
      session.answer('q', 'green'),
      session.answer('q', 7 as never),
      session.deny('q', 7 as never),
      session.submitToolResult('m', () => 1),
      session.submitToolResult('m', askUser('?')),
      session.submitToolResult('m', halt('x', 1)),
      session.approve('p', { input: () => 1 }),
    ];
    expect(wrong.map(codeIn)).toEqual(wrong.map(() => 'INVALID_INPUT'));
    for (const each of wrong) expect(each.session).toBe(session);
    expect(session.submitToolResult('p', 1)).toMatchObject({
      error: { message: expect.stringContaining('approve, deny') as string },
    });
    expect(() => session.approve('p', { edited: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
    );
  });
});

describe('an approval', () => {
  it('approved arguments that the schema refuses need approval again', async () => {
    const { engine, session, world } = await waiting(['p', 'pay']);
    const { session: refused } = await sessionOf(
      session.approve('p', { input: { of: 1 } }),
    ).continue(engine);
    // It wasn't the model's mistake, so the model isn't told about it.
    expect(resultsIn(refused.messages)).toEqual([]);
    expect(refused.pending).toMatchObject([{ kind: 'approval', callId: 'p' }]);
    expect(world.starts.size).toBe(0);
  });

  it('edited arguments with more danger need another approval, and then run as edited', async () => {
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

  it('an approval with a pendingId is refused if something else is pending by now', async () => {
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

  it('an approved call of a tool that changed since is asked about again', async () => {
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
    expect(resultsIn(last.messages)).toEqual([
      [
        'p',
        {
          type: 'execution-denied',
          reason:
            "pay didn't run: closed for today. Don't repeat the call; do something else, or ask the user.",
        },
      ],
    ]);
    expect(world.starts.size).toBe(0);
  });
});

describe('a denial', () => {
  it('a denied call is settled without running', async () => {
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

  it('a call left by an aborted run can be denied before it starts', async () => {
    const stop = new AbortController();
    const { engine, world } = newCase([{ calls: [call('a', 'auto'), call('b', 'auto')] }, 'done'], {
      onEvent: ({ type }) => type === 'model-answered' && stop.abort(),
    });
    const { session } = await Session.create().start(engine, 'Go', { signal: stop.signal });
    expect([session.status, session.haltedReason, session.pending]).toEqual([
      'idle',
      'cancelled',
      [],
    ]);
    const { session: last } = await sessionOf(session.deny('a', 'no need')).continue({
      ...engine,
      onEvent: () => undefined,
    });
    expect([...world.starts.keys()]).toEqual(['b']);
    expect(resultsIn(last.messages)[0]).toEqual([
      'a',
      { type: 'execution-denied', reason: 'no need' },
    ]);
  });
});

describe('arguments that the user changed', () => {
  it('an uncertain call keeps the arguments that the user changed, and reruns with them', async () => {
    const paid: number[] = [];
    const pay = (execute: (input: { amount: number }) => unknown) =>
      defineTool({
        name: 'pay',
        description: 'Pays',
        inputSchema: z.object({ amount: z.number() }),
        accessMode: AccessMode.WRITE,
        execute,
      });
    const dying = new Error('the process is gone');
    const script = [{ calls: [{ id: 'c1', name: 'pay', input: { amount: 9 } }] }, 'Paid.'];
    const { session } = await Session.create().start(
      { tools: [pay(() => 'never')], model: scriptedModel(script) },
      'Pay 9',
    );
    const approved = session.approve('c1', { input: { amount: 5 } }).session;
    let lost: unknown;
    await approved
      .continue(
        { tools: [pay(({ amount }) => void paid.push(amount))], model: scriptedModel([]) },
        {
          onCheckpoint: (at) => {
            if (at.pending.some(({ kind }) => kind === 'uncertain')) {
              lost = JSON.parse(JSON.stringify(at));
              throw dying;
            }
          },
        },
      )
      .catch((error: unknown) => expect(error).toBe(dying));
    const resumed = Session.fromJSON(lost);
    expect(resumed.pending).toMatchObject([{ kind: 'uncertain', input: { amount: 5 } }]);
    const engine = {
      tools: [pay(({ amount }) => void paid.push(amount))],
      model: scriptedModel(['Paid.']),
    };
    const asked = (await resumed.rerun('c1').session.continue(engine)).session;
    expect(asked.pending).toMatchObject([{ kind: 'approval', input: { amount: 5 } }]);
    await Session.fromJSON(JSON.parse(JSON.stringify(asked.approve('c1').session))).continue(
      engine,
    );
    expect(paid).toEqual([5]);
  });
});

it('the model reads the changed arguments next to their result', async () => {
  const tools = [
    defineTool({
      name: 'pay',
      description: 'Pays',
      inputSchema: z.object({ cents: z.number() }),
      accessMode: AccessMode.WRITE,
      execute: ({ cents }) => `paid ${cents}`,
    }),
  ];
  const { session } = await Session.create().start(
    {
      tools,
      model: scriptedModel([{ calls: [{ id: 'c1', name: 'pay', input: { cents: 500 } }] }]),
    },
    'Pay',
  );
  const model = scriptedModel(['Paid.']);
  await Session.fromJSON(
    JSON.parse(JSON.stringify(session.approve('c1', { input: { cents: 1 } }).session)),
  ).continue({ tools, model });
  expect(model.requests[0]!.messages.slice(1)).toMatchObject([
    { role: 'assistant', content: [{ type: 'tool-call', input: { cents: 1 } }] },
    { role: 'tool', content: [{ output: { value: 'paid 1' } }] },
  ]);
});
