import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { Agent, Runner, type FunctionTool } from '@openai/agents';
import { generateText, stepCountIs, type ModelMessage } from 'ai';
import { createAgent } from 'langchain';
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  AccessMode,
  askUser,
  defineTool,
  image,
  ok,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { toAISDKTools } from '../../src/interop/frameworks/to-ai-sdk-tools.js';
import { toLangChainTools } from '../../src/interop/frameworks/langchain-tools.js';
import { toOpenAIAgentsTools } from '../../src/interop/frameworks/to-openai-agents-tools.js';
import { agentsModel, aiModel } from './framework-models.js';
import { chat, scriptedModel, Session } from '../../src/chat.js';

// The same conversation in the loop of each framework. It has two reads (one returns a picture), two
// writes that need approval, a question, and a call that a colleague answers.

type Call = readonly [id: string, name: string, input: Readonly<Record<string, unknown>>];
/**
 * The calls of each turn. If nobody can answer the question, the model reads it and calls the tool again
 * with the answer.
 */
const TURNS: readonly (readonly Call[])[] = [
  [
    ['c1', 'order.status', { order: 17 }],
    ['c2', 'label', {}],
  ],
  [
    ['c3', 'refund', { order: 17 }],
    ['c4', 'note', { text: 'refunded 17' }],
  ],
  [['c5', 'pick_slot', {}]],
  [['c6', 'pick_slot', { slot: 'am' }]],
  [['c7', 'cashier', { order: 17 }]],
];
const PNG = Buffer.from('a very small picture').toString('base64');

/** The same calls with names that model services allow. */
const SAID = TURNS.map((turn) =>
  turn.map(([id, name, input]) => [id, name.replace('.', '__'), input] as const),
);

function shop() {
  const effects: string[] = [];
  const registry = new ToolMetadataRegistry();
  const read = { description: 'Reads', accessMode: AccessMode.READONLY } as const;
  const write = { description: 'Writes', accessMode: AccessMode.WRITE } as const;
  const order = z.object({ order: z.int() });
  registry.registerAll([
    defineTool({ name: 'order.status', inputSchema: order, ...read, execute: () => 'shipped' }),
    defineTool({
      name: 'label',
      inputSchema: z.object({}),
      ...read,
      execute: () => ok('a label', { content: [image(Buffer.from(PNG, 'base64'), 'image/png')] }),
    }),
    defineTool({
      name: 'refund',
      inputSchema: order,
      ...write,
      execute: ({ order }) => (effects.push(`refund ${order}`), 'refunded'),
    }),
    defineTool({
      name: 'note',
      inputSchema: z.object({ text: z.string() }),
      ...write,
      execute: ({ text }) => (effects.push(`note ${text}`), 'noted'),
    }),
    defineTool({
      name: 'pick_slot',
      inputSchema: z.object({ slot: z.string().optional() }),
      ...read,
      execute: ({ slot }) => slot ?? askUser('Morning or afternoon?', ['am', 'pm']),
    }),
    defineTool({ name: 'cashier', inputSchema: order, ...write, manual: true }),
  ]);
  return { effects, registry, executor: new ToolExecutor({ registry }) };
}
type Shop = ReturnType<typeof shop>;

/** Returns the text that the model has read by the end. */
type Loop = (shop: Shop) => Promise<unknown>;

const inAISDK: Loop = async ({ registry, executor }) => {
  const model = aiModel(...SAID, 'done');
  const tools = toAISDKTools(registry, { executor });
  const messages: ModelMessage[] = [{ role: 'user', content: 'please' }];
  for (;;) {
    const result = await generateText({ model, tools, messages, stopWhen: stepCountIs(9) });
    if (result.text === 'done') return model.doGenerateCalls.at(-1)!.prompt;
    const approvals = result.content.filter(({ type }) => type === 'tool-approval-request');
    messages.push(...result.response.messages, {
      role: 'tool',
      content:
        approvals.length > 0
          ? approvals.map((part) => ({
              type: 'tool-approval-response',
              approvalId: (part as { approvalId: string }).approvalId,
              approved: true,
            }))
          : result.toolCalls.map(({ toolCallId, toolName }) => ({
              type: 'tool-result',
              toolCallId,
              toolName,
              output: { type: 'text', value: 'paid by Ada' },
            })),
    });
  }
};

const inLangChain: Loop = async ({ registry, executor }) => {
  const model = fakeModel();
  for (const turn of SAID)
    model.respondWithTools(turn.map(([id, name, args]) => ({ id, name, args })));
  model.respond(new AIMessage('done'));
  const asked: string[] = [];
  const tools = await toLangChainTools(registry, {
    executor,
    confirm: ({ toolName }) => (asked.push(toolName), true),
  });
  const agent = createAgent({ model, tools });
  const { messages } = await agent.invoke({ messages: [new HumanMessage('please')] });
  expect(asked.sort()).toEqual(['note', 'refund']);
  return messages;
};

const inAgents: Loop = async ({ registry, executor }) => {
  const model = agentsModel(...SAID, 'done');
  const tools = toOpenAIAgentsTools(registry, { executor }) as FunctionTool[];
  const agent = new Agent({ name: 'shop', model, tools });
  const runner = new Runner({ tracingDisabled: true });
  let run = await runner.run(agent, 'please');
  expect(run.interruptions).toHaveLength(2);
  run.interruptions.forEach((each) => run.state.approve(each));
  run = await runner.run(agent, run.state);
  expect(run.finalOutput).toBe('done');
  return model.requests.at(-1)!.input;
};

const inSession: Loop = async ({ executor }) => {
  const answers = TURNS.map((turn) => ({
    calls: turn.map(([id, name, input]) => ({ id, name, input: input as never })),
  }));
  const engine = { model: scriptedModel([...answers, 'done']), executor };
  let { session, result } = await Session.create().start(engine, 'please');
  while (session.pending.length > 0) {
    session = Session.fromJSON(JSON.parse(JSON.stringify(session)));
    for (const { kind, callId } of session.pending)
      session =
        kind === 'approval'
          ? session.approve(callId).session
          : kind === 'question'
            ? session.answer(callId, 'am').session
            : session.submitToolResult(callId, 'paid by Ada').session;
    ({ session, result } = await session.continue(engine));
  }
  expect(result.text).toBe('done');
  const { text } = await chat({ model: scriptedModel(['again']), messages: result.messages });
  expect(text).toBe('again');
  return result.messages;
};

it.each<[string, Loop, { readonly cashier: RegExp; readonly question: RegExp }]>([
  ['a session', inSession, { cashier: /paid by Ada/, question: /"am"/ }],
  ['the AI SDK', inAISDK, { cashier: /paid by Ada/, question: /Morning or afternoon\?/ }],
  ['LangChain', inLangChain, { cashier: /no answer yet/, question: /Morning or afternoon\?/ }],
  ['@openai/agents', inAgents, { cashier: /no answer yet/, question: /Morning or afternoon\?/ }],
])(
  'a conversation with an image, two approvals, a question, and a manual call works in %s',
  async (_, loop, { cashier, question }) => {
    const world = shop();
    const read = JSON.stringify(await loop(world));
    expect(world.effects.sort()).toEqual(['note refunded 17', 'refund 17']);
    for (const text of ['shipped', 'refunded', 'noted']) expect(read).toContain(text);
    expect(read).toMatch(question);
    expect(read).toMatch(cashier);
    expect(read).toContain(PNG);
  },
);
