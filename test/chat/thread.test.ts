import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chat, scriptedModel, type ChatMessage, type ChatOptions } from '../../src/chat.js';
import { assistant, openCalls, outputsOf, results, user } from './chat-cases.js';
import { propertyRuns } from '../property-runs.js';

const ask = async (messages: unknown, options: Partial<ChatOptions> = {}) => {
  const model = scriptedModel(['ok']);
  return {
    result: await chat({ model, messages: messages as ChatMessage[], ...options }),
    sent: model.requests[0]!.messages,
  };
};
const refused = (messages: unknown, code = 'INVALID_ARGUMENT') =>
  expect(ask(messages)).rejects.toMatchObject({ code });

it('a thread with all roles and parts is sent unchanged', async () => {
  const messages: readonly ChatMessage[] = [
    {
      role: 'system',
      content: 'Be kind',
      providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image', image: 'AQID', mediaType: 'image/png' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { a: { signature: 's' } } },
        { type: 'text', text: 'A dot' },
      ],
    },
    user('Sure?'),
  ];
  const { sent, result } = await ask(messages);
  expect(sent).toEqual(messages);
  expect(result.messages.slice(0, 4)).toEqual(messages);
});

it('the results of a turn are merged into one message, in the order of the calls', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e'], { minLength: 5, maxLength: 5 }),
      fc.array(fc.nat(4), { maxLength: 3 }),
      fc.array(fc.nat(5), { maxLength: 4 }),
      async (order, doubles, cuts) => {
        const all = [...order, ...doubles.map((at) => order[at]!)];
        const bounds = [0, ...[...cuts].sort(), all.length];
        const pieces = bounds
          .slice(1)
          .map((end, at) => all.slice(bounds[at], end))
          .filter((piece) => piece.length > 0);
        const messages = [
          user('x'),
          assistant(['a', 't'], ['b', 't'], ['c', 't'], ['d', 't'], ['e', 't']),
          ...pieces.map((ids) => results(...ids.map((id) => [id, 't', `of ${id}`] as const))),
        ];
        const { sent } = await ask(messages);
        expect(sent.length).toBe(3);
        expect(Object.keys(outputsOf(sent))).toEqual(['a', 'b', 'c', 'd', 'e']);
        expect(openCalls(sent)).toEqual([]);
      },
    ),
    { numRuns: propertyRuns(50) },
  );
});

it('a thread with unanswered calls is refused with their ids', async () => {
  await refused([user('x'), assistant(['a', 't'])], 'OPEN_TOOL_CALLS');
  await refused(
    [user('x'), assistant(['a', 't'], ['b', 't']), results(['b', 't', '1']), user('y')],
    'OPEN_TOOL_CALLS',
  );
});

it('a result without a call is refused', async () => {
  await refused([results(['a', 't', '1'])], 'UNKNOWN_CALL');
  await refused(
    [user('x'), assistant(['a', 't']), results(['a', 't', '1'], ['b', 't', '1'])],
    'UNKNOWN_CALL',
  );
  await refused(
    [user('x'), assistant(['a', 't']), results(['__proto__', 't', '1'])],
    'UNKNOWN_CALL',
  );
});

it('two different results for one call are refused', async () => {
  await refused(
    [user('x'), assistant(['a', 't']), results(['a', 't', '1'], ['a', 't', '2'])],
    'ALREADY_RESOLVED',
  );
});

it('two calls with the same id are refused in one message, but allowed in different turns', async () => {
  await refused([user('x'), assistant(['a', 't'], ['a', 't']), results(['a', 't', '1'])]);
  const { sent } = await ask([
    user('x'),
    assistant(['a', 't']),
    results(['a', 't', '1']),
    assistant(['a', 't']),
    results(['a', 't', '2']),
  ]);
  expect(sent.length).toBe(5);
});

it.each<readonly [string, unknown]>([
  ['an unknown role', [{ role: 'developer', content: 'x' }]],
  ['an unknown field', [{ role: 'user', content: 'x', name: 'ada' }]],
  [
    'a call without a name',
    [
      user('x'),
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', input: {} }] },
    ],
  ],
  [
    'a result without a type',
    [
      user('x'),
      assistant(['a', 't']),
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'a', toolName: 't', output: 'x' }],
      },
    ],
  ],
  [
    'a message nested 60 deep',
    [
      {
        role: 'user',
        content: [{ type: 'image', image: JSON.parse('['.repeat(60) + ']'.repeat(60)) as unknown }],
      },
    ],
  ],
])('a thread with %s is refused before the model is called', async (_what, messages) =>
  refused(messages),
);
