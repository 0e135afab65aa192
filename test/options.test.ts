import { describe, expect, it } from 'vitest';
import { isToolError, issuesOf } from '../src/core/errors.js';
import { createDiscoveryApp, serve } from '../src/http.js';
import { CapabilityRegistry, loadFunctionMap, loadManifest } from '../src/capability.js';
import { chat, Session } from '../src/chat.js';
import {
  createToolSearchTool,
  SafetyPolicy,
  selectTools,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../src/index.js';
import * as interop from '../src/interop.js';
import {
  fromAISDKTools,
  fromLangChainTools,
  toAISDKTools,
  toAnthropicTools,
  toGeminiTools,
  toLangChainTools,
  toMcpTools,
  toOpenAIAgentsTools,
  toOpenAITools,
} from '../src/interop.js';
import { createMcpServer, DefinitionPins, McpDiscovery } from '../src/mcp.js';
import {
  exponentialBackoff,
  ProviderRouter,
  RollingHealth,
  PublishedHealth,
} from '../src/providers.js';
import { MemoryStateStore, RedisStateStore } from '../src/state.js';

const registry = new ToolMetadataRegistry();
const store = new MemoryStateStore();
const model = () => Promise.reject(new Error('never asked'));
const noTools: never[] = [];
const executor = new ToolExecutor({ registry });
const capabilities = await CapabilityRegistry.load();

/**
 * Everything that takes options: the function, valid options, and an option with a value of the wrong
 * type.
 */
const TAKERS: readonly (readonly [
  name: string,
  call: (options: never) => unknown,
  good: Readonly<Record<string, unknown>>,
  option: string,
  wrong: unknown,
])[] = [
  ['ToolExecutor', (options) => new ToolExecutor(options), { registry }, 'timeoutMs', '5'],
  ['SafetyPolicy', (options) => new SafetyPolicy(options), { registry }, 'mode', 'lax'],
  [
    'a SafetyPolicy rule',
    (rule) => new SafetyPolicy({ registry, rules: [rule] }),
    { verdict: 'allow' },
    'principals',
    5,
  ],
  ['selectTools', (options) => selectTools(registry, options), { text: 'x' }, 'maxTools', -1],
  [
    'createToolSearchTool',
    (options) => createToolSearchTool(registry, options),
    {},
    'maxResults',
    0,
  ],
  ['registry.search', (options) => registry.search('x', options), {}, 'limit', 'ten'],
  [
    'registry.getToolsMatchingTextScored',
    (options) => registry.getToolsMatchingTextScored('x', options),
    {},
    'minScore',
    'high',
  ],
  ['registry.filter', (options) => registry.filter(options), {}, 'category', 5],
  ['chat', (options) => chat(options), { model, tools: noTools, messages: noTools }, 'maxTurns', 0],
  [
    'chat (prompt)',
    (options) => chat(options),
    { model, tools: noTools, messages: noTools },
    'prompt',
    5,
  ],
  ['Session.create', (options) => Session.create(options), {}, 'id', 'no blanks'],
  ['CapabilityRegistry.load', (options) => CapabilityRegistry.load(options), {}, 'root', 5],
  ['capabilities.tools', (query) => capabilities.tools(query), {}, 'minSuccessRate', 80],
  ['capabilities.skills', (query) => capabilities.skills(query), {}, 'capability', ' '],
  ['capabilities.tasks', (query) => capabilities.tasks(query), {}, 'available', 'yes'],
  ['capabilities.jobs', (query) => capabilities.jobs(query), {}, 'requireCalls', 1],
  ['loadManifest', (options) => loadManifest('x.json', options), {}, 'persona', 5],
  ['loadFunctionMap', (options) => loadFunctionMap(options), { files: 'x.json' }, 'persona', 5],
  [
    'McpDiscovery.discover',
    (options) => new McpDiscovery({ servers: {} }, options),
    {},
    'onElicit',
    5,
  ],
  ['DefinitionPins', (options) => new DefinitionPins(options), {}, 'onNew', 'ask'],
  ['exponentialBackoff', (options) => exponentialBackoff(1, options), {}, 'baseMs', -1],
  [
    'ProviderRouter',
    (options) => new ProviderRouter(options),
    { toolName: 'x', providers: [], factories: {} },
    'failuresToEject',
    0,
  ],
  ['RollingHealth', (options) => new RollingHealth(options), {}, 'size', 1.5],
  ['PublishedHealth', (options) => new PublishedHealth(options), { store }, 'size', 1.5],
  ['MemoryStateStore', (options) => new MemoryStateStore(options), {}, 'clock', 5],
  [
    'RedisStateStore.connect',
    (options) => RedisStateStore.connect(options),
    { url: 'redis://localhost:1' },
    'prefix',
    5,
  ],
  ['toOpenAITools', (options) => toOpenAITools(noTools, options), {}, 'level', 'half'],
  ['toAnthropicTools', (options) => toAnthropicTools(noTools, options), {}, 'level', 'half'],
  ['toGeminiTools', (options) => toGeminiTools(noTools, options), {}, 'level', 'half'],
  ['toMcpTools', (options) => toMcpTools(noTools, options), {}, 'level', 'half'],
  ['toAISDKTools', (options) => toAISDKTools(noTools, options), {}, 'executor', {}],
  [
    'toLangChainTools',
    (options) => toLangChainTools(noTools, options),
    { executor },
    'confirm',
    true,
  ],
  [
    'toOpenAIAgentsTools',
    (options) => toOpenAIAgentsTools(noTools, options),
    { executor },
    'principal',
    5,
  ],
  ['fromAISDKTools', (options) => fromAISDKTools({}, options), {}, 'trusted', 'yes'],
  [
    'fromLangChainTools',
    (options) => fromLangChainTools(noTools, options),
    {},
    'overrides',
    { x: 1 },
  ],
  ['createMcpServer', (options) => createMcpServer(registry, options), {}, 'maxTools', 0],
  [
    'createDiscoveryApp',
    (options) => createDiscoveryApp(capabilities, options),
    {},
    'allowedOrigins',
    ['no origin'],
  ],
  ['serve', (options) => serve(capabilities, options), {}, 'maxListeners', -1],
];

async function refusalOf(call: (options: never) => unknown, options: object) {
  try {
    await call(options as never);
  } catch (error) {
    if (isToolError(error, 'INVALID_ARGUMENT')) return error;
    throw error;
  }
  throw new Error('accepted');
}

it('every function that exports or imports tools is listed here', () => {
  const functions = Object.keys(interop).filter((name) => /^(?:to|from)/.test(name));
  const listed = TAKERS.map(([name]) => name);
  expect(functions.filter((name) => !listed.includes(name))).toEqual([]);
});

describe.each(TAKERS)('options of %s', (_, call, good, option, wrong) => {
  // Removes one letter, like a typing error.
  const misspelt = `${option.slice(0, -2)}${option.at(-1)!}`;

  it('with a misspelled name are rejected, and the error suggests the right name', async () => {
    const options = { ...good, [misspelt]: 1 };
    const error = await refusalOf(call, options);
    expect(error.message).toContain(
      `Expected a known option, got ${JSON.stringify(misspelt)}. Did you mean ${JSON.stringify(option)}?`,
    );
    expect(issuesOf(error)).toHaveLength(1);
    expect(options).toEqual({ ...good, [misspelt]: 1 });
  });

  it('with values of the wrong type are rejected, and one error lists the path of each value', async () => {
    const options = Object.freeze({ ...good, [option]: wrong, '': 1 });
    const error = await refusalOf(call, options);
    expect(issuesOf(error).map(({ path }) => path[0])).toEqual(
      expect.arrayContaining([option, undefined]),
    );
    for (const { message } of issuesOf(error)) expect(message).toMatch(/^Expected .+, got .+[.?]$/);
    expect(error.message).toMatch(/^Invalid .+:\n {2}/);
  });

  it.each([null, 5, 'text', [[]], new Map()])(
    "are rejected if they aren't a plain object: %s",
    async (options) => {
      await refusalOf(call, options as object);
    },
  );
});
