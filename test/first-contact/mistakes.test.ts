/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-return -- a program in plain JavaScript */
import { jsonSchema } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as tooldex from '../../src/index.js';
import { chat } from '../../src/chat.js';
import { toAISDKTools } from '../../src/interop.js';
import { loadTools } from '../../src/load.js';

const {
  ToolExecutor,
  ToolMetadataRegistry,
  SafetyPolicy,
  createToolSearchTool,
  defineTool,
  lintTools,
  planExecution,
  selectTools,
} = tooldex;

const read = defineTool({
  name: 'read',
  description: 'Reads',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  accessMode: 'readonly',
  dangerLevel: 'safe',
  execute: () => 1,
});
const bare = { description: 'Does nothing', inputSchema: z.object({}) };
const Greet = tooldex.tool({ ...bare, name: 'greet' })(
  class Greet {
    execute() {
      return 1;
    }
  },
);
const Notes = tooldex.toolkit(
  {},
  { find: { ...bare, name: 'note_find' }, list: { ...bare, name: 'note_list' } },
)(
  class Notes {
    find() {}
    list() {}
  },
);
const module: object = await import('./a-module.js');

/** The package as a plain JavaScript program uses it, without types that reject arguments. */
const js = {
  registry: () => {
    const registry: any = new ToolMetadataRegistry();
    registry.register(read);
    return registry;
  },
  empty: () => new ToolMetadataRegistry() as any,
  Executor: ToolExecutor as any,
  Registry: ToolMetadataRegistry as any,
  Policy: SafetyPolicy as any,
  selectTools: selectTools as any,
  planExecution: planExecution as any,
  createToolSearchTool: createToolSearchTool as any,
  lintTools: lintTools as any,
  loadTools: loadTools as any,
  chat: chat as any,
  toAISDKTools: toAISDKTools as any,
};
const call = { id: '1', name: 'read', input: {} };

/** The mistake, the code that makes it, and the message, which must explain the fix. */
const THROWN: readonly (readonly [
  mistake: string,
  make: () => unknown,
  ...says: readonly string[],
])[] = [
  [
    'new ToolExecutor(registry)',
    () => new js.Executor(js.registry()),
    'got an instance of ToolMetadataRegistry. Write { registry }.',
  ],
  [
    'new ToolExecutor()',
    () => new js.Executor(),
    'registry: Expected a ToolMetadataRegistry, got undefined.',
  ],
  [
    'new ToolExecutor({ tools })',
    () => new js.Executor({ tools: [read] }),
    'registry: Expected a ToolMetadataRegistry',
    'Expected a known option, got "tools". Known options: registry,',
  ],
  [
    'new ToolExecutor({ registry: [tool] })',
    () => new js.Executor({ registry: [read] }),
    'registry: Expected a ToolMetadataRegistry, got a list of 1.',
  ],
  ['new SafetyPolicy(registry)', () => new js.Policy(js.registry()), 'Write { registry }.'],
  [
    'new SafetyPolicy({ mode: "readonly" })',
    () => new js.Policy({ registry: js.registry(), mode: 'readonly' }),
    'mode: Expected one of "default", "read-only"',
    'got "readonly". Did you mean "read-only"?',
  ],
  [
    'a policy rule with tool and effect',
    () => new js.Policy({ registry: js.registry(), rules: [{ tool: 'read', effect: 'deny' }] }),
    'Did you mean "tools"?',
    'verdict: Expected one of "allow", "confirm", "deny"',
  ],
  [
    'new ToolMetadataRegistry([tool])',
    () => new js.Registry([read]),
    'Expected an object with registry options, got a list of 1. Register tools afterwards: registry.registerAll([…]).',
  ],
  ['new ToolMetadataRegistry(tool)', () => new js.Registry(read), 'Register tools afterwards'],
  [
    'register([tool])',
    () => js.empty().register([read]),
    'got a list of 1. Register a list of tools with registerAll(list)',
  ],
  [
    'register(promise)',
    () => js.empty().register(Promise.resolve(read)),
    'got a promise. Await it first',
  ],
  ['register(module)', () => js.empty().register(module), 'registerAll(Object.values(module))'],
  [
    'register("name", tool)',
    () => js.empty().register('read', read),
    'got "read". Pass the tool itself instead of its name',
  ],
  [
    'register(options)',
    () => js.empty().register({ name: 'x', description: 'y', inputSchema: {}, execute: () => 1 }),
    'Wrap plain options in defineTool({…})',
  ],
  [
    'register(function)',
    () => js.empty().register(() => 1),
    'got the undecorated function. Wrap plain options in defineTool',
  ],
  [
    'register()',
    () => js.empty().register(),
    'Expected a tool (made with defineTool',
    'got undefined',
  ],
  [
    'register(tool, tool)',
    () => js.empty().register(read, read),
    'Expected a known option, got "name". Known options: replace, prefix.',
  ],
  [
    'register(tool, { override })',
    () => js.empty().register(read, { override: true }),
    'Known options: replace, prefix.',
  ],
  [
    'register(tool) twice',
    () => js.registry().register(read),
    'The name "read" is already taken. Register each tool once, rename one of them, or pass {replace: true}.',
  ],
  [
    'registerAll(module)',
    () => js.empty().registerAll(module),
    "Expected a list of tools, got an object. Register a module's exports with registerAll(Object.values(module)).",
  ],
  [
    'registerAll({ read })',
    () => js.empty().registerAll({ read }),
    'registerAll(Object.values(tools))',
  ],
  ['registerAll(tool)', () => js.empty().registerAll(read), 'Use register for a single tool'],
  [
    'registerAll(promise)',
    () => js.empty().registerAll(Promise.resolve([read])),
    'got a promise. Await it first.',
  ],
  [
    'registerAll("glob")',
    () => js.empty().registerAll('src/*.ts'),
    'load files with loadTools from tooldex/load.',
  ],
  [
    'registerAll(Object.values(module)) with a number',
    () => js.empty().registerAll(Object.values(module)),
    'Expected a tool (made with defineTool, or a class or instance decorated with @tool) at position 0 of the list, got 1. Remove it',
  ],
  [
    'registerAll(Object.values(module)) with a function',
    () => js.empty().registerAll([read, function helper() {}]),
    'at position 1 of the list, got the undecorated helper. Remove it',
  ],
  [
    'registerAll(Object.values(module)) with a schema',
    () => js.empty().registerAll([read, z.object({})]),
    'at position 1 of the list, got an instance of ZodObject. Remove it',
  ],
  [
    'register(an instance without decoration)',
    () => js.empty().register(new (class Plain {})()),
    'got an instance of Plain. Wrap plain options',
  ],
  [
    'register(a tool of the AI SDK)',
    () => js.empty().register({ description: 'x', inputSchema: z.object({}), execute: () => 1 }),
    'Convert tools of the AI SDK with registerAll(fromAISDKTools({ name: tool }))',
  ],
  [
    'registerAll(a tool set of the AI SDK)',
    () => js.empty().registerAll({ read: { inputSchema: z.object({}) } }),
    'Expected a list of tools, got an object. Convert tools of the AI SDK',
  ],
  [
    'register(jsonSchema(…))',
    () => js.empty().register(jsonSchema({ type: 'object' })),
    'A schema describes only the input of a tool: write defineTool({',
  ],
  [
    'defineTool with jsonSchema(…)',
    () =>
      defineTool({
        ...bare,
        execute: () => 1,
        name: 'x',
        inputSchema: jsonSchema({ type: 'object' }),
      }),
    'Pass its jsonSchema: inputSchema: schema.jsonSchema.',
  ],
  [
    'register(a LangChain tool)',
    () => js.empty().register({ name: 'x', schema: {}, invoke: () => 1 }),
    'Convert LangChain tools with registerAll(fromLangChainTools([tool]))',
  ],
  [
    "defineTool with a manifest's name of an option",
    () =>
      defineTool({
        ...bare,
        execute: () => 1,
        name: 'x',
        default_timeout: 5,
      } as object as Parameters<typeof defineTool>[0]),
    'default_timeout: Expected a known option, got "default_timeout". Did you mean "timeoutMs"?',
  ],
  [
    'new ToolMetadataRegistry(an unknown option)',
    () => new tooldex.ToolMetadataRegistry({ resolver: () => ({}) } as object),
    'Invalid options of the registry',
    'got "resolver". Did you mean "resolve"?',
  ],
  [
    "summary('Atlas')",
    () => js.empty().summary('Atlas'),
    'call summary({ persona }) on a CapabilityRegistry',
  ],
  [
    'register(a toolkit without tools)',
    () => js.empty().register(tooldex.toolkit({ category: 'x' })(class Kit {})),
    'got the toolkit Kit, which has no methods with @tool. Decorate its methods',
  ],
  [
    'askUser(question, { options })',
    () => tooldex.askUser('Which?', { options: ['a'] }),
    'Expected a known option of askUser, got "options". Did you mean "choices"?',
  ],
  [
    'defineTool with a name that has blanks',
    () => defineTool({ ...bare, execute: () => 1, name: 'my tool!' }),
    'letters, digits, dots, underscores and hyphens, got "my tool!".',
  ],
  [
    'defineTool with an upper-case level',
    () => defineTool({ ...bare, execute: () => 1, name: 'x', dangerLevel: 'LOW' as any }),
    'got "LOW". Did you mean "low"?',
  ],
  [
    'registerAll([[tool]])',
    () => js.empty().registerAll([[read]]),
    'Register a list of tools with registerAll(list)',
  ],
  [
    'registerAll([promise])',
    () => js.empty().registerAll([Promise.resolve(read)]),
    'got a promise. Await it first',
  ],
  [
    'filter()',
    () => js.registry().filter(),
    'Expected the conditions of a filter',
    'got undefined',
    '[...registry]',
  ],
  ['filter(function)', () => js.registry().filter(() => true), 'got a function', '[...registry]'],
  [
    'filter({ maxDangr })',
    () => js.registry().filter({ maxDangr: 'low' }),
    'got "maxDangr". Did you mean "maxDanger"?',
  ],
  [
    'filter({ accessMode: "read" })',
    () => js.registry().filter({ accessMode: 'read' }),
    'Expected one of "readonly", "write", "execute", "mixed", got "read". Did you mean "readonly"?',
  ],
  [
    'getByDangerLevel("LOW")',
    () => js.empty().getByDangerLevel('LOW'),
    'Expected one of "safe", "low", "medium", "high", "critical", got "LOW". Did you mean "low"?',
  ],
  [
    'getByDangerLevel("dangerous")',
    () => js.registry().getByDangerLevel('dangerous'),
    'Did you mean "high"?',
  ],
  [
    'getByAccessMode("READ_ONLY")',
    () => js.registry().getByAccessMode('READ_ONLY'),
    'got "READ_ONLY". Did you mean "readonly"?',
  ],
  [
    'getByExecutionCategory("readonly")',
    () => js.registry().getByExecutionCategory('readonly'),
    'Did you mean "read_only"?',
  ],
  ['getByCostTier("cheap")', () => js.registry().getByCostTier('cheap'), 'Did you mean "low"?'],
  [
    'getByPriority("hihg")',
    () => js.registry().getByPriority('hihg'),
    'Expected one of "critical", "high", "medium", "low", 0, 1, 2, 3, got "hihg". Did you mean "high"?',
  ],
  [
    'getByDangerLevel(DangerLevel.HIHG)',
    () => js.registry().getByDangerLevel((tooldex.DangerLevel as any).HIHG),
    'Expected one of "safe", "low", "medium", "high", "critical", got undefined.',
  ],
  [
    'get(tool)',
    () => js.registry().get(read),
    'Expected the name of a tool, got the tool itself. Pass its name: "read".',
  ],
  ['get(entry)', () => js.registry().get(js.registry().get('read')), 'Pass its name: "read".'],
  [
    'has(Class)',
    () => js.empty().has(Greet),
    'Expected the name of a tool, got the tool itself. Pass its name: "greet".',
  ],
  ['require(instance)', () => js.empty().require(new (Greet as any)()), 'Pass its name: "greet".'],
  [
    'unregister(Toolkit)',
    () => js.empty().unregister(Notes),
    'Pass one of its names: "note_find" or "note_list".',
  ],
  ['unregister(tool)', () => js.registry().unregister(read), 'Pass its name: "read".'],
  ['require("raed")', () => js.registry().require('raed'), 'No tool is registered as "raed"'],
  ['search()', () => js.registry().search(), 'Expected a string, got undefined'],
  [
    'search({ text })',
    () => js.registry().search({ text: 'read' }),
    'Expected a string, got an object',
  ],
  ['search(text, 5)', () => js.registry().search('read', 5), 'options of search', 'got 5'],
  [
    'getToolsMatchingTextScored(text, { limit })',
    () => js.registry().getToolsMatchingTextScored('x', { limit: 1 }),
    'minScore, maxResults',
  ],
  [
    'search(text, { max })',
    () => js.registry().search('read', { max: 5 }),
    'got "max". Known options: limit, filter, vector.',
  ],
  [
    'selectTools(registry, { max })',
    () => js.selectTools(js.registry(), { max: 5 }),
    'text: Expected a string, got undefined',
    'Did you mean "maxTools" or "maxDanger" or "maxCostTier"?',
  ],
  [
    'selectTools(registry, "text")',
    () => js.selectTools(js.registry(), 'read'),
    'got "read". Write { text: … }.',
  ],
  [
    'selectTools([tool], { text })',
    () => js.selectTools([read], { text: 'read' }),
    'Expected a ToolMetadataRegistry as the first argument, got a list of 1.',
    'call selectTools(registry, { text })',
  ],
  [
    'selectTools({ registry, text })',
    () => js.selectTools({ registry: js.registry(), text: 'read' }),
    'call selectTools(registry, { text })',
  ],
  [
    'createToolSearchTool([tool])',
    () => js.createToolSearchTool([read]),
    'call createToolSearchTool(registry)',
  ],
  [
    'a policy rule whose tools have another wildcard',
    () =>
      new js.Policy({
        registry: js.registry(),
        rules: [{ verdict: 'deny', tools: ['read', 'w?'] }],
      }),
    'tools[1]: Expected a pattern of tool names in which only "*" is special',
    'got "w?"',
  ],
  [
    'chat({ maxSteps })',
    () => js.chat({ model: () => undefined, tools: [read], prompt: 'x', maxSteps: 3 }),
    'got "maxSteps". Did you mean "maxTurns"?',
  ],
  [
    'chat({ mode: "unattended" })',
    () => js.chat({ model: () => undefined, tools: [read], prompt: 'x', mode: 'unattended' }),
    'mode: Expected one of "auto", "manual", got "unattended". Set the mode of the policy with policyMode.',
  ],
  [
    'toAISDKTools(registry, executor)',
    () => js.toAISDKTools(js.registry(), new js.Executor({ registry: js.registry() })),
    'Write { executor }.',
  ],
  ['lintTools([tool])', () => js.lintTools([read]), 'Register the tools in a registry first.'],
  ['loadTools()', () => js.loadTools(), "Call loadTools('src/tools/**/*.ts')."],
];

const REFUSED: readonly (readonly [
  mistake: string,
  args: readonly unknown[],
  ...says: readonly string[],
])[] = [
  [
    'execute("name", input)',
    ['read', { a: 1 }],
    'Expected a call as { id, name, input }, got "read". Write execute(',
  ],
  ['execute()', [], 'Expected a call as { id, name, input }, got undefined'],
  ['execute([call])', [[call]], 'Use executeAll(calls) for several calls.'],
  ['execute(promise)', [Promise.resolve(call)], 'got a promise. Await it first.'],
  [
    'execute with JSON text as input',
    [{ ...call, input: '{"a":1}' }],
    'Parse the JSON text first.',
  ],
  [
    'execute with arguments instead of input',
    [{ id: '1', name: 'read', arguments: { a: 1 } }],
    'got arguments. Write { id, name, input }',
  ],
  [
    'execute with toolName instead of name',
    [{ id: '1', toolName: 'read', input: {} }],
    "Expected the call's name under name, got toolName. Write { id, name, input }.",
  ],
  [
    "execute with a call in OpenAI's format",
    [{ id: '1', type: 'function', function: { name: 'read', arguments: '{}' } }],
    'got function. Write { id, name, input }.',
  ],
  [
    'execute with a misspelled option',
    [call, { principle: 'ada' }],
    'got "principle". Did you mean "principal"?',
  ],
  [
    'execute with the promise of a policy',
    [call, { policy: Promise.resolve({}) }],
    'Expected policy as an object, got a promise.',
  ],
  ['execute with an unknown name', [{ ...call, name: 'raed' }], 'There is no tool named "raed"'],
];

describe("the error for a beginner's mistake explains the fix", () => {
  it.each(THROWN)('%s', async (_, make, ...says) => {
    const error: unknown = await Promise.resolve()
      .then(() => (make as () => unknown)())
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    if (!tooldex.isToolError(error)) throw new Error('Expected a ToolError', { cause: error });
    for (const part of says) expect(error.message).toContain(part);
  });

  it.each(REFUSED)('%s', async (_, args, ...says) => {
    const outcome = await (new ToolExecutor({ registry: js.registry() }) as any).execute(...args);
    expect(outcome.status).toBe('error');
    for (const part of says) expect(outcome.message).toContain(part);
  });

  it('a rejected registration changes nothing', () => {
    const registry = js.empty();
    expect(() => registry.register(read, read)).toThrow();
    expect(registry.size).toBe(0);
  });
});
