import { describe, expect, it } from 'vitest';
import { Session, type SessionStatus } from '../../src/chat.js';
import { AccessMode, defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { call, codeOf, codeOfThrown, newCase } from './session-cases.js';
import { resultsIn } from './session-thread.js';

/** A session in each status, and an engine that goes on with it. */
async function sessionIn(
  status: SessionStatus | 'idle, decided' | 'uncertain',
): Promise<{ readonly session: Session; readonly engine: ReturnType<typeof newCase>['engine'] }> {
  const kind = (
    {
      awaiting_user: 'ask',
      awaiting_tools: 'manual',
      awaiting_approval: 'pay',
      'idle, decided': 'pay',
      uncertain: 'auto',
    } as const
  )[status as 'uncertain'];
  const { engine } = newCase(
    status === 'error'
      ? [{ error: new Error('overloaded') }, 'done']
      : kind === undefined
        ? ['hello', 'done']
        : [{ calls: [call('c', kind)] }, 'done', 'done'],
  );
  if (status === 'idle')
    return { session: Session.create({ messages: [{ role: 'user', content: 'Hi' }] }), engine };
  let last: Session | undefined;
  const { session } = await Session.create({ id: 's' }).start(engine, 'Go', {
    onCheckpoint: (each) =>
      void (each.pending.some(({ kind: what }) => what === 'uncertain') && (last = each)),
  });
  if (status === 'uncertain') return { session: Session.fromJSON(last?.toJSON()), engine };
  return { session: status === 'idle, decided' ? session.approve('c').session : session, engine };
}

describe('a session', () => {
  it('allows in each status what fits, and refuses the rest with what to do', async () => {
    const operations = ['start', 'reply', 'continue', 'retry'] as const;
    const allowed: Readonly<Record<string, readonly string[]>> = {
      idle: ['start', 'reply', 'continue'],
      'idle, decided': ['continue'],
      completed: ['start', 'reply', 'continue'],
      awaiting_user: ['reply'],
      awaiting_tools: [],
      uncertain: [],
      awaiting_approval: [],
      error: ['retry'],
    };
    for (const [status, expected] of Object.entries(allowed)) {
      const found: string[] = [];
      for (const operation of operations) {
        const { session, engine } = await sessionIn(status as SessionStatus);
        expect(session.status).toBe(
          status === 'idle, decided' ? 'idle' : status === 'uncertain' ? 'awaiting_tools' : status,
        );
        const before = JSON.stringify(session);
        const code = await codeOf(
          operation === 'continue' || operation === 'retry'
            ? session[operation](engine)
            : session[operation](engine, 'Hello'),
        );
        if (code === 'fine') found.push(operation);
        else expect([status, operation, code]).toEqual([status, operation, 'INVALID_STATE']);
        expect(JSON.stringify(session)).toBe(before);
      }
      expect([status, found]).toEqual([status, expected]);
    }
  });

  it('names in each refusal what leads on', async () => {
    const way = async (status: Parameters<typeof sessionIn>[0]) => {
      const { session, engine } = await sessionIn(status);
      const error: unknown = await session.start(engine, 'x').catch((thrown: unknown) => thrown);
      return (error as Error).message;
    };
    expect(await way('awaiting_tools')).toMatch(
      /can't start: its status is awaiting_tools\. .*submitToolResult/,
    );
    expect(await way('awaiting_user')).toMatch(/answer|reply/);
    expect(await way('awaiting_approval')).toMatch(/approve\(callId\) or deny/);
    expect(await way('error')).toMatch(/retry/);
    expect(await way('uncertain')).toMatch(/rerun/);
  });

  it('takes decisions in the statuses in which something is pending, and else says that nothing is', async () => {
    const expected: readonly (readonly [
      Parameters<typeof sessionIn>[0],
      Readonly<Record<string, string>>,
    ])[] = [
      [
        'idle',
        {
          result: 'UNKNOWN_CALL',
          answer: 'UNKNOWN_CALL',
          approve: 'UNKNOWN_CALL',
          deny: 'UNKNOWN_CALL',
          rerun: 'UNKNOWN_CALL',
        },
      ],
      [
        'completed',
        {
          result: 'UNKNOWN_CALL',
          answer: 'UNKNOWN_CALL',
          approve: 'UNKNOWN_CALL',
          deny: 'UNKNOWN_CALL',
          rerun: 'UNKNOWN_CALL',
        },
      ],
      [
        'error',
        {
          result: 'UNKNOWN_CALL',
          answer: 'UNKNOWN_CALL',
          approve: 'UNKNOWN_CALL',
          deny: 'UNKNOWN_CALL',
          rerun: 'UNKNOWN_CALL',
        },
      ],
      [
        'idle, decided',
        {
          result: 'ALREADY_RESOLVED',
          answer: 'ALREADY_RESOLVED',
          approve: 'same',
          deny: 'ALREADY_RESOLVED',
          rerun: 'UNKNOWN_CALL',
        },
      ],
      [
        'awaiting_user',
        {
          result: 'INVALID_INPUT',
          answer: 'applied',
          approve: 'INVALID_INPUT',
          deny: 'applied',
          rerun: 'UNKNOWN_CALL',
        },
      ],
      [
        'awaiting_tools',
        {
          result: 'applied',
          answer: 'INVALID_INPUT',
          approve: 'INVALID_INPUT',
          deny: 'applied',
          rerun: 'UNKNOWN_CALL',
        },
      ],
      [
        'uncertain',
        {
          result: 'applied',
          answer: 'INVALID_INPUT',
          approve: 'INVALID_INPUT',
          deny: 'applied',
          rerun: 'applied',
        },
      ],
      [
        'awaiting_approval',
        {
          result: 'INVALID_INPUT',
          answer: 'INVALID_INPUT',
          approve: 'applied',
          deny: 'applied',
          rerun: 'UNKNOWN_CALL',
        },
      ],
    ];
    for (const [status, codes] of expected) {
      const { session } = await sessionIn(status);
      const decided = {
        result: session.submitToolResult('c', 1),
        answer: session.answer('c', 'x'),
        approve: session.approve('c'),
        deny: session.deny('c'),
        rerun: session.rerun('c'),
      };
      const found = Object.fromEntries(
        Object.entries(decided).map(([name, each]) => [
          name,
          each.ok ? (each.applied ? 'applied' : 'same') : each.error.code,
        ]),
      );
      expect([status, found]).toEqual([status, codes]);
    }
  });

  it('goes on after a failing model, and after a failing tool that ended the run', async () => {
    const { session, engine } = await sessionIn('error');
    expect([session.haltedReason, session.error]).toEqual([
      'error',
      { code: 'MODEL_FAILED', message: 'overloaded' },
    ]);
    expect(session.messages).toEqual([{ role: 'user', content: 'Go' }]);
    const { session: after } = await Session.fromJSON(session.toJSON()).retry(engine);
    expect([after.status, after.messages.length, after.error]).toEqual(['completed', 2, undefined]);

    const failing = newCase([{ calls: [call('f', 'fail')] }, 'done'], { onToolError: 'halt' });
    const { session: failed } = await Session.create().start(failing.engine, 'Go');
    expect([failed.status, failed.haltedReason, failed.error]).toEqual([
      'error',
      'tool_error',
      { code: 'EXECUTION_FAILED', message: 'f cannot' },
    ]);
    const { session: mended } = await failed.retry(failing.engine);
    expect([
      mended.status,
      resultsIn(mended.messages).length,
      failing.world.starts.get('f'),
    ]).toEqual(['completed', 1, 1]);
  });

  it('takes a reply as the answer of the only question, and keeps the rest waiting', async () => {
    const { engine } = newCase([{ calls: [call('q', 'choose'), call('m', 'manual')] }, 'done']);
    const { session } = await Session.create().start(engine, 'Go');
    const { session: same, result: still, refused } = await session.reply(engine, 'green');
    expect([same, still.haltedReason, refused?.code, refused?.message]).toEqual([
      session,
      'ask_user',
      'INVALID_INPUT',
      'Expected one of "red", "blue" as the answer, got "green".',
    ]);
    const { session: half, result } = await session.reply(engine, 'red');
    expect([half.status, result.haltedReason, result.pending.map(({ callId }) => callId)]).toEqual([
      'awaiting_tools',
      'manual_tool_calls',
      ['m'],
    ]);
    const { session: last } = await half.submitToolResult('m', 1).session.continue(engine);
    expect(resultsIn(last.messages)[0]).toEqual(['q', { type: 'text', value: 'red' }]);
    expect(last.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('does not guess which of several questions a reply answers', async () => {
    const { engine } = newCase([{ calls: [call('a', 'ask'), call('b', 'ask')] }, 'done']);
    const { session } = await Session.create().start(engine, 'Go');
    expect(await codeOf(session.reply(engine, 'red'))).toBe('INVALID_STATE');
    const { session: last } = await session.answer('b', '2').session.reply(engine, '1');
    expect(resultsIn(last.messages).map(([, output]) => 'value' in output && output.value)).toEqual(
      ['1', '2'],
    );
  });

  it('begins with text or messages, and refuses junk before the model is asked', async () => {
    const { engine } = newCase(['hello']);
    const open = [
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'x', toolName: 'auto', input: {} }],
      },
    ];
    const result = {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'x',
          toolName: 'auto',
          output: { type: 'text', value: '' },
        },
      ],
    };
    const found: unknown[] = [];
    for (const junk of [
      null,
      42,
      {},
      [],
      ['Hi'],
      [null],
      [{ role: 'wizard', content: 'Hi' }],
      [{ role: 'user' }],
      [{ role: 'user', content: () => 'Hi' }],
      open,
      [result],
    ])
      found.push(await codeOf(Session.create().start(engine, junk as never)));
    expect(found).toEqual([
      ...Array.from({ length: 9 }, () => 'INVALID_ARGUMENT'),
      'OPEN_TOOL_CALLS',
      'UNKNOWN_CALL',
    ]);
    expect(await codeOf(Session.create().continue(engine))).toBe('INVALID_STATE');
    expect(await codeOf(Session.create().reply(engine, 7 as never))).toBe('INVALID_ARGUMENT');
    const { session } = await Session.create().start(engine, [
      ...open,
      result,
      { role: 'user', content: 'And now?' },
    ] as never);
    expect(session.messages.at(-1)).toMatchObject({ role: 'assistant' });
  });

  it('refuses wrong options, all of them at once', async () => {
    const { engine } = newCase(['hello']);
    expect(
      await codeOf(
        Session.create().start(engine, 'Hi', { signal: 1, stream: 'yes', accept: true } as never),
      ),
    ).toBe('INVALID_ARGUMENT');
    const error: unknown = await Session.create()
      .start(engine, 'Hi', { signal: 1, stream: 'yes', accept: true } as never)
      .catch((thrown: unknown) => thrown);
    for (const name of ['signal', 'stream', 'accept'])
      expect((error as Error).message).toContain(name);
    const refused = [
      null,
      1,
      { id: '' },
      { id: 'a b' },
      { id: 'x'.repeat(129) },
      { id: 7 },
      { identifier: 'x' },
      { messages: 'Hi' },
      { context: () => 1 },
      { context: { a: [1n] } },
      { context: new Map() },
      { context: { at: new Date(0) } },
      { context: NaN },
    ];
    expect(refused.map((options) => codeOfThrown(() => Session.create(options as never)))).toEqual(
      refused.map(() => 'INVALID_ARGUMENT'),
    );
    expect(() => Session.create({ context: { user: { roles: [new Set()] } } })).toThrow(
      /user\.roles\[0\]/,
    );
  });

  it('hands its context and id to the tools, and the engine goes before', async () => {
    const seen: unknown[] = [];
    const registry = new ToolMetadataRegistry();
    registry.register(
      defineTool({
        name: 'look',
        description: 'Looks',
        inputSchema: { type: 'object' },
        accessMode: AccessMode.READONLY,
        execute: (_, { context, conversationId }) => void seen.push([context, conversationId]),
      }),
    );
    const executor = new ToolExecutor({ registry });
    const answers = [{ calls: [{ name: 'look' }] }, 'done'];
    const session = Session.create({ id: 'mine', context: { user: 'ada' } });
    await session.start(newCase(answers, { executor }).engine, 'Go');
    await session.start(newCase(answers, { executor, context: { user: 'bob' } }).engine, 'Go');
    expect(seen).toEqual([
      [{ user: 'ada' }, 'mine'],
      [{ user: 'bob' }, 'mine'],
    ]);
    expect(session.context).toEqual({ user: 'ada' });
  });
});
