import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI, type ToolListUnion } from '@google/genai';
import type { Tool } from '@modelcontextprotocol/client';
import OpenAI from 'openai';
import { expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  AccessMode,
  defineTool,
  ExecutionCategory,
  fail,
  SideEffect,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { toAnthropicTools } from '../../src/interop/export/to-anthropic-tools.js';
import { toGeminiTools } from '../../src/interop/export/to-gemini-tools.js';
import { toMcpTools } from '../../src/interop/export/to-mcp-tools.js';
import { toOpenAITools } from '../../src/interop/export/to-openai-tools.js';
import type { ModelCall } from '../../src/interop/export/model-calls.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

const open = {
  accessMode: AccessMode.READONLY,
  executionCategory: ExecutionCategory.COMPUTE,
  sideEffects: SideEffect.NONE,
};

function setUp() {
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      name: 'mcp.math.add',
      description: 'Adds',
      inputSchema: z.object({ a: z.number(), b: z.number().optional() }),
      ...open,
      execute: ({ a, b = 1 }) => ({ sum: a + b }),
    }),
    defineTool({
      name: 'odd',
      description: 'Has an odd parameter',
      inputSchema: {
        type: 'object',
        properties: { $filter: { type: 'string' } },
        required: ['$filter'],
      },
      ...open,
      execute: ({ $filter }: { $filter: string }) => `kept ${$filter}`,
    }),
    defineTool({
      name: 'failing',
      description: 'Fails',
      inputSchema: z.object({}),
      ...open,
      execute: () => fail('no luck'),
    }),
  ]);
  const executor = new ToolExecutor({ registry });
  const run = async (calls: readonly ModelCall[]) =>
    Promise.all(
      calls.map(async (call) => (call.error === undefined ? executor.execute(call) : call)),
    );
  return { registry, run };
}

/** Returns a service that records its requests and returns one body after another. */
function service(...answers: readonly object[]) {
  const bodies: Record<string, unknown>[] = [];
  const fetch = async (_url: unknown, init?: { body?: unknown }): Promise<Response> => {
    bodies.push(JSON.parse(init?.body as string) as Record<string, unknown>);
    return new Response(JSON.stringify(answers[bodies.length - 1]), {
      headers: { 'content-type': 'application/json' },
    });
  };
  return { bodies, fetch };
}

const toolCall = (id: string, name: string, args: string) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const completion = (message: object) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      logprobs: null,
      message: { role: 'assistant', content: null, refusal: null, ...message },
    },
  ],
});

it('the chat API can call exported tools and receive their results', async () => {
  const { registry, run } = setUp();
  const calls = [
    toolCall('1', 'mcp__math__add', '{"a":2}'),
    toolCall('2', 'failing', ''),
    toolCall('3', 'constructor', '{}'),
    toolCall('4', 'failing', '{"a":'),
  ];
  const { bodies, fetch } = service(
    completion({ tool_calls: calls }),
    completion({ content: 'done' }),
  );
  const client = new OpenAI({ apiKey: 'none', fetch: fetch });
  const tools = toOpenAITools(registry);
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'add' }];
  const first = await client.chat.completions.create({ model: 'm', messages, tools });
  const results = await run(tools.toCalls(first));
  await client.chat.completions.create({
    model: 'm',
    messages: [...messages, first.choices[0]!.message, ...tools.toMessages(results)],
    tools: tools.tools,
  });

  expect(bodies[0]!['tools']).toEqual(JSON.parse(JSON.stringify(tools)));
  expect((bodies[0]!['tools'] as OpenAI.ChatCompletionFunctionTool[])[0]).toEqual({
    type: 'function',
    function: {
      name: 'mcp__math__add',
      description: 'Adds',
      parameters: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a'],
      },
    },
  });
  const answers = (bodies[1]!['messages'] as { tool_call_id: string; content: string }[]).slice(2);
  expect(answers.map(({ tool_call_id, content }) => [tool_call_id, content])).toEqual([
    ['1', '{"sum":3}'],
    ['2', expect.stringContaining('no luck')],
    ['3', expect.stringContaining('There is no tool named')],
    ['4', expect.stringContaining('one JSON object')],
  ]);
});

it('the responses API can call exported tools and receive their results', async () => {
  const { registry, run } = setUp();
  const output = [
    { type: 'reasoning', id: 'r', summary: [] },
    {
      type: 'function_call',
      id: 'f',
      call_id: '1',
      name: 'odd',
      arguments: '{"$filter":"x"}',
      status: 'completed',
    },
  ];
  const { bodies, fetch } = service(
    { id: 'r', object: 'response', output },
    { id: 's', object: 'response', output: [] },
  );
  const client = new OpenAI({ apiKey: 'none', fetch: fetch });
  const tools = toOpenAITools(registry, { api: 'responses' });
  const first = await client.responses.create({ model: 'm', input: 'go', tools });
  const messages = tools.toMessages(await run(tools.toCalls(first)));
  await client.responses.create({
    model: 'm',
    previous_response_id: first.id,
    input: messages,
    tools,
  });
  expect(
    (bodies[0]!['tools'] as { name: string; strict: boolean }[]).map(({ name, strict }) => [
      name,
      strict,
    ]),
  ).toEqual([
    ['mcp__math__add', false],
    ['odd', false],
    ['failing', false],
  ]);
  expect(bodies[1]!['input']).toEqual([
    { type: 'function_call_output', call_id: '1', output: 'kept x' },
  ]);
});

it('the API can call exported tools and receive their results', async () => {
  const { registry, run } = setUp();
  const content = [
    { type: 'text', text: 'Let me see' },
    { type: 'server_tool_use', id: 's', name: 'tool_search_tool_bm25', input: {} },
    { type: 'tool_use', id: '1', name: 'odd', input: { _filter: 'x' } },
    { type: 'tool_use', id: '2', name: 'failing', input: {} },
  ];
  const message = (blocks: object[]) => ({
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'tool_use',
    usage: {},
    content: blocks,
  });
  const { bodies, fetch } = service(message(content), message([]));
  const client = new Anthropic({ apiKey: 'none', fetch: fetch });
  const tools = toAnthropicTools(registry, { deferLoading: 1, cacheControl: '1h' });
  const first = await client.messages.create({
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'go' }],
    tools,
  });
  await client.messages.create({
    model: 'm',
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: first.content },
      ...tools.toMessages(await run(tools.toCalls(first))),
    ],
    tools,
  });

  const sent = bodies[0]!['tools'] as {
    name: string;
    defer_loading?: boolean;
    cache_control?: object;
    input_schema?: object;
  }[];
  expect(
    sent.map(({ name, defer_loading, cache_control }) => [name, defer_loading, cache_control]),
  ).toEqual([
    ['tool_search_tool_bm25', undefined, undefined],
    ['mcp__math__add', undefined, { type: 'ephemeral', ttl: '1h' }],
    ['odd', true, undefined],
    ['failing', true, undefined],
  ]);
  expect(sent[2]!.input_schema).toEqual({
    type: 'object',
    properties: { _filter: { type: 'string' } },
    required: ['_filter'],
  });
  expect((bodies[1]!['messages'] as { content: object[] }[])[2]).toEqual({
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: '1', content: 'kept x' },
      {
        type: 'tool_result',
        tool_use_id: '2',
        content: expect.stringContaining('no luck'),
        is_error: true,
      },
    ],
  });
});

it('deferLoading: true defers all tools except critical tools, and a function selects the tools to defer', () => {
  const { registry } = setUp();
  registry.register(
    definitionOf({
      name: 'urgent',
      description: 'First',
      inputSchema: z.object({}),
      priority: 0,
    }),
  );
  const deferred = (option?: Parameters<typeof toAnthropicTools>[1]) =>
    toAnthropicTools(registry, option).flatMap((tool) =>
      'defer_loading' in tool ? [tool.name] : [],
    );
  expect([
    deferred(),
    deferred({ deferLoading: true }),
    deferred({ deferLoading: ({ name }) => name === 'odd' }),
  ]).toEqual([[], ['mcp__math__add', 'odd', 'failing'], ['odd']]);
  expect(toAnthropicTools(registry, { deferLoading: true, toolSearch: 'regex' })[0]).toEqual({
    type: 'tool_search_tool_regex_20251119',
    name: 'tool_search_tool_regex',
  });
});

it('the API can call exported tools and receive their results', async () => {
  const { registry, run } = setUp();
  const parts = [
    { functionCall: { name: 'mcp__math__add', args: { a: 2 } } },
    { functionCall: { id: 'x', name: 'odd', args: { _filter: 'x' } } },
    { functionCall: { name: 'failing' } },
    { functionCall: { name: 'mcp.math.add', args: {} } },
  ];
  const { bodies, fetch } = service(
    { candidates: [{ content: { role: 'model', parts } }] },
    { candidates: [] },
  );
  const ai = new GoogleGenAI({ apiKey: 'none' });
  const before = globalThis.fetch;
  globalThis.fetch = fetch; // The client accepts no other type of fetch.
  try {
    const tools = toGeminiTools(registry);
    const first = await ai.models.generateContent({
      model: 'gemini-x',
      contents: 'go',
      config: { tools },
    });
    const answers = tools.toMessages(await run(tools.toCalls(first)));
    await ai.models.generateContent({
      model: 'gemini-x',
      contents: [
        { role: 'user', parts: [{ text: 'go' }] },
        first.candidates![0]!.content!,
        ...answers,
      ],
      config: { tools },
    });
  } finally {
    globalThis.fetch = before;
  }
  expect(bodies[0]!['tools']).toEqual([
    {
      functionDeclarations: [
        {
          name: 'mcp__math__add',
          description: 'Adds',
          parametersJsonSchema: {
            type: 'object',
            properties: { a: { type: 'number' }, b: { type: 'number' } },
            required: ['a'],
          },
        },
        {
          name: 'odd',
          description: 'Has an odd parameter',
          parametersJsonSchema: {
            type: 'object',
            properties: { _filter: { type: 'string' } },
            required: ['_filter'],
          },
        },
        { name: 'failing', description: 'Fails' },
      ],
    },
  ]);
  expect((bodies[1]!['contents'] as { parts: object[] }[])[2]).toEqual({
    role: 'user',
    parts: [
      { functionResponse: { name: 'mcp__math__add', response: { output: { sum: 3 } } } },
      { functionResponse: { id: 'x', name: 'odd', response: { output: 'kept x' } } },
      {
        functionResponse: {
          name: 'failing',
          response: { error: expect.stringContaining('no luck') },
        },
      },
      {
        functionResponse: {
          name: 'mcp.math.add',
          response: { error: expect.stringContaining('There is no tool named') },
        },
      },
    ],
  });
});

it("exports can be assigned to the types of the services' packages", () => {
  expectTypeOf(toOpenAITools([])).toExtend<OpenAI.ChatCompletionTool[]>();
  expectTypeOf(toOpenAITools([], { api: 'responses' })).toExtend<OpenAI.Responses.Tool[]>();
  expectTypeOf(toAnthropicTools([])).toExtend<Anthropic.ToolUnion[]>();
  expectTypeOf(toGeminiTools([])).toExtend<ToolListUnion>();
  expectTypeOf(toMcpTools([])).toExtend<Tool[]>();
});
