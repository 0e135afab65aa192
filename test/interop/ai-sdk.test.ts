import { generateText, stepCountIs, streamText, type ModelMessage } from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV3 } from 'ai/test';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { AccessMode, defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { toAISDKTools } from '../../src/interop/frameworks/to-ai-sdk-tools.js';
import { MemoryStateStore, type StateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { aiModel, readByAIModel, USAGE } from './framework-models.js';
import { RestartingStore } from '../execution/fixtures/restarting-store.js';

function registryOf(written: string[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      name: 'math.add',
      description: 'Adds',
      inputSchema: z.object({ a: z.number(), b: z.coerce.number().default(1) }),
      outputSchema: z.number(),
      accessMode: AccessMode.READONLY,
      execute: ({ a, b }) => a + b,
    }),
    defineTool({
      name: 'write',
      description: 'Writes',
      inputSchema: z.object({ text: z.string().trim() }),
      accessMode: AccessMode.WRITE,
      execute: ({ text }) => (written.push(text), { length: text.length }),
    }),
    defineTool({
      name: 'person',
      description: 'A user answers',
      inputSchema: z.object({}),
      accessMode: AccessMode.WRITE,
      manual: true,
    }),
  ]);
  return registry;
}

/** All processes of a program share this store. */
const approvalKey = new Uint8Array(32).fill(3);

function setUp(options: Partial<NonNullable<Parameters<typeof toAISDKTools>[1]>> = {}) {
  const written: string[] = [];
  const registry = registryOf(written);
  const executor = new ToolExecutor({ registry });
  const tools = toAISDKTools(registry, { executor, ...options });
  return { written, registry, executor, tools };
}

const ask = { role: 'user', content: 'please' } satisfies ModelMessage;
const answered = (messages: readonly ModelMessage[], approved: boolean): ModelMessage[] => {
  const requests = messages
    .flatMap((message) =>
      message.role === 'assistant' && typeof message.content !== 'string' ? message.content : [],
    )
    .filter((part) => part.type === 'tool-approval-request');
  return [
    ask,
    ...messages,
    {
      role: 'tool',
      content: requests.map(({ approvalId }) => ({
        type: 'tool-approval-response' as const,
        approvalId,
        approved,
      })),
    },
  ];
};

it('tools run in generateText under names that models accept', async () => {
  const { tools } = setUp();
  const model = aiModel([['1', 'math__add', { a: 2, b: '3' }]], 'five');
  const { text, steps } = await generateText({
    model,
    tools,
    messages: [ask],
    stopWhen: stepCountIs(3),
  });
  expect(text).toBe('five');
  expect(readByAIModel(model)).toEqual([{ type: 'json', value: 5 }]);
  expect(steps[0]!.toolCalls[0]).toMatchObject({
    toolMetadata: {
      tooldex: { name: 'math.add', accessMode: 'readonly', dangerLevel: 'low' },
      annotations: { readOnlyHint: true, destructiveHint: false },
    },
  });
  const offered = model.doGenerateCalls[0]!.tools!.map((tool) => tool.name);
  expect(offered).toEqual(['math__add', 'write', 'person']);
  expect(model.doGenerateCalls[0]!.tools![0]).toMatchObject({
    description: 'Adds',
    inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  });
});

it("a call that needs approval waits for the approval, and then runs with the model's arguments", async () => {
  const { tools, written } = setUp();
  const model = aiModel([['w1', 'write', { text: '  hello ' }]], 'written');
  const first = await generateText({ model, tools, messages: [ask] });
  expect(first.content.map(({ type }) => type)).toContain('tool-approval-request');
  expect(written).toEqual([]);
  const second = await generateText({
    model,
    tools,
    messages: answered(first.response.messages, true),
  });
  expect(second.text).toBe('written');
  expect(written).toEqual(['hello']);
  expect(readByAIModel(model)).toEqual([{ type: 'json', value: { length: 5 } }]);
});

it("a denied call doesn't run", async () => {
  const { tools, written } = setUp();
  const model = aiModel([['w1', 'write', { text: 'hello' }]], 'well then');
  const first = await generateText({ model, tools, messages: [ask] });
  await generateText({ model, tools, messages: answered(first.response.messages, false) });
  expect(written).toEqual([]);
  expect(readByAIModel(model)).toMatchObject([{ type: 'execution-denied' }]);
});

it('an approved call runs once, even if its messages are sent again in another process that shares the store', async () => {
  const store = new MemoryStateStore();
  const { registry, written } = setUp();
  const set = () =>
    toAISDKTools(registry, { executor: new ToolExecutor({ registry, store, approvalKey }) });
  const model = aiModel([['w1', 'write', { text: 'hello' }]], '1', '2');
  const first = await generateText({ model, tools: set(), messages: [ask] });
  const messages = answered(first.response.messages, true);
  await generateText({ model, tools: set(), messages });
  await generateText({ model, tools: set(), messages });
  expect(written).toEqual(['hello']);
  expect(readByAIModel(model)).toMatchObject([
    { type: 'error-text', value: expect.stringContaining('has been used') },
  ]);
});

it("an approved call doesn't run after the store has restarted", async () => {
  const store = new RestartingStore(new ManualClock());
  const { registry, written } = setUp();
  const set = (own: StateStore = store) =>
    toAISDKTools(registry, { executor: new ToolExecutor({ registry, store: own, approvalKey }) });
  const model = aiModel([['w1', 'write', { text: 'hello' }]], '1', '2', '3');
  const first = await generateText({ model, tools: set(), messages: [ask] });
  const messages = answered(first.response.messages, true);
  store.save();
  await generateText({ model, tools: set(), messages });
  await store.restart('saved');
  await generateText({ model, tools: set(), messages });
  expect(readByAIModel(model)).toMatchObject([
    { value: expect.stringContaining('its store restarted') },
  ]);
  await generateText({ model, tools: set(new MemoryStateStore()), messages });
  expect(readByAIModel(model)).toMatchObject([
    { value: expect.stringContaining("executor doesn't know") },
  ]);
  expect(written).toEqual(['hello']);
});

it.each([
  ['no approval', (messages: ModelMessage[]) => messages.slice(0, 1)],
  ['another message after the approval', (messages: ModelMessage[]) => [...messages, ask]],
  [
    'arguments that differ from the approved ones',
    (messages: ModelMessage[]) =>
      JSON.parse(JSON.stringify(messages).replaceAll('hello', 'goodbye')) as ModelMessage[],
  ],
  [
    'both an approval and a denial',
    (messages: ModelMessage[]) => [
      ...messages.slice(0, -1),
      {
        role: 'tool',
        content: [
          ...(messages.at(-1)!.content as []),
          { ...(messages.at(-1)!.content as { approvalId: string }[])[0]!, approved: false },
        ],
      } as ModelMessage,
    ],
  ],
  [
    'an approval for another call',
    (messages: ModelMessage[]) =>
      JSON.parse(JSON.stringify(messages).replaceAll('"w1"', '"w2"')) as ModelMessage[],
  ],
])('execute refuses a call with %s', async (_, change) => {
  const { tools, written } = setUp();
  const model = aiModel([['w1', 'write', { text: 'hello' }]]);
  const first = await generateText({ model, tools, messages: [ask] });
  const messages = change(answered(first.response.messages, true));
  await expect(
    Promise.resolve(tools['write']!.execute!({ text: 'hello' }, { toolCallId: 'w1', messages })),
  ).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
  expect(written).toEqual([]);
});

it.each([
  ['the other call comes first', ['goodbye', 'hello']],
  ['the other call comes last', ['hello', 'goodbye']],
])(
  "a call doesn't run if it shares its id with a call that has another input (%s)",
  async (_, texts) => {
    const { tools, written } = setUp();
    const model = aiModel([...texts.map((text) => ['w1', 'write', { text }] as const)], 'oh');
    const first = await generateText({ model, tools, messages: [ask] });
    await generateText({ model, tools, messages: answered(first.response.messages, true) });
    expect(written).toEqual([]);
    expect(readByAIModel(model)).toContainEqual({
      type: 'error-text',
      value: expect.stringContaining('needs approval'),
    });
  },
);

it("an approved call doesn't run if its tool has been replaced", async () => {
  const { tools, written, registry, executor } = setUp();
  const model = aiModel([['w1', 'write', { text: 'hello' }]], 'oh');
  const first = await generateText({ model, tools, messages: [ask] });
  registry.register(
    defineTool({
      name: 'write',
      description: 'Writes elsewhere',
      inputSchema: z.object({ text: z.string() }),
      accessMode: AccessMode.WRITE,
      execute: ({ text }) => written.push(text),
    }),
    { replace: true },
  );
  const messages = answered(first.response.messages, true);
  await generateText({ model, tools, messages });
  expect(written).toEqual([]);
  expect(readByAIModel(model)).toEqual([
    {
      type: 'error-text',
      value: expect.stringContaining('this call needs approval'),
    },
  ]);
  expect(
    await executor.execute({ id: 'w1', name: 'write', input: { text: 'hello' } }),
  ).toMatchObject({ status: 'approval_required' });
});

it('tools without an executor have neither execute nor needsApproval', async () => {
  const { registry } = setUp();
  expect(
    Object.values(toAISDKTools(registry)).some(
      (tool) => 'execute' in tool || 'needsApproval' in tool,
    ),
  ).toBe(false);
});

it("with progress: true, a tool's progress is sent as preliminary results", async () => {
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'slow',
      description: 'Slow',
      inputSchema: z.object({}),
      accessMode: AccessMode.READONLY,
      execute: (_, { reportProgress }) => (
        reportProgress?.(1),
        reportProgress?.({ done: 2 }),
        'ready'
      ),
    }),
  );
  const tools = toAISDKTools(registry, {
    executor: new ToolExecutor({ registry }),
    progress: true,
  });
  const parts = [
    { type: 'tool-call' as const, toolCallId: '1', toolName: 'slow', input: '{}' },
    {
      type: 'finish' as const,
      finishReason: { unified: 'tool-calls' as const, raw: undefined },
      usage: USAGE,
    },
  ];
  const model = new MockLanguageModelV3({
    doStream: { stream: convertArrayToReadableStream(parts) },
  });
  const results: unknown[] = [];
  for await (const part of streamText({ model, tools, messages: [ask] }).fullStream)
    if (part.type === 'tool-result') results.push([part.preliminary ?? false, part.output]);
  expect(results).toEqual([
    [true, { progress: 1 }],
    [true, { progress: { done: 2 } }],
    [true, 'ready'],
    [false, 'ready'],
  ]);
});
