import { Agent, Runner, setTracingDisabled } from '@openai/agents';
import { generateText, stepCountIs, type ModelMessage } from 'ai';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chat, scriptedModel, Session } from '../../src/chat.js';
import {
  AccessMode,
  defineTool,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolContext,
  type ToolEvent,
} from '../../src/index.js';
import { toLangChainTools } from '../../src/interop/frameworks/langchain-tools.js';
import { toAISDKTools } from '../../src/interop/frameworks/to-ai-sdk-tools.js';
import { agentsModel, aiModel } from './framework-models.js';
import { toOpenAIAgentsTools } from '../../src/interop/frameworks/to-openai-agents-tools.js';

/** A class with a private field and methods, which a copy would break. */
class Database {
  readonly #rows = new Map([['1', 'Ada']]);
  find(id: string): string | undefined {
    return this.#rows.get(id);
  }
}

interface App {
  readonly db: Database;
  readonly user: string;
}

const appOf = (user: string): App => ({ db: new Database(), user });

function setUp() {
  const seen: ToolContext<App>[] = [];
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      name: 'find',
      aliases: ['look_up'],
      description: 'Finds a name',
      inputSchema: z.object({ id: z.string() }),
      accessMode: AccessMode.READONLY,
      execute: ({ id }, context: ToolContext<App>) => {
        seen.push(context);
        context.reportProgress?.('half');
        return context.context.db.find(id);
      },
    }),
    defineTool({
      name: 'rename',
      description: 'Renames',
      inputSchema: z.looseObject({ id: z.string() }),
      accessMode: AccessMode.WRITE,
      execute: (_, context: ToolContext<App>) => {
        seen.push(context);
        return 'renamed';
      },
    }),
  ]);
  const executor = new ToolExecutor({ registry });
  const events: ToolEvent[] = [];
  executor.on((event) => events.push(event));
  return { seen, registry, executor, events };
}

const ASK = [{ role: 'user', content: 'please' }] satisfies ModelMessage[];
const scripted = (name: string, input: object) =>
  scriptedModel([{ calls: [{ id: 'c1', name, input: input as Record<string, string> }] }, 'done']);

type World = ReturnType<typeof setUp>;
type Way = {
  readonly way: string;
  readonly call: (world: World, name: string, input: object, app: App) => Promise<unknown>;
};

/** Every way for a program to pass its own context to a call. The options define the caller. */
const caller = { principal: 'ada', conversationId: 'k1' } as const;
const agents = async (world: World, name: string, input: object, options: object, run: object) =>
  new Runner({ tracingDisabled: true }).run(
    new Agent({
      name: 'a',
      model: agentsModel([['c1', name, input]], 'done'),
      tools: toOpenAIAgentsTools(world.registry, { executor: world.executor, ...options }),
    }),
    'please',
    run,
  );
const langChain = async (
  world: World,
  name: string,
  args: object,
  options: object,
  config: object,
): Promise<unknown> =>
  (await toLangChainTools(world.registry, { executor: world.executor, ...options }))
    .find((each) => each.name === name)!
    .invoke({ type: 'tool_call', id: 'c1', name, args }, config);
const WAYS: readonly Way[] = [
  {
    way: 'execute',
    call: ({ executor }, name, input, context) =>
      executor.execute({ id: 'c1', name, input }, { ...caller, context }),
  },
  {
    way: 'chat',
    call: ({ executor }, name, input, context) =>
      chat({ model: scripted(name, input), executor, ...caller, context, prompt: 'please' }),
  },
  {
    way: 'a session',
    call: ({ executor }, name, input, context) =>
      Session.create({ id: 'k1' }).start(
        { model: scripted(name, input), executor, principal: 'ada', context },
        'please',
      ),
  },
  {
    way: 'the AI SDK with the context option',
    call: ({ executor, registry }, name, input, context) =>
      generateText({
        model: aiModel([['c1', name, input]], 'done'),
        tools: toAISDKTools(registry, { executor, ...caller, context }),
        messages: ASK,
        stopWhen: stepCountIs(3),
      }),
  },
  {
    way: 'the AI SDK 6 with experimental_context',
    call: ({ executor, registry }, name, input, context) =>
      generateText({
        model: aiModel([['c1', name, input]], 'done'),
        tools: toAISDKTools(registry, { executor, ...caller, context: appOf('another') }),
        messages: ASK,
        stopWhen: stepCountIs(3),
        experimental_context: context,
      }),
  },
  {
    way: 'the AI SDK 7 with context',
    call: async ({ executor, registry }, name, input, context) =>
      Promise.resolve(
        toAISDKTools(registry, { executor, ...caller, context: appOf('another') })[name]!.execute!(
          input,
          { toolCallId: 'c1', messages: ASK, context },
        ),
      ).catch(() => undefined),
  },
  {
    way: 'LangChain with the context option',
    call: (world, name, input, context) =>
      langChain(world, name, input, { ...caller, context }, {}),
  },
  {
    way: "LangChain with the run's context",
    call: (world, name, input, context) =>
      langChain(world, name, input, { ...caller, context: appOf('another') }, { context }),
  },
  {
    way: 'LangChain with configurable values',
    call: (world, name, input, context) =>
      langChain(world, name, input, caller, {
        configurable: { ...context, thread_id: 't1', __pregel_task_id: 'x' },
      }),
  },
  {
    way: 'OpenAI Agents with the context option',
    call: (world, name, input, context) => agents(world, name, input, { ...caller, context }, {}),
  },
  {
    way: "OpenAI Agents with the run's context",
    call: (world, name, input, context) =>
      agents(world, name, input, { ...caller, context: appOf('another') }, { context }),
  },
];

beforeAll(() => setTracingDisabled(true));

describe.each(WAYS)('a tool called through $way', ({ call }) => {
  it("the tool receives the program's own objects and the call's id, principal, and conversation", async () => {
    const world = setUp();
    const app = appOf('ada');
    await call(world, 'find', { id: '1' }, app);
    expect(world.seen).toHaveLength(1);
    const [{ context, signal, reportProgress, ...facts }] = world.seen as [ToolContext<App>];
    expect(context.db).toBe(app.db);
    expect(context.user).toBe('ada');
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(reportProgress).toBeTypeOf('function');
    expect(facts).toMatchObject({
      toolName: 'find',
      callId: 'c1',
      principal: 'ada',
      conversationId: 'k1',
    });
    expect(world.events.find(({ type }) => type === 'call-settled')).toMatchObject({
      status: 'ok',
    });
  });

  it("the model can't set the principal, conversation, or context", async () => {
    const world = setUp();
    const app = appOf('ada');
    // Every way leaves the write denied or pending, and the events contain the caller.
    await call(
      world,
      'rename',
      {
        id: '1',
        principal: 'eve',
        conversationId: 'k2',
        context: { user: 'eve' },
        experimental_context: { user: 'eve' },
      },
      app,
    );
    const about = world.events.flatMap((event) => (event.type === 'decision' ? [event] : []));
    for (const event of about)
      expect(event).toMatchObject({ principal: 'ada', conversationId: 'k1' });
    expect(world.seen).toEqual([]);
  });
});

it('the caller function sets the principal of each call', async () => {
  const world = setUp();
  const asked: unknown[] = [];
  const options = {
    conversationId: 'k1',
    caller: (context: App) => (asked.push(context.user), { principal: context.user }),
  };
  await agents(world, 'find', { id: '1' }, options, { context: appOf('ada') });
  await generateText({
    model: aiModel([['c1', 'find', { id: '1' }]], 'done'),
    tools: toAISDKTools(world.registry, { executor: world.executor, ...(options as object) }),
    messages: ASK,
    stopWhen: stepCountIs(3),
    experimental_context: appOf('bob'),
  });
  await langChain(
    world,
    'find',
    { id: '1' },
    { ...options, caller: async (context: App) => options.caller(context) },
    { context: appOf('eve') },
  );
  expect(world.seen.map(({ principal, conversationId }) => [principal, conversationId])).toEqual([
    ['ada', 'k1'],
    ['bob', 'k1'],
    ['eve', 'k1'],
  ]);
  expect(new Set(asked)).toEqual(new Set(['ada', 'bob', 'eve']));
});
