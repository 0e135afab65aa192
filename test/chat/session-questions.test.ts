import { expect, it } from 'vitest';
import { scriptedModel, Session, type SessionSnapshot } from '../../src/chat.js';
import {
  askUser,
  defineTool,
  ToolExecutor,
  ToolMetadataRegistry,
  type AskUserOptions,
} from '../../src/index.js';
import { ManualClock } from '../../src/testing.js';

const CHOICES: AskUserOptions = { choices: ['red', 'blue'] };

async function asked(options: AskUserOptions) {
  const clock = new ManualClock(1_000);
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'ask',
      description: 'Asks',
      inputSchema: {},
      accessMode: 'readonly',
      execute: () => askUser('Which?', options),
    }),
  );
  const engine = {
    executor: new ToolExecutor({ registry, clock }),
    clock,
    model: scriptedModel([{ calls: [{ id: 'q', name: 'ask' }] }, 'done']),
  };
  const { session } = await Session.create().start(engine, 'Go');
  return { session, engine, clock };
}

const resultOf = (session: Session) =>
  session.messages.flatMap((each) => (each.role === 'tool' ? each.content : []))[0];
const stored = (session: Session) => JSON.parse(JSON.stringify(session)) as SessionSnapshot;

it('a question with choices can be stored and restored, and then accepts a choice', async () => {
  const { session, engine } = await asked({ ...CHOICES, timeoutMs: 500 });
  const copy = Session.fromJSON(stored(session));
  expect(copy.pending).toMatchObject([
    {
      kind: 'question',
      options: ['red', 'blue'],
      timeoutMs: 500,
      expiresAt: 1_500,
    },
  ]);
  const decided = copy.answer('q', 'blue', { now: 1_499 });
  expect(decided).toMatchObject({ ok: true, applied: true });
  expect(decided.session.answer('q', 'blue')).toMatchObject({
    ok: true,
    applied: false,
  });
  expect(decided.session.answer('q', 'red')).toMatchObject({
    ok: false,
    error: { code: 'ALREADY_RESOLVED' },
  });
  const { session: last } = await decided.session.continue(engine);
  expect(resultOf(last)).toMatchObject({ output: { type: 'text', value: 'blue' } });
});

it('a question with a form can be stored and restored, and then accepts JSON', async () => {
  const form = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer', default: 30 } },
    required: ['name'],
  } as const;
  const { session, engine } = await asked({ form });
  const copy = Session.fromJSON(stored(session));
  expect(copy.pending).toMatchObject([{ kind: 'question', form }]);
  for (const answer of ['Ada', '{"age":5}', '{"name":5}'])
    expect(copy.answer('q', answer)).toMatchObject({
      ok: false,
      session: copy,
      error: { code: 'INVALID_INPUT' },
    });
  const { session: last } = await copy.reply(engine, '{"name":"Ada"}');
  expect(resultOf(last)).toMatchObject({
    output: { type: 'json', value: { name: 'Ada', age: 30 } },
  });
});

it("when a question times out, the model reads that the user didn't answer", async () => {
  const { session, engine, clock } = await asked({ timeoutMs: 500 });
  await expect(session.continue(engine)).rejects.toMatchObject({ code: 'INVALID_STATE' });
  expect(session.expire(1_499)).toMatchObject({ ok: true, applied: false, session });
  clock.advance(500);
  for (const late of [session.answer('q', 'late', { now: 1_500 }), session.answer('q', 'late')])
    expect(late).toMatchObject({ ok: false, session, error: { code: 'TIMEOUT' } });
  expect(await session.reply(engine, 'late')).toMatchObject({
    session,
    refused: { code: 'TIMEOUT' },
  });
  const { session: last, result } = await session.continue(engine);
  expect(resultOf(last)).toMatchObject({
    output: {
      type: 'error-text',
      value: expect.stringMatching(/^ask asked the user, who didn.t answer in time\./),
    },
  });
  expect([result.text, last.answer('q', 'later')]).toMatchObject([
    'done',
    { ok: false, error: { code: 'ALREADY_RESOLVED' } },
  ]);
});
