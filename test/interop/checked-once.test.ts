import {
  Agent,
  Runner,
  RunState,
  setTracingDisabled,
  type FunctionTool,
  type Model,
  type ModelResponse,
} from '@openai/agents';
import { generateText, stepCountIs, streamText, type ModelMessage } from 'ai';
import type { MockLanguageModelV3 } from 'ai/test';
import { convertArrayToReadableStream } from 'ai/test';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  AccessMode,
  defineTool,
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
  type Policy,
} from '../../src/index.js';
import { toAISDKTools } from '../../src/interop/frameworks/to-ai-sdk-tools.js';
import { toLangChainTools } from '../../src/interop/frameworks/langchain-tools.js';
import { toOpenAIAgentsTools } from '../../src/interop/frameworks/to-openai-agents-tools.js';
import { createMcpServer } from '../../src/mcp/server/create-mcp-server.js';
import { WAYS } from '../mcp/server-clients.js';

type Step = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const calling = (name: string): Step => ({
  content: [{ type: 'tool-call', toolCallId: 'c1', toolName: name, input: '{"text":"hello"}' }],
  finishReason: { unified: 'tool-calls', raw: undefined },
  usage,
  warnings: [],
});
const saying: Step = {
  content: [{ type: 'text', text: 'done' }],
  finishReason: { unified: 'stop', raw: undefined },
  usage,
  warnings: [],
};
const ask = { role: 'user', content: 'please' } satisfies ModelMessage;

/** Counts what a call costs: how often its schema is asked, the executor's policy, the policy of the bridge, and the tool. */
function counted() {
  const counts = { checks: 0, decisions: 0, bridge: 0, runs: 0 };
  const inputSchema = z.object({ text: z.string().refine(() => ++counts.checks > 0) });
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      name: 'read',
      description: 'Reads',
      inputSchema,
      accessMode: AccessMode.READONLY,
      execute: () => ++counts.runs,
    }),
    defineTool({
      name: 'write',
      description: 'Writes',
      inputSchema,
      accessMode: AccessMode.WRITE,
      execute: () => ++counts.runs,
    }),
  ]);
  const counting = (kind: 'decisions' | 'bridge'): Policy => {
    const policy = new SafetyPolicy({ registry });
    return { decide: (call, context) => (counts[kind]++, policy.decide(call, context)) };
  };
  const executor = new ToolExecutor({ registry, policy: counting('decisions') });
  /** What was counted since the last time. */
  const taken = () => {
    const { ...now } = counts;
    Object.assign(counts, { checks: 0, decisions: 0, bridge: 0, runs: 0 });
    return now;
  };
  return { registry, executor, bridgePolicy: counting('bridge'), taken };
}

const modelCalling = (name: string): Model => {
  const outputs = [
    [
      {
        type: 'function_call',
        callId: 'c1',
        name,
        arguments: '{"text":"hello"}',
        status: 'completed',
      },
    ],
    [
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'done' }],
      },
    ],
  ];
  return {
    getResponse: async () =>
      ({
        usage: { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 },
        output: outputs.shift(),
      }) as unknown as ModelResponse,
    getStreamedResponse: () => {
      throw new Error('not streamed here');
    },
  };
};

describe.each(WAYS)('a call of $way is checked and decided once', ({ open }) => {
  it('when it needs no approval, and once more in the request that brings one', async () => {
    const { registry, executor, taken } = counted();
    const server = createMcpServer(registry, { executor });
    onTestFinished(() => server.close());
    const client = await open(server, {
      answer: () => {
        expect(taken()).toEqual({ checks: 1, decisions: 1, bridge: 0, runs: 0 });
        return { action: 'accept', content: {} };
      },
    });
    await client.call('read', { text: 'hello' });
    expect(taken()).toEqual({ checks: 1, decisions: 1, bridge: 0, runs: 1 });
    await client.call('write', { text: 'hello' });
    expect(taken()).toEqual({ checks: 1, decisions: 1, bridge: 0, runs: 1 });
  });
});

describe('what was checked for needsApproval', () => {
  const options = (messages: ModelMessage[] = []) => ({ toolCallId: 'c1', messages });

  it('is not used for other arguments, also when the same object was changed', async () => {
    const { registry, executor } = counted();
    const seen: unknown[] = [];
    registry.register(
      defineTool({
        name: 'read',
        description: 'Reads',
        inputSchema: z.object({ text: z.string() }),
        accessMode: AccessMode.READONLY,
        execute: ({ text }) => seen.push(text),
      }),
      { replace: true },
    );
    const { read } = toAISDKTools(registry, { executor });
    const given = { text: 'one' };
    await read!.needsApproval!(given, options());
    given.text = 'two';
    await read!.execute!(given, options());
    expect(seen).toEqual(['two']);
  });

  it('is not used when the tool was replaced meanwhile: the new one checks, decides and runs', async () => {
    const { registry, executor, taken } = counted();
    const { read } = toAISDKTools(registry, { executor });
    const given = { text: 'one' };
    await read!.needsApproval!(given, options());
    taken();
    registry.register(
      defineTool({
        name: 'read',
        description: 'Reads numbers',
        inputSchema: z.object({ text: z.number() }),
        accessMode: AccessMode.READONLY,
        execute: () => 1,
      }),
      { replace: true },
    );
    await expect(Promise.resolve(read!.execute!(given, options()))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect(taken().runs).toBe(0);
  });
});
