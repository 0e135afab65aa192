import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toAnthropicTools } from '../../src/interop/export/to-anthropic-tools.js';
import { toGeminiTools } from '../../src/interop/export/to-gemini-tools.js';
import { toOpenAITools } from '../../src/interop/export/to-openai-tools.js';
import { named } from './export-cases.js';
import { propertyRuns } from '../property-runs.js';

const tools = [named('a.b'), named('read')];
const chat = toOpenAITools(tools);
const call = (id: unknown, name: unknown, args: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const read = (...calls: readonly unknown[]) =>
  chat.toCalls({ choices: [{ message: { tool_calls: calls } }] });

it("calls have the tool's original name and parsed arguments", () => {
  expect(read(call('1', 'a__b', '{"text":"x"}'), call('2', 'read', '{}'))).toEqual([
    { id: '1', name: 'a.b', input: { text: 'x' } },
    { id: '2', name: 'read', input: {} },
  ]);
});

it('calls can be read from an answer, its message, or a list', () => {
  const message = { role: 'assistant', tool_calls: [call('1', 'read', '{}')] };
  for (const each of [{ choices: [{ message }] }, message, message.tool_calls])
    expect(chat.toCalls(each)).toEqual([{ id: '1', name: 'read', input: {} }]);
});

it.each([
  ["text that isn't JSON", '{"text":'],
  ['a list', '[1]'],
])('a call whose arguments are %s gets the error INVALID_INPUT', (_, args) => {
  const [only] = read(call('1', 'read', args));
  expect([only!.id, only!.name, only!.error?.code, only!.input]).toEqual([
    '1',
    'read',
    'INVALID_INPUT',
    undefined,
  ]);
});

it.each(['__proto__', 'a.b', '', undefined, 7, {}])(
  'a call to the unknown tool %j gets the error TOOL_NOT_FOUND',
  (name) => {
    const [only] = read(call('1', name, '{}'));
    expect([only!.error?.code, only!.name]).toEqual([
      'TOOL_NOT_FOUND',
      typeof name === 'string' ? name : '',
    ]);
  },
);

it('a second call with the same id gets an error', () => {
  const [first, second] = read(call('1', 'read', '{}'), call('1', 'read', '{}'));
  expect([first!.error, second!.error?.code]).toEqual([undefined, 'INVALID_INPUT']);
});

it('a call without an id gets a random id', () => {
  const ids = [
    ...read(call(undefined, 'read', '{}'), call('', 'read', '{}')),
    ...read(call(null, 'read', '{}')),
  ].map(({ id }) => id);
  expect(new Set(ids).size).toBe(3);
});

it('toCalls never throws', () => {
  const exports = [
    chat,
    toOpenAITools(tools, { api: 'responses' }),
    toAnthropicTools(tools),
    toGeminiTools(tools),
  ];
  const noise = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 5 },
      fc.jsonValue(),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          'choices',
          'message',
          'tool_calls',
          'function',
          'arguments',
          'name',
          'id',
          'output',
          'type',
          'call_id',
          'content',
          'input',
          'candidates',
          'parts',
          'functionCall',
          'args',
        ),
        fc.oneof(tie('node'), fc.constantFrom('function_call', 'tool_use', 'read', 'a__b', '{}')),
      ),
    ),
  })).node;
  fc.assert(
    fc.property(noise, (response) => {
      for (const each of exports)
        for (const one of each.toCalls(response))
          expect([
            typeof one.id,
            typeof one.name,
            one.error === undefined ? ['a.b', 'read'].includes(one.name) : true,
          ]).toEqual(['string', 'string', true]);
    }),
    { numRuns: propertyRuns(500) },
  );
  for (const each of exports)
    for (const response of [undefined, null, 7, 'x', [], [null]])
      expect(each.toCalls(response)).toEqual([]);
});

const outcome = (rest: object) =>
  ({ callId: '1', toolName: 'read', ...rest }) as Parameters<
    typeof chat.toMessages
  >[0] extends Iterable<infer Each>
    ? Each
    : never;

it('results are sent as text or JSON', () => {
  const values = ['text', { a: 1 }, [1], null, undefined, 7].map(
    (value) => chat.toMessages([outcome({ status: 'ok', value })])[0]!.content,
  );
  expect(values).toEqual(['text', '{"a":1}', '[1]', 'null', 'null', '7']);
  expect(chat.toMessages([outcome({ status: 'halt', reason: 'done', value: 1 })])[0]!.content).toBe(
    '1',
  );
});
