import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import {
  convertToModelMessages,
  generateText,
  stepCountIs,
  type ModelMessage,
  type UIMessage,
} from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  halt,
  selectTools,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { openToolNames, stopOnHalt, toAISDKTools } from '../../src/interop.js';
import { aiModel } from './framework-models.js';

function shop() {
  const refunds: unknown[] = [];
  const registry = new ToolMetadataRegistry();
  const tool = (
    name: string,
    description: string,
    execute: (input: object) => unknown,
    more = {},
  ) => defineTool({ name, description, inputSchema: z.looseObject({}), execute, ...more });
  registry.registerAll([
    tool('orders.refund', 'Refunds an order', (input) => refunds.push(input), {
      accessMode: 'write',
    }),
    tool('weather', 'Tells the weather', () => 'sun', { accessMode: 'readonly' }),
    tool('goodbye', 'Ends the chat', () => halt('done', 'bye'), { accessMode: 'readonly' }),
  ]);
  return { registry, refunds };
}

const REFUND = 'orders__refund';

/** One conversation in each framework's form: a finished call, and one that has no result yet. */
const CONVERSATIONS: readonly (readonly [framework: string, messages: readonly unknown[]])[] = [
  [
    'model messages of the AI SDK',
    [
      { role: 'user', content: 'Refund it' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'On it.' },
          { type: 'tool-call', toolCallId: 'a', toolName: 'weather', input: {} },
          { type: 'tool-call', toolCallId: 'b', toolName: REFUND, input: {} },
          { type: 'tool-approval-request', approvalId: 'q', toolCallId: 'b' },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'weather', output: {} },
          { type: 'tool-approval-response', approvalId: 'q', approved: true },
        ],
      },
    ],
  ],
  [
    'UI messages of the AI SDK',
    [
      {
        id: '1',
        role: 'assistant',
        parts: [
          { type: 'tool-weather', toolCallId: 'a', state: 'output-available', output: 'sun' },
          {
            type: `tool-${REFUND}`,
            toolCallId: 'b',
            state: 'approval-responded',
            approval: { id: 'q', approved: true },
          },
        ],
      },
    ],
  ],
  [
    'UI messages with dynamic tools',
    [
      {
        id: '1',
        role: 'assistant',
        parts: [
          { type: 'dynamic-tool', toolName: REFUND, toolCallId: 'b', state: 'approval-requested' },
          { type: 'dynamic-tool', toolName: 'weather', toolCallId: 'a', state: 'output-error' },
        ],
      },
    ],
  ],
  [
    "messages of OpenAI's chat interface",
    [
      {
        role: 'assistant',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } },
          { id: 'b', type: 'function', function: { name: REFUND, arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'sun' },
    ],
  ],
  [
    "items of OpenAI's responses interface",
    [
      { role: 'user', content: 'Refund it' },
      { type: 'function_call', call_id: 'b', name: REFUND, arguments: '{}' },
      { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'sun' },
    ],
  ],
  [
    'items of OpenAI Agents',
    [
      { type: 'function_call', callId: 'a', name: 'weather', arguments: '{}' },
      { type: 'function_call_result', callId: 'a', name: 'weather', output: {} },
      { type: 'function_call', callId: 'b', name: REFUND, arguments: '{}' },
    ],
  ],
  [
    "Anthropic's messages",
    [
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'weather', input: {} },
          { type: 'tool_use', id: 'b', name: REFUND, input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'sun' }] },
    ],
  ],
  [
    "Gemini's contents",
    [
      {
        role: 'model',
        parts: [
          { functionCall: { name: 'weather', args: {} } },
          { functionCall: { name: REFUND, args: {} } },
        ],
      },
      { role: 'user', parts: [{ functionResponse: { name: 'weather', response: {} } }] },
    ],
  ],
  [
    "LangChain's messages",
    [
      new HumanMessage('Refund it'),
      new AIMessage({
        content: '',
        tool_calls: [
          { id: 'a', name: 'weather', args: {} },
          { id: 'b', name: REFUND, args: {} },
        ],
      }),
      new ToolMessage({ content: 'sun', tool_call_id: 'a' }),
    ],
  ],
  [
    "LangChain's serialized messages",
    JSON.parse(
      JSON.stringify([
        new AIMessage({ content: '', tool_calls: [{ id: 'b', name: REFUND, args: {} }] }),
        new HumanMessage('And?'),
      ]),
    ) as unknown[],
  ],
];

it.each(CONVERSATIONS)(
  'openToolNames returns the tools of calls without results in %s',
  (_, messages) => {
    expect(openToolNames(messages, shop().registry)).toEqual(['orders.refund']);
  },
);

it("openToolNames ignores unknown names, calls inside results, and values that aren't messages", () => {
  const call = { type: 'tool_use', id: 'x', name: REFUND };
  const messages = [
    null,
    'text',
    { role: 'assistant', content: [{ type: 'tool_use', id: 'y', name: 'gone' }, null] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'y', content: [call] }, call] },
  ];
  expect(openToolNames(messages, shop().registry)).toEqual([]);
});

it('openToolNames keeps a tool whose call was approved, so that it runs with another selection', async () => {
  const { registry, refunds } = shop();
  const executor = new ToolExecutor({ registry });
  const toolsFor = (text: string, messages: readonly unknown[]) =>
    toAISDKTools(
      selectTools(registry, { text, maxTools: 1, include: openToolNames(messages, registry) }),
      { executor, conversationId: 'c' },
    );
  const messages: ModelMessage[] = [{ role: 'user', content: 'Refund order 7' }];
  const first = await generateText({
    model: aiModel([['b', REFUND, { order: 7 }]]),
    tools: toolsFor('Refund order 7', messages),
    messages,
  });
  const request = first.content.find((part) => part.type === 'tool-approval-request')!;
  messages.push(...first.response.messages, {
    role: 'tool',
    content: [{ type: 'tool-approval-response', approvalId: request.approvalId, approved: true }],
  });
  const tools = toolsFor('What is the weather?', messages);
  expect(Object.keys(tools).sort()).toEqual([REFUND, 'weather']);
  const second = await generateText({ model: aiModel('Done.'), tools, messages });
  expect([second.text, refunds]).toEqual(['Done.', [{ order: 7 }]]);
  messages.push(...second.response.messages);
  expect(openToolNames(messages, registry)).toEqual([]);
});

it('openToolNames reads the messages that the AI SDK creates from UI messages', async () => {
  const messages: UIMessage[] = [
    {
      id: '1',
      role: 'assistant',
      parts: [
        {
          type: 'dynamic-tool',
          toolName: REFUND,
          toolCallId: 'b',
          state: 'approval-responded',
          input: { order: 7 },
          approval: { id: 'q', approved: true },
        },
      ],
    },
  ];
  expect(openToolNames(await convertToModelMessages(messages), shop().registry)).toEqual([
    'orders.refund',
  ]);
});

it('stopOnHalt ends the loop after a step in which a tool halted, and only then', async () => {
  const { registry } = shop();
  const run = (name: string) =>
    generateText({
      model: aiModel([['1', name, {}]], 'Anything else?'),
      tools: toAISDKTools(registry, { executor: new ToolExecutor({ registry }) }),
      prompt: 'Bye',
      stopWhen: [stepCountIs(5), stopOnHalt()],
    });
  expect((await run('goodbye')).steps).toHaveLength(1);
  expect((await run('weather')).steps).toHaveLength(2);
});
