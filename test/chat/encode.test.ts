import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { halt } from '../../src/index.js';
import { chat, encodeValue, scriptedModel, Session, type ChatOptions } from '../../src/chat.js';

const LONGEST_RESULT = 65_536;
import { messageSchema } from '../../src/chat/thread.js';
import { outputsOf, toolOf } from './chat-cases.js';

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

describe('a result', () => {
  it('plain data is encoded as JSON that parses back, equally each time', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const output = encodeValue(value) as { type: string; value: unknown };
        expect(output.type).toBe(typeof value === 'string' ? 'text' : 'json');
        expect(JSON.stringify(output.value)).toBe(JSON.stringify(value));
        expect(encodeValue(value)).toEqual(output);
      }),
    );
  });

  it.each<readonly [string, unknown]>([
    ['a Map', new Map([['a', 1]])],
    ['a Set', new Set([1])],
    ['an Error', new Error('x')],
    ['a promise', { later: Promise.resolve(1) }],
    ['a regular expression', [/x/]],
    ['not a number', { n: Number.NaN }],
    ['a big integer', { n: 1n }],
    ['a function', { run: () => 1 }],
  ])('a value with %s is an error, because JSON would lose it', (_what, value) => {
    expect(() => encodeValue(value)).toThrow(TypeError);
  });

  it('a result of more than 64 KiB becomes its beginning, its end and its size', async () => {
    const { output } = await readOf('ä'.repeat(LONGEST_RESULT + 5));
    expect(output).toMatchObject({
      type: 'text',
      value: expect.stringMatching(
        /^ä{24576}\n\[… 65546 of 131082 bytes are not shown: request less at a time …\]\nä{8192}$/,
      ),
    });
    const data = await readOf({ list: Array.from({ length: 20_000 }, (_, at) => at) });
    expect(data.output).toMatchObject({
      type: 'text',
      value: expect.stringMatching(/^\{"list":\[0,1,2.*bytes are not shown.*19999\]\}$/s),
    });
    const { output: whole } = await readOf('x'.repeat(LONGEST_RESULT));
    expect(whole).toEqual({ type: 'text', value: 'x'.repeat(LONGEST_RESULT) });
  });

  it('a session with a result of any depth can be stored and read', async () => {
    for (const levels of [40, 43, 44, 60]) {
      const tools = [
        toolOf('t', () => nested(levels)),
        toolOf('charge', undefined, { manual: true }),
      ];
      const { session } = await Session.create({ id: 's', context: {}, messages: [] }).start(
        {
          model: scriptedModel([
            {
              calls: [
                { id: 'a', name: 't' },
                { id: 'b', name: 'charge' },
              ],
            },
          ]),
          tools,
        },
        'x',
      );
      expect(Session.fromJSON(JSON.parse(JSON.stringify(session))).pending.length).toBe(1);
    }
  });

  it('the value of a halt goes to the model and to the caller', async () => {
    const { output, result } = await readOf(halt('done', { a: [1] }));
    expect([output, result.metadata.haltResult]).toEqual([
      { type: 'json', value: { a: [1] } },
      { a: [1] },
    ]);
    const strange = await readOf(halt('done', new Map()));
    expect([
      strange.output.type,
      strange.result.haltedReason,
      strange.result.metadata.haltResult,
    ]).toEqual(['error-text', 'done', null]);
  });
});

describe('a tool that halts with what its output schema refuses', () => {
  it("a halt that doesn't fit the output schema ends the run without showing its value", async () => {
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
});

describe('an encoder of the caller', () => {
  it('a failing encoder tells programs why, and the model only that the tool ran', async () => {
    const heard: unknown[] = [];
    const onToolError = (_: unknown, outcome: unknown) => (
      heard.push(outcome),
      'continue' as const
    );
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
          value: 't ran, but its result cannot be shown: it could not be encoded',
        });
    }
    expect(heard).toHaveLength(4);
    for (const outcome of heard)
      expect(outcome).toMatchObject({
        code: 'INVALID_RESULT',
        details: { ran: true, reason: expect.stringContaining('db.internal.corp') as string },
      });
  });

  it.each<readonly [string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['gives a promise', () => Promise.resolve({ type: 'text', value: 'x' })],
    ['gives another type', () => ({ type: 'video', value: 'x' })],
  ])('an encoder that %s makes the result an error', async (_what, encode) => {
    let asked = 0;
    const { output, result } = await readOf('x', {
      encode: () => ((asked += 1), encode() as never),
    });
    expect(output).toEqual({ type: 'error-text', value: expect.stringContaining('t ran') });
    expect([asked, result.haltedReason]).toEqual([1, 'completed']);
  });
});
