import { describe, expect, it } from 'vitest';
import type { ToolDefinition } from '../../src/index.js';
import {
  chat,
  scriptedModel,
  Session,
  type ChatEngine,
  type ChatOptions,
  type ScriptedAnswer,
} from '../../src/chat.js';
import { isSendable, outputsOf, sampleTools, toolOf, user } from './chat-cases.js';

// What the system that this one continues does, case by case: questions and sessions.

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

describe('tools that ask', () => {
  it('a tool that asks ends the run with its question and options', async () => {
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

  it("the user's reply becomes the result of the call that asked", async () => {
    const { engine, model } = setUp([calling(['q', 'asks']), 'Boston it is']);
    const { session } = await Session.create().start(engine, 'Weather?');
    const { session: after, result } = await session.reply(engine, 'Boston');
    expect(result).toMatchObject({ text: 'Boston it is', pending: [] });
    expect(after).toMatchObject({ status: 'completed', pending: [] });
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: [{ toolCallId: 'q', output: { type: 'text', value: 'Boston' } }],
    });
  });

  it('two questions in one turn are answered in any order', async () => {
    const { engine, model } = setUp([calling(['q', 'asks'], ['r', 'asks_too']), 'Fine']);
    let { session } = await Session.create().start(engine, 'Weather?');
    expect(session.pending.map(({ callId }) => callId)).toEqual(['q', 'r']);
    session = session.answer('r', 'today').session;
    expect(session.status).toBe('awaiting_user');
    session = session.answer('q', 'Boston').session;
    expect((await session.continue(engine)).result.text).toBe('Fine');
    expect(outputsOf(model.requests[1]!.messages)).toEqual({
      q: { type: 'text', value: 'Boston' },
      r: { type: 'text', value: 'today' },
    });
  });
});

describe('sessions', () => {
  const user1 = [user('hello')];

  it('a session starts with messages, and keeps its id and context', async () => {
    const { engine } = setUp(['Hello!']);
    const { session, result } = await Session.create({ id: 's1', context: { tenant: 'x' } }).start(
      engine,
      user1,
    );
    expect(session).toMatchObject({ id: 's1', context: { tenant: 'x' }, status: 'completed' });
    expect(result.text).toBe('Hello!');
  });

  it.each([42, null, { role: 'user' }, [{ role: 'nobody', content: 'x' }], []])(
    'refuse to begin with %j',
    async (junk) => {
      const { engine, model } = setUp(['Hello!']);
      await expect(Session.create().start(engine, junk as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      expect(model.requests).toEqual([]);
    },
  );

  it('a session waits only for its manual calls', async () => {
    const { engine } = setUp([calling(['w', 'weather'], ['c', 'charge'])]);
    const { session } = await Session.create().start(engine, 'pay');
    expect(session.status).toBe('awaiting_tools');
    expect(session.pending.map(({ callId }) => callId)).toEqual(['c']);
  });

  it('a session takes results one by one, without asking the model', async () => {
    const { engine, model } = setUp([calling(['c', 'charge'], ['d', 'refund'])]);
    const { session } = await Session.create().start(engine, 'pay');
    const one = session.submitToolResult('c', { paid: true }).session;
    expect(one.status).toBe('awaiting_tools');
    const both = one.submitToolResult('d', 'x').session;
    expect(both.status).toBe('idle');
    expect(outputsOf(both.messages)).toEqual({
      c: { type: 'json', value: { paid: true } },
      d: { type: 'text', value: 'x' },
    });
    expect(model.requests.length).toBe(1);
  });

  it('a result for an unknown id is refused and changes nothing', async () => {
    const { engine } = setUp([calling(['w', 'weather'], ['c', 'charge'])]);
    const { session } = await Session.create().start(engine, 'pay');
    for (const id of ['nobody', 'w', '__proto__', 'constructor']) {
      const decided = session.submitToolResult(id, 1);
      expect(decided).toMatchObject({
        ok: false,
        error: { code: 'UNKNOWN_CALL', details: { callId: id } },
      });
      expect(decided.session).toBe(session);
    }
  });

  it('the same result twice counts once, and a different one is refused', async () => {
    const { engine } = setUp([calling(['c', 'charge'], ['d', 'refund'])]);
    const { session } = await Session.create().start(engine, 'pay');
    const one = session.submitToolResult('c', { a: 1, b: 2 }).session;
    expect(one.submitToolResult('c', { b: 2, a: 1 })).toMatchObject({ ok: true, applied: false });
    expect(one.submitToolResult('c', { a: 2 })).toMatchObject({
      ok: false,
      error: { code: 'ALREADY_RESOLVED' },
    });
    const all = one.submitToolResult('d', 1).session;
    expect(all.submitToolResult('c', { a: 1, b: 2 })).toMatchObject({ ok: true, applied: false });
  });

  it('several results are taken together or not at all', async () => {
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

  it('an operation on a waiting session says what to do first', async () => {
    const waiting = setUp([calling(['c', 'charge'])]);
    const { session } = await Session.create().start(waiting.engine, 'pay');
    for (const act of [
      () => session.start(waiting.engine, 'x'),
      () => session.reply(waiting.engine, 'x'),
      () => session.continue(waiting.engine),
    ])
      await expect(act()).rejects.toMatchObject({
        code: 'INVALID_STATE',
        message: expect.stringContaining('submitToolResult'),
      });
    const asking = setUp([calling(['q', 'asks'])]);
    const { session: asked } = await Session.create().start(asking.engine, 'x');
    await expect(asked.continue(asking.engine)).rejects.toMatchObject({
      code: 'INVALID_STATE',
      message: expect.stringContaining('reply'),
    });
    await expect(asked.start(asking.engine, 'x')).rejects.toMatchObject({ code: 'INVALID_STATE' });
  });

  it('a completed session takes a reply', async () => {
    const { engine } = setUp(['one', 'two']);
    const { session } = await Session.create().start(engine, 'a');
    expect((await session.reply(engine, 'b')).result.text).toBe('two');
  });

  it('a session with an error can retry, and takes no reply before', async () => {
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
    const { session } = await Session.create({ id: 's1', context: { own: true } }).start(
      engine,
      'a',
    );
    await session.reply({ ...engine, context: 'given' }, 'b');
    expect(seen).toEqual([
      ['a', 's1', { own: true }],
      ['b', 's1', 'given'],
    ]);
  });

  it('a session read from its JSON is the same and runs the same next turn', async () => {
    const script = [calling(['w', 'weather'], ['c', 'charge']), 'done'];
    const run = async (pass: (session: Session) => Session) => {
      const { engine, model } = setUp(script);
      let { session } = await pass(Session.create({ id: 's1' })).start(
        { ...engine, clock: { now: () => 5, elapsed: () => 5, after: () => () => undefined } },
        'pay',
      );
      session = pass(pass(session).submitToolResult('c', 1).session);
      const { session: after } = await session.continue(engine);
      return {
        messages: pass(after).messages,
        asked: model.requests.map(({ messages }) => messages),
      };
    };
    const stored = await run((session) => {
      const read = Session.fromJSON(JSON.parse(JSON.stringify(session)));
      expect(read.toJSON()).toEqual(session.toJSON());
      return read;
    });
    expect(stored).toEqual(await run((session) => session));
  });

  it('a session in mode manual leaves all calls to the caller', async () => {
    const { engine } = setUp([calling(['a', 'weather'], ['b', 'echo'])]);
    const { session } = await Session.create().start({ ...engine, mode: 'manual' }, 'x');
    expect([session.status, session.pending.map(({ callId }) => callId)]).toEqual([
      'awaiting_tools',
      ['a', 'b'],
    ]);
  });

  it('maxTurns 1 asks the model once', async () => {
    const { engine, model } = setUp([calling(['a', 'weather']), 'done']);
    const { session, result } = await Session.create().start({ ...engine, maxTurns: 1 }, 'x');
    expect([result.haltedReason, model.requests.length]).toEqual(['max_turns', 1]);
    expect((await session.continue({ ...engine, maxTurns: 1 })).result.text).toBe('done');
  });
});
