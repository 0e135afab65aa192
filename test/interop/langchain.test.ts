import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import { ToolMessage } from '@langchain/core/messages';
import {
  DynamicStructuredTool,
  isStructuredTool,
  tool,
  type StructuredToolInterface,
} from '@langchain/core/tools';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import {
  AccessMode,
  defineTool,
  SideEffect,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolDefinition,
  type ToolEvent,
} from '../../src/index.js';
import {
  fromLangChainTools,
  toLangChainTools,
} from '../../src/interop/frameworks/langchain-tools.js';
import { entryOf } from '../../src/tool/tool-definition.js';

const open = { accessMode: AccessMode.READONLY, sideEffects: SideEffect.NONE } as const;

async function setUp(options: Partial<Parameters<typeof toLangChainTools>[1]> = {}) {
  const written: string[] = [];
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      name: 'math.add',
      description: 'Adds',
      inputSchema: z.object({ a: z.number(), b: z.coerce.number().default(1) }),
      ...open,
      execute: ({ a, b }) => a + b,
    }),
    defineTool({
      name: 'write',
      description: 'Writes',
      inputSchema: z.object({ text: z.string() }),
      accessMode: AccessMode.WRITE,
      execute: ({ text }) => void written.push(text),
    }),
    defineTool({
      name: 'slow',
      description: 'Reports',
      inputSchema: z.object({}),
      ...open,
      execute: (_, { reportProgress }) => (reportProgress?.({ done: 1 }), 'ready'),
    }),
  ]);
  const executor = new ToolExecutor({ registry });
  const tools = await toLangChainTools(registry, { executor, ...options });
  const named = (name: string) => tools.find((each) => each.name === name)!;
  const call = async (name: string, args: unknown, config = {}) =>
    (await named(name).invoke({ type: 'tool_call', id: 'c1', name, args }, config)) as ToolMessage;
  return { written, registry, executor, tools, named, call };
}

it('LangChain accepts the exported tools as structured tools', async () => {
  const { tools } = await setUp();
  const structured: StructuredToolInterface[] = tools;
  expect(
    structured.every((each) => isStructuredTool(each) && each instanceof DynamicStructuredTool),
  ).toBe(true);
  expect(convertToOpenAITool(structured[0]!)).toMatchObject({
    type: 'function',
    function: {
      name: 'math__add',
      description: 'Adds',
      parameters: { type: 'object', required: ['a'] },
    },
  });
  expect(() => new FakeStreamingChatModel({}).bindTools(structured)).not.toThrow();
  expect(tools[0]!.metadata).toMatchObject({
    annotations: { readOnlyHint: true },
    tooldex: { name: 'math.add', accessMode: 'readonly' },
  });
});

it('an exported list of definitions keeps its types', async () => {
  const add = defineTool({
    name: 'add',
    description: 'Adds',
    inputSchema: z.object({ a: z.number(), b: z.number().default(1) }),
    accessMode: AccessMode.READONLY,
    execute: ({ a, b }) => ({ sum: a + b, at: new Date(0) }),
  });
  const registry = new ToolMetadataRegistry();
  registry.register(add);
  const [tool] = await toLangChainTools([add], { executor: new ToolExecutor({ registry }) });
  const structured: StructuredToolInterface = tool;
  expect(structured.name).toBe('add');
  const result = await tool.invoke({ a: 2 });
  expectTypeOf(result).toEqualTypeOf<{ sum: number; at: string }>();
  expect(result).toEqual({ sum: 3, at: '1970-01-01T00:00:00.000Z' });
  // @ts-expect-error text isn't a number
  await expect(tool.invoke({ a: '2' })).rejects.toThrow();
});

it('a tool invoked with arguments returns its result, and a tool invoked with a call returns a message', async () => {
  const { named, call } = await setUp();
  expect(await named('math__add').invoke({ a: 2, b: 3 })).toBe(5);
  expect(await call('math__add', { a: 2 })).toMatchObject({
    content: '3',
    artifact: 3,
    status: 'success',
    tool_call_id: 'c1',
    name: 'math__add',
  });
});

it('a call runs only with the approval that the policy requires', async () => {
  const refused = await setUp();
  expect(await refused.call('write', { text: 'a' })).toMatchObject({
    status: 'error',
    content: expect.stringContaining("write hasn't run yet: this call needs approval"),
  });
  expect(refused.written).toEqual([]);
  const asked: unknown[] = [];
  const confirmed = await setUp({
    confirm: ({ toolName, callId, input }) => (asked.push(toolName, callId, input), true),
  });
  expect(await confirmed.call('write', { text: 'a' })).toMatchObject({
    status: 'success',
    content: 'null',
  });
  expect(confirmed.written).toEqual(['a']);
  expect(asked).toEqual(['write', 'c1', { text: 'a' }]);
});

it('progress is reported as tool events', async () => {
  const { call } = await setUp();
  const events: unknown[] = [];
  const handler = BaseCallbackHandler.fromMethods({
    handleToolEvent: (event: unknown) => void events.push(event),
  });
  await call('slow', {}, { callbacks: [handler] });
  expect(events).toEqual([{ done: 1 }]);
});

it("a call stops when the run's signal is aborted", async () => {
  const { call } = await setUp();
  await expect(call('slow', {}, { signal: AbortSignal.abort() })).rejects.toThrow();
});

function executorOf(definitions: readonly ToolDefinition[]): ToolExecutor {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(definitions);
  return new ToolExecutor({ registry });
}

it.each([
  ['zod 4', z.object({ text: z.string() })],
  ['zod 3', z3.object({ text: z3.string() })],
  [
    'JSON Schema',
    { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const,
  ],
])('LangChain tools keep their name, description, schema, and function (%s)', async (_, schema) => {
  const up = tool(({ text }: { text: string }) => text.toUpperCase(), {
    name: 'up',
    description: 'Louder',
    schema: schema as typeof schema & z.ZodObject,
  });
  const [definition] = await fromLangChainTools([up as never], { overrides: { up: open } });
  expect(entryOf(definition!)).toMatchObject({
    name: 'up',
    description: 'Louder',
    inputJsonSchema: {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
    },
  });
  const executor = executorOf([definition!]);
  expect(await executor.execute({ id: '1', name: 'up', input: { text: 'a' } })).toMatchObject({
    status: 'ok',
    value: 'A',
  });
  expect(await executor.execute({ id: '2', name: 'up', input: { text: 1 } })).toMatchObject({
    status: 'error',
    code: 'INVALID_INPUT',
    message: expect.stringContaining('text'),
  });
});

it('events from LangChain tools become progress', async () => {
  const count = new DynamicStructuredTool({
    name: 'count',
    description: 'Counts',
    schema: z.object({}),
    func: async function* () {
      yield 1;
      yield 2;
      return 'done';
    },
  });
  const executor = executorOf(await fromLangChainTools([count], { overrides: { count: open } }));
  const events: ToolEvent[] = [];
  executor.on((event) => events.push(event));
  expect(await executor.execute({ id: '1', name: 'count' })).toMatchObject({
    status: 'ok',
    value: 'done',
  });
  expect(
    events.flatMap((event) => (event.type === 'call-progress' ? [event.progress] : [])),
  ).toEqual([1, 2]);
});

it('direct answers become halts, error messages become failures, and commands are refused', async () => {
  const schema = z.object({});
  const tools = [
    tool(() => 7, { name: 'direct', description: 'Direct', schema, returnDirect: true }),
    tool(() => new ToolMessage({ content: 'broken', status: 'error', tool_call_id: 'x' }), {
      name: 'error',
      description: 'Error',
      schema,
    }),
    tool(() => new ToolMessage({ content: 'fine', tool_call_id: 'x' }), {
      name: 'message',
      description: 'Message',
      schema,
    }),
    tool(() => ({ lc_direct_tool_output: true, goto: 'end' }), {
      name: 'command',
      description: 'Command',
      schema,
    }),
  ];
  const executor = executorOf(
    await fromLangChainTools(tools, {
      overrides: { direct: open, error: open, message: open, command: open },
    }),
  );
  expect(await executor.execute({ id: '1', name: 'direct' })).toMatchObject({
    status: 'halt',
    value: 7,
  });
  expect(await executor.execute({ id: '2', name: 'error' })).toMatchObject({
    status: 'error',
    message: 'broken',
  });
  expect(await executor.execute({ id: '3', name: 'message' })).toMatchObject({
    status: 'ok',
    value: 'fine',
  });
  expect(await executor.execute({ id: '4', name: 'command' })).toMatchObject({
    status: 'error',
    message: expect.stringContaining('LangGraph'),
  });
});
