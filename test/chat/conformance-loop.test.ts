import { expect, it } from 'vitest';
import { type ToolDefinition } from '../../src/index.js';
import {
  chat,
  scriptedModel,
  streamChat,
  type ChatEngine,
  type ChatEvent,
  type ChatOptions,
  type ScriptedAnswer,
} from '../../src/chat.js';
import { gate, isSendable, outputsOf, results, sampleTools, toolOf } from './chat-cases.js';

// The recorded behavior of the recorded system, case by case: the loop, manual tools, questions, and
// events.

type Calls = readonly (readonly [id: string, name: string])[];
const calling = (...calls: Calls): ScriptedAnswer => ({
  calls: calls.map(([id, name]) => ({ id, name })),
});

function setUp(answers: readonly ScriptedAnswer[], tools?: readonly ToolDefinition[]) {
  const sample = sampleTools();
  const model = scriptedModel(answers);
  const all = tools ?? sample.tools;
  return {
    ...sample,
    model,
    run: (options: Partial<ChatOptions> = {}) =>
      chat({ model, tools: all, prompt: 'please', ...options }),
    engine: { model, tools: all } satisfies ChatEngine,
  };
}

async function eventsOf(options: ChatOptions): Promise<ChatEvent[]> {
  const events: ChatEvent[] = [];
  for await (const event of streamChat(options)) events.push(event);
  return events;
}

it('results are in the order of the calls, whichever call finishes first', async () => {
  const first = gate();
  const order: string[] = [];
  const slow = toolOf('slow', async () => {
    await first.opened;
    return order.push('slow');
  });
  const fast = toolOf('fast', () => {
    order.push('fast');
    first.open();
    return 'fast';
  });
  const { run } = setUp([calling(['a', 'slow'], ['b', 'fast']), 'done'], [slow, fast]);
  const { messages } = await run();
  expect(order).toEqual(['fast', 'slow']);
  expect(Object.keys(outputsOf(messages))).toEqual(['a', 'b']);
});

it("the model receives a failed call's error and continues", async () => {
  const { run, model } = setUp([calling(['a', 'fails'], ['b', 'throws']), 'sorry']);
  const { haltedReason, messages } = await run();
  expect(haltedReason).toBe('completed');
  expect(outputsOf(messages)).toEqual({
    a: { type: 'error-text', value: 'no luck today' },
    b: { type: 'error-text', value: 'broken' },
  });
  expect(model.requests[1]!.messages.at(-1)).toEqual(messages[2]);
});

it('with onToolError "halt", a failed call ends the run after the other calls finish', async () => {
  const { run, ran } = setUp([calling(['a', 'fails'], ['b', 'weather'])]);
  const result = await run({ onToolError: 'halt' });
  expect(result).toMatchObject({
    haltedReason: 'tool_error',
    metadata: {
      haltToolCallId: 'a',
      error: { code: 'EXECUTION_FAILED', message: 'no luck today' },
    },
  });
  expect(Object.keys(outputsOf(result.messages))).toEqual(['a', 'b']);
  expect(ran).toEqual(['fails', 'weather']);
});

it('the model receives the replacement that onToolError returns for a failed call', async () => {
  const { run } = setUp([calling(['a', 'fails']), 'fine']);
  const { messages } = await run({
    onToolError: (call, { code }) => ({ continue: { was: [call.id, call.name, code] } }),
  });
  expect(outputsOf(messages)).toEqual({
    a: { type: 'json', value: { was: ['a', 'fails', 'EXECUTION_FAILED'] } },
  });
});

it.each<readonly [string, () => unknown, string]>([
  [
    'throws',
    () => {
      throw new Error('in the hook');
    },
    'in the hook',
  ],
  ['returns an invalid decision', () => 'perhaps', 'perhaps'],
])('the run ends the first time that onToolError %s', async (_what, decide, message) => {
  let asked = 0;
  const { run } = setUp([calling(['a', 'fails'])]);
  const result = await run({ onToolError: () => ((asked += 1), decide() as 'halt') });
  expect(result).toMatchObject({
    haltedReason: 'tool_error',
    metadata: { haltToolCallId: 'a', error: { message: expect.stringContaining(message) } },
  });
  expect(asked).toBe(1);
  expect(outputsOf(result.messages)).toEqual({
    a: { type: 'error-text', value: 'no luck today' },
  });
});

it('after a call halts, the run waits for slower calls and then ends', async () => {
  const halted = gate();
  const slow = toolOf('slow', () => halted.opened.then(() => 'late'));
  const { tools } = sampleTools();
  const { run } = setUp([calling(['a', 'slow'], ['b', 'stops'])], [...tools, slow]);
  const result = await run({
    onEvent: (event) => {
      if (event.type === 'tool-encoded' && event.callId === 'b') halted.open();
    },
  });
  expect(result).toMatchObject({
    haltedReason: 'all_done',
    metadata: { haltToolCallId: 'b', haltResult: { left: 0 } },
    turns: [{ index: 0 }],
  });
  expect(outputsOf(result.messages)).toEqual({
    a: { type: 'text', value: 'late' },
    b: { type: 'json', value: { left: 0 } },
  });
});

it.each(['ask_user', 'tool_error', 'completed', 'error'])(
  'a call that halts with the reserved reason %s fails',
  async (reason) => {
    const { halt } = await import('../../src/index.js');
    const { run } = setUp(
      [calling(['a', 'wrong']), 'go on'],
      [toolOf('wrong', () => halt(reason, 1))],
    );
    const { haltedReason, messages } = await run();
    expect(haltedReason).toBe('completed');
    expect(outputsOf(messages)).toMatchObject({
      a: { type: 'error-text', value: expect.stringContaining('reserved') },
    });
  },
);

it("if two calls halt, the first call in the model's order determines haltedReason", async () => {
  const other = gate();
  const { halt } = await import('../../src/index.js');
  const tools = [
    toolOf('slow', () => other.opened.then(() => halt('slow'))),
    toolOf('fast', () => halt('fast')),
  ];
  const options = {
    tools,
    prompt: 'please',
    onEvent: (event: ChatEvent) => {
      if (event.type === 'tool-encoded' && event.callId === 'b') other.open();
    },
  };
  const script = [calling(['a', 'slow'], ['b', 'fast'])];
  expect(await chat({ ...options, model: scriptedModel(script) })).toMatchObject({
    haltedReason: 'slow',
    metadata: { haltToolCallId: 'a' },
  });
  expect((await eventsOf({ ...options, model: scriptedModel(script) })).at(-1)).toMatchObject({
    result: { haltedReason: 'slow', metadata: { haltToolCallId: 'a' } },
  });
});

it('the loop calls the model at most maxTurns times, by default 8', async () => {
  const script = Array.from({ length: 10 }, (_, at): ScriptedAnswer => ({
    calls: [{ name: 'echo', input: { at } }],
  }));
  const limited = setUp(script);
  expect(await limited.run({ maxTurns: 2 })).toMatchObject({
    haltedReason: 'max_turns',
    turns: [{}, {}],
    metadata: { maxTurns: 2 },
  });
  const usual = setUp(script);
  expect(await usual.run()).toMatchObject({
    haltedReason: 'max_turns',
    metadata: { maxTurns: 8 },
  });
  expect([limited.model.requests.length, usual.model.requests.length]).toEqual([2, 8]);
});

it('the loop ends after a turn for which haltWhen returns true', async () => {
  const seen: unknown[] = [];
  const { run } = setUp([calling(['a', 'weather']), calling(['b', 'weather']), 'no more']);
  const result = await run({
    haltWhen: ({ index, toolResults }) => (seen.push([index, toolResults.length]), index === 1),
  });
  expect(result).toMatchObject({
    haltedReason: 'halt_when',
    metadata: { haltWhenTurnIndex: 1 },
    turns: [{}, {}],
  });
  expect(seen).toEqual([
    [0, 1],
    [1, 1],
  ]);
});

it('the chat rejects with the error that haltWhen throws', async () => {
  const { run } = setUp([calling(['a', 'weather']), 'no more']);
  await expect(
    run({
      haltWhen: () => {
        throw new RangeError('mine');
      },
    }),
  ).rejects.toThrow(new RangeError('mine'));
});

it("the chat's result lists the turns in order, and has the text and calls of the last turn", async () => {
  const { run } = setUp([
    { text: 'one', calls: [{ id: 'a', name: 'weather' }] },
    { text: 'two', calls: [{ id: 'b', name: 'echo' }] },
    'three',
  ]);
  const { turns, text, toolCalls } = await run();
  expect({
    texts: turns.map((turn) => turn.text),
    indexes: turns.map(({ index }) => index),
    text,
    toolCalls,
  }).toEqual({
    texts: ['one', 'two', 'three'],
    indexes: [0, 1, 2],
    text: 'three',
    toolCalls: [],
  });
});

it('manual mode runs no calls and leaves all calls to the caller', async () => {
  const { run, ran } = setUp([calling(['a', 'weather'], ['b', 'charge'])]);
  const result = await run({ mode: 'manual' });
  expect(result).toMatchObject({
    haltedReason: 'manual_tool_calls',
    metadata: { manualTurnIndex: 0 },
    toolCalls: [{ toolCallId: 'a' }, { toolCallId: 'b' }],
  });
  expect(Object.keys(result.metadata)).toEqual(['manualTurnIndex']);
  expect(result.pending.map(({ kind, callId }) => [kind, callId])).toEqual([
    ['manual', 'a'],
    ['manual', 'b'],
  ]);
  expect(ran).toEqual([]);
  expect(isSendable(result)).toBe(true);
});

it('a manual call stays pending while the other calls run', async () => {
  const { run, ran } = setUp([
    {
      calls: [
        { id: 'w', name: 'weather' },
        { id: 'c', name: 'charge', input: { cents: 5 } },
      ],
    },
  ]);
  const result = await run();
  expect(ran).toEqual(['weather']);
  expect(result).toMatchObject({
    haltedReason: 'manual_tool_calls',
    metadata: {
      manualToolCalls: [
        { type: 'tool-call', toolCallId: 'c', toolName: 'charge', input: { cents: 5 } },
      ],
      manualTurnIndex: 0,
    },
  });
  expect(Object.keys(result.metadata).sort()).toEqual(['manualToolCalls', 'manualTurnIndex']);
  expect(outputsOf(result.messages)).toEqual({ w: { type: 'text', value: 'sunny' } });
  expect(result.turns[0]).toMatchObject({
    manualToolCalls: [{ toolCallId: 'c' }],
    toolResults: [{ callId: 'w' }],
  });
});

it("the chat doesn't run a manual tool, even if it has a handler", async () => {
  let ran = 0;
  const { run } = setUp(
    [calling(['a', 'both'])],
    [toolOf('both', () => (ran += 1), { manual: true })],
  );
  expect(await run()).toMatchObject({ haltedReason: 'manual_tool_calls' });
  expect(ran).toBe(0);
});

it("a chat continues once a message contains the manual call's result", async () => {
  const { messages } = await setUp([calling(['w', 'weather'], ['c', 'charge'])]).run();
  const { model, engine, ran } = setUp(['paid']);
  expect(
    await chat({ ...engine, messages: [...messages, results(['c', 'charge', 'done'])] }),
  ).toMatchObject({ haltedReason: 'completed', text: 'paid' });
  expect(model.requests[0]!.messages.at(-1)).toMatchObject({
    role: 'tool',
    content: [{ toolCallId: 'w' }, { toolCallId: 'c' }],
  });
  expect(ran).toEqual([]);
});

const kinds = (events: readonly ChatEvent[]) =>
  events.map((event) => ('callId' in event ? `${event.type} ${event.callId}` : event.type));

it('events report each call, each turn, and the end of the chat', async () => {
  const { engine } = setUp([calling(['a', 'weather']), 'done']);
  const events = kinds(await eventsOf({ ...engine, prompt: 'please' }));
  expect(events.filter((kind) => kind !== 'text-delta')).toEqual([
    'turn-started',
    'model-answered',
    'tool-started a',
    'tool-completed a',
    'tool-encoded a',
    'turn-completed',
    'turn-started',
    'model-answered',
    'turn-completed',
    'chat-completed',
  ]);
});
