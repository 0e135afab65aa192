import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  createToolSearchTool,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolDefinition,
} from '../../src/index.js';
import { chat, scriptedModel, type ChatOptions, type ScriptedAnswer } from '../../src/chat.js';
import { outputsOf, toolOf } from './chat-cases.js';

function registryOf(...tools: readonly ToolDefinition[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools);
  return registry;
}

const inShort = {
  compact: true,
  summary: 'Does x',
  inputSchema: z.object({ a: z.number().describe('How much'), b: z.string().optional() }),
};
const x = () => toolOf('x', ({ a }) => ({ was: a }), inShort);
const plain = toolOf('plain', () => 'plain');
const y = toolOf('y', () => 'y', { compact: true });
const run = async (
  answers: readonly ScriptedAnswer[],
  tools: readonly ToolDefinition[],
  options: Partial<ChatOptions> = {},
) => {
  const model = scriptedModel(answers);
  const result = await chat({ model, tools, prompt: 'please', ...options });
  return {
    result,
    requests: model.requests,
    names: model.requests[0]?.tools.map(({ name }) => name),
  };
};
const help = (id: string, ...names: string[]): ScriptedAnswer => ({
  calls: [{ id, name: 'find_tools', input: { names } }],
});

it('the model sees one line with the required parameters for a compact tool, and also gets the search tool', async () => {
  const { names, requests } = await run(['hi'], [x(), plain, y]);
  expect(names).toEqual(['find_tools', 'x', 'plain', 'y']);
  expect(requests[0]!.tools[1]).toMatchObject({
    description: 'Does x',
    inputSchema: { properties: { a: { type: 'number' } }, required: ['a'] },
  });
  expect(JSON.stringify(requests[0]!.tools[1])).not.toContain('How much');
});

it('the search tool returns the full definition of a compact tool, which the model can then call', async () => {
  const { result } = await run(
    [help('h', 'x'), { calls: [{ id: 'a', name: 'x', input: { a: 1 } }] }, 'done'],
    [x(), plain],
  );
  expect(outputsOf(result.messages)).toMatchObject({
    h: {
      type: 'json',
      value: {
        tools: [
          { name: 'x', inputSchema: { properties: { a: { description: 'How much' }, b: {} } } },
        ],
      },
    },
    a: { type: 'json', value: { was: 1 } },
  });
  expect(result).toMatchObject({ haltedReason: 'completed', turns: [{}, {}, {}] });
});

it("a compact tool called without a required argument doesn't run, and the error includes its full definition", async () => {
  const { result } = await run(
    [
      { calls: [{ id: 'a', name: 'x', input: {} }] },
      { calls: [{ id: 'b', name: 'x', input: { a: 2 } }] },
      'done',
    ],
    [x()],
  );
  expect(outputsOf(result.messages)).toMatchObject({
    a: { type: 'error-text', value: expect.stringMatching(/a: [\s\S]*How much/) },
    b: { value: { was: 2 } },
  });
});

it("a tool with the search tool's name is refused only if there are compact tools", async () => {
  const own = toolOf('find_tools', () => 'mine');
  await expect(run(['hi'], [x(), own])).rejects.toMatchObject({ code: 'DUPLICATE_TOOL' });
  const { result, names } = await run(
    [{ calls: [{ id: 'a', name: 'find_tools' }] }, 'hi'],
    [plain, own],
  );
  expect([names, outputsOf(result.messages)]).toEqual([
    ['plain', 'find_tools'],
    { a: { type: 'text', value: 'mine' } },
  ]);
});

it('in manual mode, the caller also handles calls to the search tool', async () => {
  const { result } = await run([help('h', 'x')], [x()], { mode: 'manual' });
  expect(result.pending.map(({ callId, toolName }) => [callId, toolName])).toEqual([
    ['h', 'find_tools'],
  ]);
  const registry = registryOf(x());
  const search = new ToolExecutor({ registry: registryOf(createToolSearchTool(registry)) });
  const answer = await search.execute({
    id: 'h',
    name: 'find_tools',
    input: result.pending[0]!.input,
  });
  expect(answer).toMatchObject({ status: 'ok', value: { tools: [{ name: 'x' }] } });
});
