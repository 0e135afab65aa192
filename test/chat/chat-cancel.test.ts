import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import {
  AccessMode,
  DangerLevel,
  ExecutionCategory,
  fail,
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';
import {
  chat,
  scriptedModel,
  streamChat,
  type ChatEvent,
  type ChatOptions,
  type ModelStep,
  type ScriptedAnswer,
} from '../../src/chat.js';
import { isSendable, outputsOf, toolOf } from './chat-cases.js';

const SCRIPT: readonly ScriptedAnswer[] = [
  {
    text: 'Let me see',
    calls: [
      { id: 'a', name: 'echo', input: { n: 1 } },
      { id: 'b', name: 'fails' },
      { id: 'c', name: 'writes' },
      { id: 'd', name: 'nobody' },
    ],
  },
  {
    calls: [
      { id: 'e', name: 'pays' },
      { id: 'f', name: 'echo', input: { n: 2 } },
    ],
  },
  {
    calls: [
      { id: 'g', name: 'echo', input: { n: 3 } },
      { id: 'h', name: 'charge' },
    ],
  },
];

/**
 * Runs a chat that waits for everything it can wait for, and reports each of these points.
 *
 * @param point Called at each point. The chat waits for its result.
 */
function chatThrough(point: (name: string) => unknown, signal: AbortSignal) {
  const started: string[] = [];
  const work = (name: string, does: () => unknown) => async () => {
    started.push(name);
    await point(`tool ${name}`);
    return does();
  };
  const registry = new ToolMetadataRegistry();
  const writes = {
    accessMode: AccessMode.WRITE,
    dangerLevel: DangerLevel.LOW,
    executionCategory: ExecutionCategory.WRITE,
  };
  registry.registerAll([
    toolOf(
      'echo',
      work('echo', () => 'echo'),
    ),
    toolOf(
      'fails',
      work('fails', () => fail('no luck')),
    ),
    toolOf(
      'writes',
      work('writes', () => 'written'),
      writes,
    ),
    toolOf(
      'pays',
      work('pays', () => 'paid'),
      { ...writes, dangerLevel: DangerLevel.HIGH },
    ),
    toolOf('charge', undefined, { manual: true }),
  ]);
  const own = new SafetyPolicy({ registry });
  const policy = {
    decide: async (...args: Parameters<typeof own.decide>) => (
      await point('policy'),
      own.decide(...args)
    ),
  };
  const scripted = scriptedModel(SCRIPT);
  const model: ModelStep = async function* (request) {
    for await (const part of scripted(request)) {
      await point('model');
      yield part;
    }
  };
  const confirm = async () => (await point('confirm'), true);
  const options: ChatOptions = {
    model,
    executor: new ToolExecutor({ registry, policy, confirm }),
    prompt: 'please',
    signal,
    selectTools: async ({ index }) => (
      await point(`selectTools ${index}`),
      {
        tools: [...registry].map(({ name }) => ({
          toolName: name,
          level: 'full',
          rendered: { name, description: '', inputSchema: {} },
        })),
      } as never
    ),
    haltWhen: async () => (await point('haltWhen'), false),
    onToolError: async () => (await point('onToolError'), 'continue' as const),
  };
  return { options, started };
}

const ENDS = ['cancelled', 'manual_tool_calls'];

/** Cancels a chat at one point, and checks that the outcome is valid. */
async function cancelledChat(
  arrange: (cancel: () => void) => {
    readonly point?: (name: string) => unknown;
    readonly onEvent?: (event: ChatEvent) => void;
  },
  stream: boolean,
) {
  const controller = new AbortController();
  let atCancel: number | undefined;
  const late: string[] = [];
  let started: readonly string[] = [];
  const cancel = () => {
    if (atCancel !== undefined) return;
    atCancel = started.length;
    controller.abort();
  };
  const { point = () => undefined, onEvent } = arrange(cancel);
  const through = chatThrough(point, controller.signal);
  started = through.started;
  const options: ChatOptions = { ...through.options, ...(onEvent && { onEvent }) };
  let result = stream ? undefined : await chat(options);
  if (stream)
    for await (const event of streamChat(options))
      if (event.type === 'chat-completed') ({ result } = event);
  await new Promise((resolve) => setImmediate(resolve));
  late.push(...(atCancel === undefined ? [] : started.slice(atCancel)));
  return {
    result: result!,
    wasCancelled: atCancel !== undefined,
    late,
    listeners: getEventListeners(controller.signal, 'abort').length,
  };
}

function expectSound({ result, late, listeners }: Awaited<ReturnType<typeof cancelledChat>>) {
  expect(ENDS).toContain(result.haltedReason);
  expect(isSendable(result)).toBe(true);
  expect({ late, listeners }).toEqual({ late: [], listeners: 0 });
}

it('a chat cancelled at any await ends with a valid thread, even if the await never settles', async () => {
  const names: string[] = [];
  await cancelledChat(() => ({ point: (name) => void names.push(name) }), false);
  expect(new Set(names.map((name) => name.split(' ')[0]))).toEqual(
    new Set(['model', 'policy', 'confirm', 'tool', 'selectTools', 'haltWhen', 'onToolError']),
  );
  for (let at = 1; at <= names.length; at += 1) {
    for (const hangs of [true, false]) {
      let seen = 0;
      const cancelled = await cancelledChat(
        (cancel) => ({
          point: () => {
            if ((seen += 1) !== at) return undefined;
            cancel();
            return hangs ? new Promise(() => undefined) : undefined;
          },
        }),
        at % 2 === 0,
      );
      expectSound(cancelled);
      expect(cancelled.result.haltedReason).toBe('cancelled');
    }
  }
});

it("a chat cancelled before it starts doesn't call the model, and keeps the user's message", async () => {
  const { options, started } = chatThrough(() => {
    throw new Error('nothing is asked');
  }, AbortSignal.abort());
  expect(await chat(options)).toMatchObject({
    haltedReason: 'cancelled',
    messages: [{ role: 'user', content: 'please' }],
    turns: [],
  });
  expect(started).toEqual([]);
});

it('a chat cancelled during a turn reports the progress of each call', async () => {
  const controller = new AbortController();
  const tools = [
    toolOf('hangs', () => (controller.abort(), new Promise(() => undefined)), {
      allowParallel: false,
    }),
    toolOf('charge', undefined, { manual: true }),
  ];
  const result = await chat({
    model: scriptedModel([
      {
        calls: [
          { id: 'a', name: 'hangs' },
          { id: 'b', name: 'hangs' },
          { id: 'c', name: 'charge' },
        ],
      },
    ]),
    tools,
    prompt: 'x',
    signal: controller.signal,
  });
  expect(outputsOf(result.messages)).toMatchObject({
    a: { type: 'error-text', value: expect.stringContaining('unknown') },
    b: { type: 'error-text', value: expect.stringContaining('Not run') },
  });
  expect(result).toMatchObject({
    haltedReason: 'cancelled',
    pending: [{ callId: 'c', kind: 'manual' }],
  });
});
