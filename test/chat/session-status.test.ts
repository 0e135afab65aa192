import { expect, it } from 'vitest';
import { Session, type SessionStatus } from '../../src/chat.js';
import { call, codeOf, newCase } from './session-cases.js';
import { resultsIn } from './session-thread.js';

/** Returns a session in each status, and an engine that continues it. */
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

it('each session status allows only the listed operations', async () => {
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

it('a reply answers the only pending question, and other calls stay pending', async () => {
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

it('a reply is refused if several questions are pending', async () => {
  const { engine } = newCase([{ calls: [call('a', 'ask'), call('b', 'ask')] }, 'done']);
  const { session } = await Session.create().start(engine, 'Go');
  expect(await codeOf(session.reply(engine, 'red'))).toBe('INVALID_STATE');
  const { session: last } = await session.answer('b', '2').session.reply(engine, '1');
  expect(resultsIn(last.messages).map(([, output]) => 'value' in output && output.value)).toEqual([
    '1',
    '2',
  ]);
});
