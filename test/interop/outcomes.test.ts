import { Agent, Runner, setTracingDisabled, type FunctionTool } from '@openai/agents';
import { generateText, stepCountIs } from 'ai';
import type { ToolMessage } from '@langchain/core/messages';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  AccessMode,
  askUser,
  defineTool,
  fail,
  halt,
  SafetyPolicy,
  SideEffect,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { toAISDKTools } from '../../src/interop/frameworks/to-ai-sdk-tools.js';
import { toAnthropicTools } from '../../src/interop/export/to-anthropic-tools.js';
import { toGeminiTools } from '../../src/interop/export/to-gemini-tools.js';
import { toOpenAITools } from '../../src/interop/export/to-openai-tools.js';
import { toLangChainTools } from '../../src/interop/frameworks/langchain-tools.js';
import { toOpenAIAgentsTools } from '../../src/interop/frameworks/to-openai-agents-tools.js';
import { createMcpServer } from '../../src/mcp/server/create-mcp-server.js';
import { agentsModel, aiModel, readByAgentsModel, readByAIModel } from './framework-models.js';
import { readOutcome } from '../../src/safety/read-outcome.js';
import { textOf, WAYS } from '../mcp/server-clients.js';

/** How a target shows an outcome: as a result, as an error, as waiting, or as plain text. */
type Shown =
  { readonly as: 'result' | 'error' | 'text'; readonly text: string } | { readonly as: 'waiting' };

interface Setup {
  readonly registry: ToolMetadataRegistry;
  readonly executor: ToolExecutor;
}

/**
 * Registers one tool per outcome, named after the outcome. `lost` returns a value that JSON can't
 * represent.
 */
function setUp(): Setup {
  const registry = new ToolMetadataRegistry();
  const inputSchema = z.object({});
  const open = {
    inputSchema,
    accessMode: AccessMode.READONLY,
    sideEffects: SideEffect.NONE,
    description: 'A tool',
  } as const;
  registry.registerAll([
    defineTool({ ...open, name: 'ok', execute: () => ({ sum: 3 }) }),
    defineTool({ ...open, name: 'halt', execute: () => halt('all is done', { left: 0 }) }),
    defineTool({ ...open, name: 'lost', execute: () => new Map([[1, 2]]) as never }),
    defineTool({ ...open, name: 'error', execute: () => fail('no luck today') }),
    defineTool({ ...open, name: 'denied', execute: () => 1 }),
    defineTool({ ...open, name: 'ask_user', execute: () => askUser('Which one?', ['a', 'b']) }),
    defineTool({ ...open, name: 'manual', manual: true }),
    defineTool({
      inputSchema,
      name: 'approval_required',
      description: 'Writes',
      accessMode: AccessMode.WRITE,
      execute: () => 1,
    }),
  ]);
  const policy = new SafetyPolicy({
    registry,
    rules: [{ name: 'secret-rule', verdict: 'deny', tools: 'denied', reason: 'not on Sundays' }],
  });
  return { registry, executor: new ToolExecutor({ registry, policy }) };
}

async function inAISDK({ registry, executor }: Setup, name: string): Promise<Shown> {
  const model = aiModel([['c1', name, {}]], 'done');
  await generateText({
    model,
    tools: toAISDKTools(registry, { executor }),
    prompt: 'please',
    stopWhen: stepCountIs(2),
  });
  const [answer] = readByAIModel(model);
  if (answer === undefined) return { as: 'waiting' };
  const { type, value } = answer;
  return {
    as: type === 'error-text' ? 'error' : 'result',
    text: typeof value === 'string' ? value : JSON.stringify(value),
  };
}

async function inLangChain({ registry, executor }: Setup, name: string): Promise<Shown> {
  const tools = await toLangChainTools(registry, { executor });
  const { status, content } = (await tools
    .find((each) => each.name === name)!
    .invoke({ type: 'tool_call', id: 'c1', name, args: {} })) as ToolMessage;
  return { as: status === 'error' ? 'error' : 'result', text: content as string };
}

async function inAgents({ registry, executor }: Setup, name: string): Promise<Shown> {
  const model = agentsModel([['c1', name, {}]], 'done');
  const { interruptions } = await new Runner({ tracingDisabled: true }).run(
    new Agent({
      name: 'a',
      model,
      tools: toOpenAIAgentsTools(registry, { executor }) as FunctionTool[],
    }),
    'please',
  );
  if (interruptions.length > 0) return { as: 'waiting' };
  return { as: 'text', text: readByAgentsModel(model)[0]![1] as string };
}

async function inOpenAI({ registry, executor }: Setup, name: string): Promise<Shown> {
  const { content } = toOpenAITools(registry).toMessages([
    await executor.execute({ id: 'c1', name }),
  ])[0]!;
  const { error } = JSON.parse(content) as { error?: string };
  return error === undefined ? { as: 'result', text: content } : { as: 'error', text: error };
}

async function inAnthropic({ registry, executor }: Setup, name: string): Promise<Shown> {
  const { content, is_error: failed = false } = toAnthropicTools(registry).toMessages([
    await executor.execute({ id: 'c1', name }),
  ])[0]!.content[0]!;
  return { as: failed ? 'error' : 'result', text: content as string };
}

async function inGemini({ registry, executor }: Setup, name: string): Promise<Shown> {
  const { response } = toGeminiTools(registry).toMessages([
    await executor.execute({ id: 'c1', name }),
  ])[0]!.parts[0]!.functionResponse;
  return 'error' in response
    ? { as: 'error', text: response['error'] as string }
    : { as: 'result', text: JSON.stringify(response['output']) };
}

const inMcp =
  (canAsk: boolean) =>
  async ({ registry, executor }: Setup, name: string): Promise<Shown> => {
    const server = createMcpServer(registry, { executor });
    onTestFinished(() => server.close());
    let asked = false;
    const answer = () => {
      asked = true;
      return { action: 'cancel' as const };
    };
    const client = await WAYS[0]!.open(server, canAsk ? { answer } : {});
    const result = await client.call(name);
    if (asked) return { as: 'waiting' };
    const text = textOf(result).replace('\nThe tool asks you to stop here: all is done', '');
    return { as: result.isError === true ? 'error' : 'result', text };
  };

/** The targets, and the outcomes that a target shows in an unusual form. */
const TABLE: readonly (readonly [string, typeof inAISDK, Readonly<Record<string, string>>])[] = [
  ['the AI SDK', inAISDK, { manual: 'waiting', approval_required: 'waiting' }],
  ['LangChain', inLangChain, {}],
  ['@openai/agents', inAgents, { approval_required: 'waiting' }],
  ['the chat API of OpenAI', inOpenAI, {}],
  ['Anthropic', inAnthropic, {}],
  ['Gemini', inGemini, {}],
  [
    'an MCP client that can ask',
    inMcp(true),
    { ask_user: 'waiting', approval_required: 'waiting' },
  ],
  ["an MCP client that can't ask", inMcp(false), { approval_required: 'error and advice' }],
];
const ADVICE =
  " This client can't ask the user. The operator of this server can allow such calls with tooldex mcp serve --yes medium or with a policy rule. For tools from MCP servers, access and consent in their settings work too.";
/** The outcomes, and the form in which most targets show them. */
const OUTCOMES = {
  ok: 'result',
  halt: 'result',
  lost: 'error',
  error: 'error',
  denied: 'error',
  ask_user: 'error',
  manual: 'error',
  approval_required: 'error',
};

describe.each(TABLE)('%s', (target, show, others) => {
  beforeAll(() => setTracingDisabled(true));

  it.each(
    Object.entries(OUTCOMES).map(([outcome, usual]) => {
      const as = others[outcome] ?? (target === '@openai/agents' ? 'text' : usual);
      return [outcome, as] as const;
    }),
  )(
    'the outcome %s is shown as %s, with the same message as in other targets',
    async (name, as) => {
      const setup = setUp();
      const { text } = readOutcome(await setup.executor.execute({ id: 'c0', name }));
      const shown = await show(setup, name);
      expect(shown).toEqual(
        as === 'waiting'
          ? { as }
          : as === 'error and advice'
            ? { as: 'error', text: text + ADVICE }
            : { as, text },
      );
      expect(text).not.toContain('secret-rule');
    },
  );
});
