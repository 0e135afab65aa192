import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  askUser,
  createToolSearchTool,
  defineTool,
  fail,
  halt,
  ok,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolDefinition,
} from '../../src/index.js';
import { toolsFromJson, toolToJson } from '../../src/tool/tool-data.js';
import {
  chat,
  encodeValue,
  scriptedModel,
  type ChatOptions,
  type ScriptedAnswer,
} from '../../src/chat.js';
import { outputsOf, reads, toolOf } from './chat-cases.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

// What the system that this one continues does, case by case: tools, their outcomes, what a model reads, tools in short.

const required = {
  name: 'weather',
  description: 'By city',
  inputSchema: { type: 'object' },
} as const;

describe('a tool', () => {
  it('needs name, description and schema, and no more', () => {
    const tool = definitionOf(required);
    const entry = registryOf(tool).require('weather');
    expect([tool.execute, entry.manual, entry.compact, entry.metadata]).toEqual([
      undefined,
      false,
      false,
      undefined,
    ]);
    for (const field of ['name', 'description', 'inputSchema'] as const) {
      const { [field]: _left, ...rest } = required;
      expect(() => defineTool(rest as never)).toThrow(
        expect.objectContaining({
          code: 'INVALID_METADATA',
          message: expect.stringContaining(field),
        }),
      );
    }
  });

  it.each(['manual', 'compact'])('says yes or no about being %s, and nothing else', (field) => {
    for (const value of [null, 'true', 'yes', 1, 0, []])
      expect(() => definitionOf({ ...required, [field]: value })).toThrow(
        expect.objectContaining({
          code: 'INVALID_METADATA',
          message: expect.stringContaining(field),
        }),
      );
    for (const value of [true, false])
      expect(definitionOf({ ...required, [field]: value })).toMatchObject({ [field]: value });
  });

  it('has a summary of text', () => {
    expect(() => defineTool({ ...required, summary: 5 } as never)).toThrow(
      expect.objectContaining({ message: expect.stringContaining('summary') }),
    );
  });

  it('is refused with everything that is wrong at once', () => {
    const issuesOf = (options: object): unknown => {
      try {
        definitionOf({ ...required, ...options });
        return [];
      } catch (error) {
        return (error as { details: { issues: { path: string[] }[] } }).details.issues.map(
          ({ path }) => path[0],
        );
      }
    };
    expect(issuesOf({ name: '', manual: 'x', summary: 5 })).toEqual(
      expect.arrayContaining(['name', 'manual', 'summary']),
    );
    expect(issuesOf({ name: 'a b' })).toEqual(['name']);
  });

  it('has a name of its own in a registry', () => {
    const registry = registryOf(definitionOf(required));
    expect(() => registry.register(definitionOf(required))).toThrow(
      expect.objectContaining({ code: 'DUPLICATE_TOOL' }),
    );
  });

  it('without code is the same after it was JSON, and manual stays no where it was not said', () => {
    for (const options of [{ manual: true, compact: true }, { manual: true }]) {
      const tool = definitionOf({ ...required, ...options });
      const json = JSON.parse(JSON.stringify(toolToJson(tool))) as Record<string, unknown>;
      const { tools } = toolsFromJson([json]);
      expect(tools.map((each) => toolToJson(each))).toEqual([json]);
      expect(tools[0]).toEqual(tool);
    }
    const { manual: _manual, ...without } = JSON.parse(
      JSON.stringify(toolToJson(definitionOf({ ...required, manual: false }))),
    ) as Record<string, unknown>;
    const stored = toolsFromJson([{ ...without }], { weather: () => 'sunny' });
    expect([...stored.tools, ...stored.changed.map(({ tool }) => tool)][0]?.manual ?? false).toBe(
      false,
    );
  });

  it('with code is stored without, and says what is missing until it has it again', () => {
    const tool = defineTool({ ...required, execute: () => 'sunny' });
    const json = JSON.parse(JSON.stringify([toolToJson(tool)])) as unknown;
    expect(JSON.stringify(json)).not.toContain('sunny');
    expect(toolsFromJson(json).missing).toEqual([{ name: 'weather', parts: ['execute'] }]);
    expect(toolsFromJson(json, { weather: () => 'sunny' }).tools.map(({ name }) => name)).toEqual([
      'weather',
    ]);
  });
});

function registryOf(...tools: readonly ToolDefinition[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools);
  return registry;
}

describe('what becomes of a call', () => {
  const outcomeOf = async (execute: ToolDefinition['execute'] | undefined, input: unknown = {}) =>
    new ToolExecutor({
      registry: registryOf(definitionOf({ ...reads, ...required, ...(execute && { execute }) })),
    }).execute(
      { id: '1', name: 'weather', input },
      { conversationId: 's1', context: { tenant: 'x' } },
    );

  it('is what the tool says with the helpers, unchanged', async () => {
    expect(await outcomeOf(() => ok(42))).toMatchObject({ status: 'ok', value: 42 });
    expect(await outcomeOf(() => fail('biz'))).toMatchObject({
      status: 'error',
      code: 'EXECUTION_FAILED',
      message: 'biz',
    });
    expect(await outcomeOf(() => askUser('Which?'))).toMatchObject({
      status: 'ask_user',
      question: 'Which?',
    });
    expect(await outcomeOf(() => askUser('Which?', ['a', 'b']))).toMatchObject({
      status: 'ask_user',
      question: 'Which?',
      options: ['a', 'b'],
    });
    expect(await outcomeOf(() => halt('done', 'v'))).toMatchObject({
      status: 'halt',
      reason: 'done',
      value: 'v',
    });
  });

  it('is an error when the tool throws, whatever it throws', async () => {
    expect(
      await outcomeOf(() => {
        throw new Error('broken');
      }),
    ).toMatchObject({ status: 'error', message: 'broken' });
    expect(
      await outcomeOf(() => Promise.reject(new DOMException('stopped', 'AbortError'))),
    ).toMatchObject({ status: 'error', message: 'stopped' });
    expect(
      await outcomeOf(() => {
        throw 'text' as unknown as Error;
      }),
    ).toMatchObject({ status: 'error', message: 'text' });
    expect(
      await outcomeOf(() => {
        throw undefined as unknown as Error;
      }),
    ).toMatchObject({ status: 'error' });
  });

  it('is an error that names what is wrong when the answer says it is made by a helper, and is not', async () => {
    const forged = Object.defineProperty({ status: 'error' }, Symbol.for('tooldex/result/v1'), {
      value: true,
    });
    expect(await outcomeOf(() => forged)).toMatchObject({
      status: 'error',
      code: 'INVALID_RESULT',
      message: expect.stringContaining('message as text'),
    });
  });

  it('is an error where nothing can run it', async () => {
    expect(await outcomeOf(undefined)).toMatchObject({ status: 'error', code: 'NOT_EXECUTABLE' });
  });

  it('knows the call, the conversation and the context of its caller', async () => {
    expect(
      await outcomeOf((_input, { callId, conversationId, context }) => ({
        callId,
        conversationId,
        context,
      })),
    ).toMatchObject({ value: { callId: '1', conversationId: 's1', context: { tenant: 'x' } } });
  });
});

describe('what a model reads of a value', () => {
  const textOf = (value: unknown) => {
    const output = encodeValue(value);
    return output.type === 'text'
      ? output.value
      : JSON.stringify((output as { value: unknown }).value);
  };

  it('is text as it is, and everything else as JSON', () => {
    expect(['text', '', null, 42, true, false, undefined].map(textOf)).toEqual([
      'text',
      '',
      'null',
      '42',
      'true',
      'false',
      'null',
    ]);
    for (const value of [{ a: { b: [1, 'x', null] } }, [1, [2]], 3.14])
      expect(JSON.parse(textOf(value))).toEqual(value);
  });

  it('is byte-equal for the same value', () => {
    const value = { b: 1, a: [{ y: 1, x: 2 }] };
    expect(JSON.stringify(encodeValue(value))).toBe(
      JSON.stringify(encodeValue(structuredClone(value))),
    );
  });

  it('is an error, and no crash, for what cannot be JSON', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    for (const value of [() => 1, Symbol('x'), 1n, circle, { deep: [1n] }, Number.NaN]) {
      expect(() => encodeValue(value)).toThrow(TypeError);
    }
  });
});

describe('tools shown in short', () => {
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

  it('bring no help along where there are none', async () => {
    expect((await run(['hi'], [plain])).names).toEqual(['plain']);
  });

  it('are one line and the required parameters, with one tool that explains them', async () => {
    const { names, requests } = await run(['hi'], [x(), plain, y]);
    expect(names).toEqual(['find_tools', 'x', 'plain', 'y']);
    expect(requests[0]!.tools[1]).toMatchObject({
      description: 'Does x',
      inputSchema: { properties: { a: { type: 'number' } }, required: ['a'] },
    });
    expect(JSON.stringify(requests[0]!.tools[1])).not.toContain('How much');
  });

  it('are explained when the model asks, and run', async () => {
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

  it('do not run without what they need, and are explained then', async () => {
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

  it('are the same in every turn, to the byte', async () => {
    const { requests } = await run(
      [help('h', 'x'), { calls: [{ name: 'x', input: { a: 1 } }] }, 'done'],
      [x(), plain, y],
    );
    expect(new Set(requests.map(({ tools }) => JSON.stringify(tools))).size).toBe(1);
    expect(requests.length).toBe(3);
  });

  it('are shown whole where the model must call them', async () => {
    const { requests } = await run(['hi'], [x(), y], { toolChoice: { toolName: 'x' } });
    expect(requests[0]!.toolChoice).toEqual({ toolName: 'x' });
    expect(
      requests[0]!.tools.map(({ inputSchema }) => JSON.stringify(inputSchema).includes('How much')),
    ).toEqual([false, true, false]);
  });

  it('leave no room for another tool with the name of their help, which is ordinary without them', async () => {
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

  it('are explained also where the executor does nothing', async () => {
    class Broken extends ToolExecutor {
      override executeAll(): never {
        throw new Error('no');
      }
    }
    const { result } = await run([help('h', 'x'), 'done'], undefined as never, {
      executor: new Broken({ registry: registryOf(x()) }),
    });
    expect(outputsOf(result.messages)).toMatchObject({ h: { value: { tools: [{ name: 'x' }] } } });
  });

  it('may be manual, and their help never is', async () => {
    const { result } = await run(
      [help('h', 'm'), { calls: [{ id: 'a', name: 'm', input: {} }] }],
      [toolOf('m', undefined, { manual: true, compact: true })],
    );
    expect(result).toMatchObject({
      haltedReason: 'manual_tool_calls',
      pending: [{ callId: 'a' }],
      turns: [{}, {}],
    });
  });

  it('wait in the mode manual with all others, and the caller can make the answer', async () => {
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

  it('take a turn for each explanation', async () => {
    const { result } = await run(
      [help('h', 'x'), { calls: [{ name: 'x', input: { a: 1 } }] }, 'never'],
      [x()],
      { maxTurns: 2 },
    );
    expect(result.haltedReason).toBe('max_turns');
  });
});
