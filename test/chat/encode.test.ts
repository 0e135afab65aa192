import fc from 'fast-check';
import { expect, it } from 'vitest';
import { halt } from '../../src/index.js';
import { chat, scriptedModel, Session, type ChatOptions } from '../../src/chat.js';
import { messageSchema } from '../../src/chat/thread.js';
import { outputsOf, toolOf } from './chat-cases.js';
import { encodeResult } from '../../src/chat/encode-output.js';

async function readOf(value: unknown, options: Partial<ChatOptions> = {}, extra: object = {}) {
  const tools = [toolOf('t', () => value, extra)];
  const result = await chat({
    model: scriptedModel([{ calls: [{ id: 'a', name: 't' }] }, 'ok']),
    tools,
    prompt: 'x',
    ...options,
  });
  expect(messageSchema.array().safeParse(result.messages).success).toBe(true);
  return { output: outputsOf(result.messages)['a'] as { type: string; value: unknown }, result };
}

const nested = (levels: number): unknown =>
  JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;

it('encodeResult encodes plain data as JSON that parses back, identically each time', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const output = encodeResult({ value }) as { type: string; value: unknown };
      expect(output.type).toBe(typeof value === 'string' ? 'text' : 'json');
      expect(JSON.stringify(output.value)).toBe(JSON.stringify(value));
      expect(encodeResult({ value })).toEqual(output);
    }),
  );
});

it.each<readonly [string, unknown]>([
  ['a Map', new Map([['a', 1]])],
  ['a promise', { later: Promise.resolve(1) }],
  ['NaN', { n: Number.NaN }],
  ['a function', { run: () => 1 }],
])("encodeResult throws for a value with %s, because JSON can't store it", (_what, value) => {
  expect(() => encodeResult({ value })).toThrow(TypeError);
});

it('a session with a deeply nested result can be stored and restored', async () => {
  for (const levels of [40, 60]) {
    const model = scriptedModel([{ calls: [{ id: 'a', name: 't' }] }, 'ok']);
    const tools = [toolOf('t', () => nested(levels))];
    const { session } = await Session.create().start({ model, tools }, 'x');
    expect(Session.fromJSON(JSON.parse(JSON.stringify(session))).status).toBe('completed');
  }
});

it('a halt whose value violates the output schema ends the run without showing the value', async () => {
  const { output, result } = await readOf(
    halt('done', { secret: 'x' }),
    {},
    { outputSchema: { type: 'object', required: ['count'] } },
  );
  expect([output.type, result.haltedReason, result.metadata.haltResult]).toEqual([
    'error-text',
    'done',
    null,
  ]);
  expect(JSON.stringify(result.messages)).not.toContain('secret');
});

it('if a custom encoder fails, programs get the reason, and the model learns only that the tool ran', async () => {
  const heard: unknown[] = [];
  const onToolError = (_: unknown, outcome: unknown) => (heard.push(outcome), 'continue' as const);
  const failing = {
    throws: () => {
      throw new Error('cannot encode for db.internal.corp');
    },
    gives: () => 'db.internal.corp' as never,
  };
  for (const encode of Object.values(failing)) {
    for (const value of ['x', halt('enough', 'x')])
      expect((await readOf(value, { encode, onToolError })).output).toEqual({
        type: 'error-text',
        value: "t ran, but its result can't be shown: it couldn't be encoded",
      });
  }
  expect(heard).toHaveLength(4);
  for (const outcome of heard)
    expect(outcome).toMatchObject({
      code: 'INVALID_RESULT',
      details: { ran: true, reason: expect.stringContaining('db.internal.corp') },
    });
});
