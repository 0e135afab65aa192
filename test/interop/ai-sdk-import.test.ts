import { dynamicTool, jsonSchema, tool, zodSchema, type ToolSet } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import {
  AccessMode,
  SideEffect,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolDefinition,
  type ToolEvent,
} from '../../src/index.js';
import { fromAISDKTools } from '../../src/interop/frameworks/from-ai-sdk-tools.js';
import { entryOf } from '../../src/tool/tool-definition.js';

const open = { accessMode: AccessMode.READONLY, sideEffects: SideEffect.NONE } as const;

function executorOf(definitions: readonly ToolDefinition[]): ToolExecutor {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(definitions);
  return new ToolExecutor({ registry });
}

const only = (tools: ToolSet, options = {}) => entryOf(fromAISDKTools(tools, options)[0]!);

it('imported tools keep their name, description, schemas, and function', async () => {
  const tools = {
    length: tool({
      description: 'How long',
      inputSchema: z.object({ text: z.string().trim() }),
      outputSchema: z.number(),
      execute: ({ text }) => text.length,
    }),
  };
  const [definition] = fromAISDKTools(tools, { overrides: { length: open } });
  expect(entryOf(definition!)).toMatchObject({
    name: 'length',
    description: 'How long',
    accessMode: 'readonly',
    inputJsonSchema: { properties: { text: { type: 'string' } } },
  });
  expect(
    await executorOf([definition!]).execute({
      id: '1',
      name: 'length',
      input: { text: ' abc ' },
    }),
  ).toMatchObject({ status: 'ok', value: 3 });
});

it("imported tools that declare nothing aren't assumed to be harmless", () => {
  expect(only({ t: tool({ inputSchema: z.object({}), execute: () => 1 }) })).toMatchObject({
    accessMode: 'mixed',
    dangerLevel: 'high',
    allowParallel: false,
    description: 'The tool t',
  });
});

it.each([
  ['true', true, true],
  ['a function', () => false, true],
  ['missing', undefined, false],
])('needsApproval becomes requiresConsent (%s)', (_, needsApproval, expected) => {
  const set = {
    t: {
      inputSchema: z.object({}),
      execute: () => 1,
      ...(needsApproval !== undefined && { needsApproval }),
    },
  } as ToolSet;
  expect(only(set).requiresConsent).toBe(expected);
});

it("MCP annotations can make imported tools stricter, but less strict only if they're trusted", () => {
  const set = (readOnlyHint: boolean): ToolSet => ({
    t: {
      inputSchema: z.object({}),
      execute: () => 1,
      metadata: { annotations: { readOnlyHint } },
    },
  });
  expect(only(set(true)).accessMode).toBe('mixed');
  expect(only(set(true), { trusted: true }).accessMode).toBe('readonly');
  expect(only(set(false), { trusted: true }).accessMode).not.toBe('readonly');
});

it("a streaming tool's last value becomes its result, and earlier values become progress", async () => {
  const tools = {
    count: tool({
      inputSchema: z.object({}),
      execute: async function* () {
        yield 1;
        yield 2;
        yield 3;
      },
    }),
  };
  const executor = executorOf(fromAISDKTools(tools, { overrides: { count: open } }));
  const events: ToolEvent[] = [];
  executor.on((event) => events.push(event));
  expect(await executor.execute({ id: '1', name: 'count' })).toMatchObject({
    status: 'ok',
    value: 3,
  });
  expect(
    events.flatMap((event) => (event.type === 'call-progress' ? [event.progress] : [])),
  ).toEqual([1, 2]);
});

it('imported tools receive the call id and the signal', async () => {
  const seen: unknown[] = [];
  const tools = {
    t: dynamicTool({
      inputSchema: z.object({}),
      execute: (_, { toolCallId, messages, abortSignal }) =>
        void seen.push(toolCallId, messages, abortSignal instanceof AbortSignal),
    }),
  };
  await executorOf(fromAISDKTools(tools, { overrides: { t: open } })).execute({
    id: 'c7',
    name: 't',
  });
  expect(seen).toEqual(['c7', [], true]);
});

it.each([
  [
    'a JSON Schema without its own validation',
    jsonSchema({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }),
    'n: Expected',
  ],
  [
    'a JSON Schema with its own validation',
    jsonSchema(
      { type: 'object' },
      { validate: () => ({ success: false, error: new Error('secret hunter2') }) },
    ),
    'that the schema accepts',
  ],
  [
    'zodSchema',
    zodSchema(z.object({ n: z.number() })),
    'n: Expected a value that the schema accepts, got nothing. Invalid input: expected number',
  ],
])('imported tools validate their input (%s)', async (_, inputSchema, message) => {
  const tools = { t: { inputSchema, execute: () => 'ran' } } as unknown as ToolSet;
  const outcome = await executorOf(fromAISDKTools(tools, { overrides: { t: open } })).execute({
    id: '1',
    name: 't',
    input: {},
  });
  expect(outcome).toMatchObject({
    status: 'error',
    code: 'INVALID_INPUT',
    message: expect.stringContaining(message),
  });
  expect(JSON.stringify(outcome)).not.toContain('hunter2');
});

it('an imported tool without a function becomes a manual tool', () => {
  expect(only({ t: tool({ inputSchema: z.object({}), outputSchema: z.string() }) })).toMatchObject({
    manual: true,
  });
});

it("all tools that can't be imported are reported in one error", () => {
  const set = {
    search: { type: 'provider', id: 'a.b', args: {}, inputSchema: z.object({}) },
    'not a name': { inputSchema: z.object({}), execute: () => 1 },
    promised: {
      inputSchema: jsonSchema(Promise.resolve({ type: 'object' as const })),
      execute: () => 1,
    },
    old: { inputSchema: z3.object({}), execute: () => 1 },
  } as unknown as ToolSet;
  expect(() => fromAISDKTools(set)).toThrow(
    /"search"[^]*its provider runs[^]*"not a name"[^]*"promised"[^]*Await it[^]*"old"[^]*zodSchema\(\)/,
  );
});
