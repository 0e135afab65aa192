/*
 * Runs chats and a session on models of version 7 of the AI SDK, which needs Node 22. It prints the
 * SDK's version, and fails if something differs from version 6. The test that starts it bundles it
 * without `ai`, which is installed next to this file.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as sdk from 'ai';
import * as sdkTest from 'ai/test';
import { z } from 'zod';
import {
  AccessMode,
  DangerLevel,
  defineTool,
  ExecutionCategory,
  halt,
  selectTools,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolContext,
} from '../../src/index.js';
import { openToolNames, stopOnHalt, toAISDKTools } from '../../src/interop.js';
import { chat, Session, streamChat, type ChatResult, type LanguageModel } from '../../src/chat.js';

type Mock = new (answers: {
  doGenerate: readonly object[];
  doStream: readonly object[];
}) => LanguageModel & {
  readonly doGenerateCalls: readonly {
    readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
    readonly tools: readonly { readonly name: string }[];
  }[];
};
const mocks = sdkTest as unknown as Readonly<Record<string, Mock | undefined>>;

const usage = { inputTokens: { total: 2, noCache: 2 }, outputTokens: { total: 1, text: 1 } };
const reasonOf = (content: readonly { type: string }[]) => ({
  unified: content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop',
  raw: undefined,
});
const text = (value: string) => ({ type: 'text', text: value });
const call = (toolCallId: string, toolName: string, input: string = '{}', rest: object = {}) => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
  ...rest,
});
type Part = { readonly type: string; readonly text?: string };

function streamOf(content: readonly Part[]): object {
  const parts = content.flatMap((part, at): object[] =>
    part.type === 'text'
      ? [
          { type: 'text-start', id: `${at}` },
          { type: 'text-delta', id: `${at}`, delta: part.text },
          { type: 'text-end', id: `${at}` },
        ]
      : [part],
  );
  return {
    stream: ReadableStream.from([
      { type: 'stream-start', warnings: [] },
      ...parts,
      { type: 'finish', finishReason: reasonOf(content), usage },
    ]),
  };
}

function modelOf(version: string, ...answers: readonly (readonly Part[])[]) {
  const MockModel = mocks[`MockLanguageModel${version}`];
  assert.ok(MockModel, `the SDK has a mock of ${version}`);
  return new MockModel({
    doGenerate: answers.map((content) => ({
      content,
      finishReason: reasonOf(content),
      usage,
      warnings: [],
    })),
    doStream: answers.map(streamOf),
  });
}

function setUp() {
  const paid: unknown[] = [];
  const reads = {
    accessMode: AccessMode.READONLY,
    dangerLevel: DangerLevel.SAFE,
    executionCategory: ExecutionCategory.COMPUTE,
  } as const;
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      ...reads,
      name: 'math.add',
      description: 'Adds',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => a + b,
    }),
    defineTool({
      ...reads,
      name: 'echo',
      description: 'Echoes',
      inputSchema: z.looseObject({}),
      execute: (input) => input,
    }),
    defineTool({
      name: 'pay',
      description: 'Pays',
      inputSchema: z.object({ cents: z.number() }),
      accessMode: AccessMode.WRITE,
      dangerLevel: DangerLevel.HIGH,
      executionCategory: ExecutionCategory.WRITE,
      execute: (input) => (paid.push(input), 'paid'),
    }),
    defineTool({
      name: 'person',
      description: 'A person answers',
      inputSchema: z.object({}),
      manual: true,
    }),
  ]);
  return { paid, executor: new ToolExecutor({ registry }) };
}

const outputsOf = ({ messages }: Pick<ChatResult, 'messages'>) =>
  Object.fromEntries(
    messages.flatMap((message) =>
      message.role === 'tool'
        ? message.content.map(({ toolCallId, output }) => [toolCallId, output] as const)
        : [],
    ),
  );

async function mixedChat(version: string) {
  const { executor } = setUp();
  const signed = call('a', 'math__add', '{"a":1,"b":2}', {
    providerMetadata: { google: { thoughtSignature: 's' } },
  });
  const answers = [
    [
      text('Let me see'),
      signed,
      call('x', 'nobody'),
      call('t', 'echo', '{"cut'),
      call('e', 'echo', '{"n":1}'),
      call('e', 'echo', '{"n":2}'),
    ],
    [text('done')],
  ] as const;
  const model = modelOf(version, ...answers);
  const result = await chat({
    model,
    executor,
    system: 'Be brief',
    messages: [{ role: 'system', content: 'And kind' }],
    prompt: 'please',
  });
  assert.equal(result.haltedReason, 'completed');
  assert.equal(result.text, 'done');
  assert.deepEqual(result.usage, { inputTokens: 4, outputTokens: 2, totalTokens: 6 });
  const { x, t, ...outputs } = outputsOf(result) as Record<
    string,
    { type: string; value: unknown }
  >;
  assert.deepEqual(outputs, {
    a: { type: 'json', value: 3 },
    e: { type: 'json', value: { n: 1 } },
    'e-2': { type: 'json', value: { n: 2 } },
  });
  assert.deepEqual([x!.type, t!.type], ['error-text', 'error-text']);
  const [first, second] = model.doGenerateCalls;
  assert.deepEqual(first!.prompt[0]!.content, 'Be brief\n\nAnd kind');
  assert.deepEqual(
    first!.tools.map(({ name }) => name),
    ['math__add', 'echo', 'pay', 'person'],
  );
  assert.match(JSON.stringify(second!.prompt), /thoughtSignature/);
  assert.deepEqual(
    second!.prompt.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool'],
  );

  let streamed: ChatResult | undefined;
  let heard = '';
  for await (const event of streamChat({
    model: modelOf(version, ...answers),
    executor: setUp().executor,
    system: 'Be brief',
    messages: [{ role: 'system', content: 'And kind' }],
    prompt: 'please',
  })) {
    if (event.type === 'text-delta') heard += event.text;
    if (event.type === 'chat-completed') streamed = event.result;
  }
  assert.equal(heard, 'Let me seedone');
  assert.deepEqual(streamed, result);
}

async function session(version: string) {
  const { paid, executor } = setUp();
  const engine = {
    executor,
    model: modelOf(
      version,
      [call('p', 'pay', '{"cents":5}'), call('m', 'person'), call('e', 'echo', '{"n":1}')],
      [text('thanks')],
    ),
  };
  let { session } = await Session.create({ id: 's1', context: {}, messages: [] }).start(
    engine,
    'pay',
  );
  const store = () => Session.fromJSON(JSON.parse(JSON.stringify(session)));
  assert.equal(session.status, 'awaiting_tools');
  assert.deepEqual(
    session.pending.map(({ callId, kind }) => [callId, kind]),
    [
      ['p', 'approval'],
      ['m', 'manual'],
    ],
  );
  session = store().submitToolResult('m', 'by hand').session;
  assert.equal(session.status, 'awaiting_approval');
  session = store().approve('p').session;
  assert.deepEqual(paid, []);
  const { session: after, result } = await store().continue(engine);
  assert.deepEqual([after.status, result.text, paid], ['completed', 'thanks', [{ cents: 5 }]]);
  assert.deepEqual(Object.keys(outputsOf(after)), ['p', 'm', 'e']);
}

async function failures(version: string) {
  const broken = modelOf(version);
  Object.assign(broken, {
    doGenerate: () => Promise.reject(new Error('overloaded')),
    doStream: () =>
      Promise.resolve({
        stream: ReadableStream.from([
          { type: 'stream-start', warnings: [] },
          { type: 'error', error: new Error('connection lost') },
        ]),
      }),
  });
  const failed = await chat({ model: broken, prompt: 'x', modelOptions: { maxRetries: 0 } });
  assert.deepEqual([failed.haltedReason, failed.metadata.error?.message], ['error', 'overloaded']);
  let last: ChatResult | undefined;
  for await (const event of streamChat({
    model: broken,
    prompt: 'x',
    modelOptions: { maxRetries: 0 },
  }))
    if (event.type === 'chat-completed') last = event.result;
  assert.deepEqual(
    [last?.haltedReason, last?.metadata.error?.message],
    ['error', 'connection lost'],
  );
  const controller = new AbortController();
  Object.assign(broken, { doGenerate: () => (controller.abort(), new Promise(() => undefined)) });
  assert.equal(
    (await chat({ model: broken, prompt: 'x', signal: controller.signal })).haltedReason,
    'cancelled',
  );
}

/**
 * Runs an executor's tool set in the SDK's own loop. Each tool gets its entry in `toolsContext`, or else
 * the context from the options.
 */
async function toolsContext(version: string) {
  const got: unknown[] = [];
  const registry = new ToolMetadataRegistry();
  const named = (name: string) =>
    defineTool({
      name,
      description: `Finds as ${name}`,
      inputSchema: z.object({ id: z.string() }),
      accessMode: AccessMode.READONLY,
      dangerLevel: DangerLevel.SAFE,
      executionCategory: ExecutionCategory.READ_ONLY,
      execute: ({ id }, { context, principal }: ToolContext<{ user: string }>) => (
        got.push([name, id, context.user, principal]),
        id
      ),
    });
  registry.registerAll([named('orders.find'), named('users')]);
  const tools = toAISDKTools(registry, {
    executor: new ToolExecutor({ registry }),
    context: { user: 'nobody' },
    caller: ({ user }) => ({ principal: user }),
  });
  const model = modelOf(
    version,
    [call('a', 'orders__find', '{"id":"1"}'), call('b', 'users', '{"id":"2"}')],
    [text('done')],
  );
  const generate = sdk.generateText as unknown as (
    request: object,
  ) => Promise<{ readonly text: string }>;
  const { text: answer } = await generate({
    model,
    tools,
    prompt: 'please',
    stopWhen: sdk.stepCountIs(3),
    toolsContext: { orders__find: { user: 'ada' } },
  });
  assert.equal(answer, 'done');
  assert.deepEqual(got.sort(), [
    ['orders.find', '1', 'ada', 'ada'],
    ['users', '2', 'nobody', 'nobody'],
  ]);
}

/**
 * Runs a loop with a read and two writes that a user approves, with another selection of tools in
 * each request. Sending the messages again writes nothing, even with a new tool set.
 */
async function approvedWrites(version: string): Promise<void> {
  const done: string[] = [];
  const registry = new ToolMetadataRegistry();
  const named = (name: string, accessMode: AccessMode) =>
    defineTool({
      name,
      description: name,
      inputSchema: z.object({ id: z.string() }),
      accessMode,
      execute: ({ id }) => void done.push(`${name} ${id}`),
    });
  registry.registerAll([named('find', AccessMode.READONLY), named('refund', AccessMode.WRITE)]);
  const executor = new ToolExecutor({ registry });
  const set = (text: string, messages: readonly object[]) =>
    toAISDKTools(
      selectTools(registry, { text, maxTools: 1, include: openToolNames(messages, registry) }),
      { executor },
    );
  const model = modelOf(
    version,
    [call('f', 'find', '{"id":"1"}')],
    [text('found')],
    [call('a', 'refund', '{"id":"1"}'), call('b', 'refund', '{"id":"2"}')],
    [text('done')],
    [text('again')],
  );
  const generate = sdk.generateText as unknown as (request: object) => Promise<{
    readonly text: string;
    readonly content: readonly { readonly type: string; readonly approvalId?: string }[];
    readonly responseMessages: readonly object[];
  }>;
  // This is the name in version 7. The types here are from version 6.
  const { isStepCount } = sdk as unknown as { readonly isStepCount: (count: number) => unknown };
  const ask = (text: string, messages: readonly object[]) =>
    generate({ model, tools: set(text, messages), messages, stopWhen: isStepCount(5) });
  const messages: object[] = [{ role: 'user', content: 'please' }];
  messages.push(...(await ask('find', messages)).responseMessages);
  assert.deepEqual(done, ['find 1']);
  messages.push({ role: 'user', content: 'refund' });
  const first = await ask('refund', messages);
  messages.push(...first.responseMessages);
  const requests = first.content.filter(({ type }) => type === 'tool-approval-request');
  assert.equal(requests.length, 2);
  const content = requests.map(({ approvalId }) => ({
    type: 'tool-approval-response',
    approvalId,
    approved: true,
  }));
  messages.push({ role: 'tool', content });
  assert.deepEqual(openToolNames(messages, registry), ['refund']);
  const second = await ask('find', messages);
  assert.equal(second.text, 'done');
  assert.deepEqual(done.sort(), ['find 1', 'refund 1', 'refund 2']);
  await ask('find', messages);
  assert.deepEqual(done.sort(), ['find 1', 'refund 1', 'refund 2']);
}

/** Runs a tool that halts: the loop ends with its step. */
async function halted(version: string): Promise<void> {
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'bye',
      description: 'Ends the run',
      inputSchema: z.object({}),
      accessMode: AccessMode.READONLY,
      execute: () => halt('done'),
    }),
  );
  const generate = sdk.generateText as unknown as (
    request: object,
  ) => Promise<{ readonly steps: readonly object[] }>;
  const { steps } = await generate({
    model: modelOf(version, [call('b', 'bye')], [text('Anything else?')]),
    tools: toAISDKTools(registry, { executor: new ToolExecutor({ registry }) }),
    prompt: 'bye',
    stopWhen: stopOnHalt(),
  });
  assert.equal(steps.length, 1);
}

const warned: unknown[] = [];
console.warn = (...words: readonly unknown[]) => void warned.push(words);
process.on('warning', (warning) => warned.push(warning.message));
for (const version of ['V4', 'V3']) {
  await approvedWrites(version);
  await halted(version);
  await mixedChat(version);
  await session(version);
  await failures(version);
  await toolsContext(version);
}
assert.deepEqual(warned, []);
const { version } = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('ai/package.json'), 'utf8'),
) as { version: string };
console.log(`ai ${version} node ${process.version}`);
