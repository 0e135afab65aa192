import { simulateReadableStream } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  chat,
  Session,
  streamChat,
  type ChatEvent,
  type ChatOptions,
  type ChatResult,
} from '../../src/chat.js';
import { assistant, isSendable, outputsOf, results, toolOf, user } from './chat-cases.js';

type Step = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;
type Content = Step['content'][number];
type Part =
  Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream'] extends ReadableStream<infer P>
    ? P
    : never;

const usage: Step['usage'] = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
};
const call = (
  toolCallId: string,
  toolName: string,
  input: unknown = {},
  rest: object = {},
): Content => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input: typeof input === 'string' ? input : JSON.stringify(input),
  ...rest,
});
const text = (value: string): Content => ({ type: 'text', text: value });
const reasonOf = (content: readonly Content[]): Step['finishReason'] => ({
  unified: content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop',
  raw: undefined,
});
const step = (...content: Content[]): Step => ({
  content,
  finishReason: reasonOf(content),
  usage,
  warnings: [],
});

/** Returns the same answer as the parts of a stream. */
function partsOf(content: readonly Content[]): Part[] {
  const parts = content.flatMap((part, at): Part[] => {
    const id = `p${at}`;
    if (part.type !== 'text' && part.type !== 'reasoning') return [part];
    const meta = part.providerMetadata && { providerMetadata: part.providerMetadata };
    const pieces = part.text.match(/.{1,4}/gs) ?? [];
    return [
      { type: `${part.type}-start`, id },
      ...pieces.map((delta) => ({ type: `${part.type}-delta`, id, delta })),
      { type: `${part.type}-end`, id, ...meta },
    ] as Part[];
  });
  return [
    { type: 'stream-start', warnings: [] },
    ...parts,
    { type: 'finish', finishReason: reasonOf(content), usage },
  ];
}
const streamed = (parts: Part[]) => ({
  stream: simulateReadableStream({ chunks: parts, initialDelayInMs: null, chunkDelayInMs: null }),
});

/** Returns a model that gives the same answer whole or streamed. */
function modelOf(...answers: readonly (readonly Content[])[]) {
  return new MockLanguageModelV3({
    doGenerate: answers.map((content) => step(...content)),
    doStream: answers.map((content) => streamed(partsOf(content))),
  });
}

async function streamedResult(
  options: ChatOptions,
): Promise<{ readonly result: ChatResult; readonly events: readonly ChatEvent[] }> {
  const events: ChatEvent[] = [];
  for await (const event of streamChat(options)) events.push(event);
  const last = events.at(-1)!;
  return { events, result: (last as Extract<ChatEvent, { type: 'chat-completed' }>).result };
}

/** Fields that differ between two runs. */
const RANDOM = /"(id|conversationId|createdAt)":("[0-9a-f-]{36}"|\d+)/g;

/** Calls the model with and without streaming, and expects the same results. */
async function both(answers: readonly (readonly Content[])[], options: Partial<ChatOptions>) {
  const asked = modelOf(...answers);
  const watched = modelOf(...answers);
  const result = await chat({ prompt: 'please', ...options, model: asked });
  const { result: other, events } = await streamedResult({
    prompt: 'please',
    ...options,
    model: watched,
  });
  expect(JSON.stringify(other).replace(RANDOM, '')).toBe(
    JSON.stringify(result).replace(RANDOM, ''),
  );
  expect(watched.doStreamCalls.map(({ prompt }) => prompt)).toEqual(
    asked.doGenerateCalls.map(({ prompt }) => prompt),
  );
  expect(isSendable(result)).toBe(true);
  return { result, events, prompts: asked.doGenerateCalls };
}

const add = toolOf('math.add', ({ a, b }) => Number(a) + Number(b), {
  inputSchema: z.object({ a: z.number(), b: z.number() }),
});
const echo = toolOf('echo', (input) => input);
const ping = toolOf('ping', () => 'pong', { inputSchema: z.object({}) });
const charge = toolOf('charge', undefined, { manual: true });

it('a model answers with text, in pieces if the answer is streamed', async () => {
  const { result, events } = await both([[text('Hello there!')]], {});
  expect(result).toMatchObject({
    haltedReason: 'completed',
    text: 'Hello there!',
    usage: { inputTokens: 10, outputTokens: 3 },
  });
  const pieces = events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []));
  expect([pieces.length > 1, pieces.join('')]).toEqual([true, 'Hello there!']);
});

it('a model receives the system prompt, the thread, and the tools under allowed names', async () => {
  const { prompts, result } = await both(
    [[call('a', 'math__add', { a: 1, b: 2 }), call('c', 'charge')]],
    {
      tools: [add, charge],
      system: 'Be brief',
      messages: [
        { role: 'system', content: 'And kind' },
        user('Hi'),
        assistant(['o', 'math.add']),
        results(['o', 'math.add', '3']),
      ],
    },
  );
  expect(prompts[0]!.prompt[0]).toMatchObject({
    role: 'system',
    content: 'Be brief\n\nAnd kind',
  });
  expect(prompts[0]!.tools!.map(({ name }) => name)).toEqual(['math__add', 'charge']);
  expect(JSON.stringify(prompts[0]!.prompt)).not.toContain('math.add');
  expect(result).toMatchObject({
    haltedReason: 'manual_tool_calls',
    toolCalls: [{ toolName: 'math.add' }, { toolName: 'charge' }],
  });
  expect(outputsOf(result.messages)).toMatchObject({ a: { type: 'json', value: 3 } });
});

it("a model's reasoning and signatures are sent back to it", async () => {
  const signature = { google: { thoughtSignature: 'sig-1' } };
  const { result, prompts, events } = await both(
    [
      [
        {
          type: 'reasoning',
          text: 'I should ping',
          providerMetadata: { anthropic: { signature: 'r-1' } },
        },
        call('a', 'ping', {}, { providerMetadata: signature }),
      ],
      [text('ok')],
    ],
    { tools: [ping] },
  );
  expect(prompts[1]!.prompt[1]).toMatchObject({
    role: 'assistant',
    content: [
      {
        type: 'reasoning',
        text: 'I should ping',
        providerOptions: { anthropic: { signature: 'r-1' } },
      },
      { type: 'tool-call', providerOptions: signature },
    ],
  });
  expect(events.some(({ type }) => type === 'reasoning-delta')).toBe(true);
  expect(JSON.parse(JSON.stringify(result.messages))).toEqual(result.messages);
});

it.each(['{"a": 1, "b"', 'not json', '[1]'])(
  "arguments sent as %s are refused, and the tool doesn't run",
  async (written) => {
    let ran = 0;
    const loose = toolOf('loose', () => (ran += 1), { inputSchema: z.object({}) });
    const { result, prompts } = await both(
      [[call('a', 'loose', written), call('b', 'ping')], [text('sorry')]],
      { tools: [loose, ping] },
    );
    expect(outputsOf(result.messages)).toMatchObject({
      a: { type: 'error-text' },
      b: { value: 'pong' },
    });
    expect(ran).toBe(0);
    // Services refuse arguments that aren't an object.
    expect(
      (prompts[1]!.prompt[1]!.content as readonly { readonly input: unknown }[]).map(
        ({ input }) => input,
      ),
    ).toEqual([{}, {}]);
  },
);

it('a call has the parsed arguments and also the arguments as the model wrote them', async () => {
  const { result } = await both(
    [[call('a', 'ping', '{ "n" : 1.0 }'), call('b', 'ping', '{"n":1}')], [text('ok')]],
    { tools: [ping] },
  );
  const [first] = result.turns;
  expect(first!.toolCalls.map(({ input, rawInput }) => [input, rawInput])).toEqual([
    [{ n: 1 }, '{ "n" : 1.0 }'],
    [{ n: 1 }, undefined],
  ]);
  expect(Session.create({ messages: result.messages }).messages).toEqual(result.messages);
});

it.each(['', 'null'])('arguments sent as %j become an empty object', async (written) => {
  const { result } = await both([[call('a', 'ping', written)], [text('ok')]], { tools: [ping] });
  expect(outputsOf(result.messages)).toEqual({ a: { type: 'text', value: 'pong' } });
});

it('two calls with the same id both run with their own arguments', async () => {
  const { result } = await both(
    [
      [call('x', 'echo', { n: 1 }), call('x', 'echo', { n: 2 })],
      [call('x', 'echo', { n: 3 })],
      [text('ok')],
    ],
    { tools: [echo] },
  );
  expect(outputsOf(result.messages)).toEqual({
    x: { type: 'json', value: { n: 1 } },
    'x-2': { type: 'json', value: { n: 2 } },
    'x-3': { type: 'json', value: { n: 3 } },
  });
});

it('calls without ids run and get new ids', async () => {
  const { result } = await both(
    [[call('', 'echo', { n: 1 }), call('', 'echo', { n: 2 })], [text('ok')]],
    { tools: [echo] },
  );
  const outputs = outputsOf(result.messages);
  expect([Object.keys(outputs).includes(''), Object.values(outputs)]).toEqual([
    false,
    [1, 2].map((n) => ({ type: 'json', value: { n } })),
  ]);
});

it("the chat doesn't answer a call that the service ran itself", async () => {
  const search = [
    call('s', 'web_search', { q: 'x' }, { providerExecuted: true }),
    {
      type: 'tool-result',
      toolCallId: 's',
      toolName: 'web_search',
      result: { hits: 1 },
      providerExecuted: true,
    } as Content,
  ];
  const alone = await both([[...search, text('Found one')]], { tools: [ping] });
  expect(alone.result).toMatchObject({
    haltedReason: 'completed',
    text: 'Found one',
    pending: [],
  });
  const mixed = await both([[...search, call('a', 'ping')], [text('ok')]], { tools: [ping] });
  expect(mixed.result).toMatchObject({ haltedReason: 'completed', text: 'ok' });
  expect(Object.keys(outputsOf(mixed.result.messages))).toEqual(['a']);
  expect(mixed.prompts[1]!.prompt[1]).toMatchObject({
    content: [
      { type: 'tool-call', toolCallId: 's' },
      { type: 'tool-result', toolCallId: 's' },
      { type: 'tool-call', toolCallId: 'a' },
    ],
  });
});

it('the model receives toolChoice with the encoded tool name', async () => {
  const forced = modelOf([text('ok')]);
  await chat({
    model: forced,
    tools: [add, ping],
    toolChoice: { toolName: 'math.add' },
    prompt: 'x',
  });
  expect(forced.doGenerateCalls[0]!.toolChoice).toEqual({ type: 'tool', toolName: 'math__add' });
  const required = modelOf([text('ok')]);
  await chat({ model: required, tools: [ping], toolChoice: 'required', prompt: 'x' });
  expect(required.doGenerateCalls[0]!.toolChoice).toEqual({ type: 'required' });
});

it('the error for a missing AI Gateway key is one line that says which variable to set', async () => {
  const refused = Object.assign(new Error('Unauthenticated request.\n\nTo authenticate, set it.'), {
    name: 'GatewayAuthenticationError',
  });
  const model = new MockLanguageModelV3({ doGenerate: () => Promise.reject(refused) });
  expect((await chat({ model, prompt: 'x' })).metadata).toMatchObject({
    error: {
      code: 'MODEL_FAILED',
      message: expect.stringMatching(/^The AI Gateway .*Set AI_GATEWAY_API_KEY, .*\.$/),
    },
  });
});

it('a stream that fails adds nothing to the thread', async () => {
  const half: Part[] = [
    ...partsOf([text('Half of')]).slice(0, -1),
    { type: 'error', error: new Error('connection lost') },
  ];
  const first = partsOf([call('a', 'ping')]);
  const model = new MockLanguageModelV3({ doStream: [streamed(first), streamed(half)] });
  const { result, events } = await streamedResult({ model, tools: [ping], prompt: 'x' });
  expect(result).toMatchObject({
    haltedReason: 'error',
    metadata: { error: { message: 'connection lost' } },
  });
  expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(events.some((event) => event.type === 'text-delta' && event.turn === 1)).toBe(true);
});

it('the model receives modelOptions', async () => {
  const model = modelOf([text('ok')]);
  await chat({
    model,
    prompt: 'x',
    modelOptions: { temperature: 0.5, maxOutputTokens: 7, providerOptions: { own: { a: 1 } } },
  });
  expect(model.doGenerateCalls[0]!).toMatchObject({
    temperature: 0.5,
    maxOutputTokens: 7,
    providerOptions: { own: { a: 1 } },
  });
});

const answer = (message: unknown) =>
  async function* () {
    await Promise.resolve();
    yield {
      type: 'answer' as const,
      message: message as never,
      finishReason: 'stop',
    };
  };

it.each<readonly [string, unknown]>([
  ['a user message', { role: 'user', content: 'x' }],
  [
    'a message that is nested too deeply',
    {
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          toolCallId: 'a',
          toolName: 'x',
          input: JSON.parse('['.repeat(60) + ']'.repeat(60)) as unknown,
        },
      ],
    },
  ],
])('a chat fails if the function answers with %s', async (_what, message) => {
  expect(await chat({ model: answer(message), prompt: 'x' })).toMatchObject({
    haltedReason: 'error',
    metadata: { error: { code: 'MODEL_FAILED' } },
    messages: [user('x')],
  });
});
