import { expect, it } from 'vitest';
import type { ToolDefinition } from '../../src/index.js';
import {
  chat,
  scriptedModel,
  Session,
  type ChatEngine,
  type ChatOptions,
  type ScriptedAnswer,
} from '../../src/chat.js';
import { isSendable, sampleTools, toolOf, user } from './chat-cases.js';

// The recorded behavior of the recorded system, case by case: questions and sessions.

const calling = (...calls: readonly (readonly [id: string, name: string])[]): ScriptedAnswer => ({
  calls: calls.map(([id, name]) => ({ id, name })),
});

function setUp(
  answers: readonly ScriptedAnswer[],
  tools: readonly ToolDefinition[] = sampleTools().tools,
) {
  const model = scriptedModel(answers);
  const engine = { model, tools } satisfies ChatEngine;
  return {
    model,
    engine,
    run: (options: Partial<ChatOptions> = {}) => chat({ ...engine, prompt: 'please', ...options }),
  };
}

it('a tool that asks the user ends the run with its question and options', async () => {
  const { run } = setUp([calling(['q', 'asks_too'])]);
  const result = await run();
  expect(result).toMatchObject({
    haltedReason: 'ask_user',
    pendingQuestion: 'Which day?',
    pendingToolCallId: 'q',
    metadata: { askUserOptions: ['today', 'tomorrow'] },
  });
  expect(isSendable(result)).toBe(true);
});

const user1 = [user('hello')];

it('a session starts with the given messages, and keeps its id and context', async () => {
  const { engine } = setUp(['Hello!']);
  const { session, result } = await Session.create({ id: 's1', context: { tenant: 'x' } }).start(
    engine,
    user1,
  );
  expect(session).toMatchObject({ id: 's1', context: { tenant: 'x' }, status: 'completed' });
  expect(result.text).toBe('Hello!');
});

it('several results are accepted together or not at all', async () => {
  const { engine } = setUp([calling(['c', 'charge'], ['d', 'refund'])]);
  const { session } = await Session.create().start(engine, 'pay');
  const refused = session.submitToolResults([
    { callId: 'c', result: 1 },
    { callId: 'nobody', result: 2 },
  ]);
  expect(refused.ok).toBe(false);
  expect(refused.session.pending.length).toBe(2);
  expect(session.submitToolResults([])).toMatchObject({ ok: true, applied: false, session });
  const together = session.submitToolResults([
    { callId: 'c', result: 1 },
    { callId: 'd', result: 2 },
  ]).session;
  const oneByOne = session.submitToolResult('c', 1).session.submitToolResult('d', 2).session;
  expect(together.messages).toEqual(oneByOne.messages);
});

it('a session with an error refuses replies until a retry succeeds', async () => {
  const { engine, model } = setUp([
    calling(['w', 'weather']),
    { error: new Error('429') },
    'sunny',
  ]);
  const { session } = await Session.create().start(engine, 'a');
  expect(session).toMatchObject({
    status: 'error',
    error: { code: 'MODEL_FAILED', message: '429' },
  });
  await expect(session.reply(engine, 'x')).rejects.toMatchObject({ code: 'INVALID_STATE' });
  const { session: after, result } = await session.retry(engine);
  expect([after.status, result.text, model.requests.length]).toEqual(['completed', 'sunny', 3]);
});

it("tools get the session's id and context, unless the engine has a context", async () => {
  const seen: unknown[] = [];
  const look = toolOf(
    'look',
    (_input, { callId, conversationId, context }) =>
      void seen.push([callId, conversationId, context]),
  );
  const { engine } = setUp([calling(['a', 'look']), 'x', calling(['b', 'look']), 'x'], [look]);
  const { session } = await Session.create({ id: 's1', context: { own: true } }).start(engine, 'a');
  await session.reply({ ...engine, context: 'given' }, 'b');
  expect(seen).toEqual([
    ['a', 's1', { own: true }],
    ['b', 's1', 'given'],
  ]);
});
