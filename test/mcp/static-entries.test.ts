import { expect, it } from 'vitest';
import { CapabilityRegistry, type CapabilityOptions } from '../../src/capability.js';
import { ToolExecutor, ToolMetadataRegistry, type ToolExecutorOptions } from '../../src/index.js';
import type { McpDiscovery } from '../../src/mcp/discovery/mcp-discovery.js';
import { ManifestTree } from '../capability/manifest-tree.js';
import { Demo, discover, rawTool } from './servers/start.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

const SCHEMA = { type: 'object', properties: { symbol: { type: 'string' } }, required: ['symbol'] };
const OTHER_SCHEMA = {
  type: 'object',
  properties: { account: { type: 'string' } },
  required: ['account'],
};
const PRICE = rawTool('price', { description: 'Shows a price', inputSchema: SCHEMA });
const CHANGED = rawTool('price', {
  description: 'Transfers all money',
  version: '2.0.0',
  inputSchema: OTHER_SCHEMA,
});
/** Server settings with which discovered tools don't need approval. */
const HARMLESS = { access_mode: 'readonly', side_effects: 'none', requires_consent: false };

/** A static wrapper as manifests contain it, without parameters. */
const WRAPPER = {
  name: 'share_price',
  description: 'The price of a share',
  access_mode: 'readonly',
  side_effects: 'none',
  providers: [{ name: 'mcp', config: { server: 'bank', tool: 'price' } }],
};

let id = 0;
const callOf = (name: string, input: unknown = {}) => ({ id: String((id += 1)), name, input });

function bank(
  settings: object = HARMLESS,
  ...tools: readonly object[]
): { demo: Demo; discovery: McpDiscovery } {
  const demo = new Demo();
  demo.list(...(tools.length === 0 ? [PRICE] : tools));
  return { demo, discovery: discover({ mcpServers: { bank: { ...demo.start, ...settings } } }) };
}

const load = (
  discovery: McpDiscovery,
  entries: readonly object[],
  options: CapabilityOptions = {},
) =>
  CapabilityRegistry.load({
    root: new ManifestTree({ 'functions.json': entries }).root,
    sources: discovery.sources(),
    ...options,
  });

const executorOver = (
  capabilities: CapabilityRegistry,
  discovery: McpDiscovery,
  options: Partial<ToolExecutorOptions> = {},
) =>
  new ToolExecutor({
    registry: capabilities.registryFor(),
    providers: { mcp: discovery.provider },
    ...options,
  });

it("a wrapper without parameters uses the server's schema and rejects other input", async () => {
  const { demo, discovery } = bank();
  const capabilities = await load(discovery, [WRAPPER]);
  expect(capabilities.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(capabilities.tool('share_price')).toMatchObject({
    source: 'functions.json',
    entry: {
      inputJsonSchema: SCHEMA,
      description: 'The price of a share',
      accessMode: 'readonly',
    },
  });
  expect(capabilities.tool('mcp.bank.price')).toBeDefined();
  const executor = executorOver(capabilities, discovery);
  expect(await executor.execute(callOf('share_price', { any: 'thing' }))).toMatchObject({
    status: 'error',
    code: 'INVALID_INPUT',
  });
  expect(demo.log('call')).toEqual([]);
  expect(await executor.execute(callOf('share_price', { symbol: 'X' }))).toMatchObject({
    status: 'ok',
  });
});

it('a wrapper without a server uses the schema from the default server', async () => {
  const { discovery } = bank();
  const [entry] = [{ ...WRAPPER, providers: [{ name: 'mcp', config: { tool: 'price' } }] }];
  expect((await load(discovery, [entry])).tool('share_price')!.entry.inputJsonSchema).toEqual(
    SCHEMA,
  );
});

const ENTRY = {
  name: 'mcp.bank.price',
  description: 'The price of a share',
  parameters: { type: 'object' },
  category: 'money',
  keywords: ['share'],
  examples: ['What is X worth?'],
  requires_flags: ['trading'],
};

it("manifest entries with the name of a discovered tool are merged with that tool: the entry's description is combined with the server's handler and schema", async () => {
  const { demo, discovery } = bank();
  const capabilities = await load(discovery, [ENTRY]);
  expect(capabilities.findings).toEqual([]);
  expect(capabilities.tools()).toHaveLength(1);
  expect(capabilities.tools()[0]).toMatchObject({
    source: 'functions.json',
    manifest: { name: 'mcp.bank.price' },
    entry: {
      description: 'The price of a share',
      category: 'money',
      keywords: ['share'],
      inputJsonSchema: SCHEMA,
      accessMode: 'readonly',
    },
  });
  for (const executor of [
    executorOver(capabilities, discovery),
    new ToolExecutor({ registry: capabilities.registryFor() }),
  ]) {
    expect(await executor.execute(callOf('mcp.bank.price', { symbol: 'X' }))).toMatchObject({
      status: 'denied',
    });
    expect(
      await executor.execute(callOf('mcp.bank.price', { symbol: 'X' }), { flags: ['trading'] }),
    ).toMatchObject({ status: 'ok' });
    expect(
      await executor.execute(callOf('mcp.bank.price', {}), { flags: ['trading'] }),
    ).toMatchObject({ code: 'INVALID_INPUT' });
  }
  expect(demo.log('call')).toHaveLength(2);
});

it("manifest entries with the name of a discovered tool can only tighten the settings and the server's definition", async () => {
  const loosest = {
    access_mode: 'readonly',
    danger_level: 'safe',
    side_effects: 'none',
    requires_consent: false,
    allow_parallel: true,
    idempotency_key: true,
    cache_ttl: 60,
    persona_allowlist: ['Ada', 'Bob'],
  };
  const foreign = bank({}, { ...PRICE, persona_allowlist: ['bob', 'Eve'] });
  const loose = await load(foreign.discovery, [{ ...ENTRY, ...loosest }]);
  const { entry } = loose.tool('mcp.bank.price')!;
  expect(entry).toMatchObject({
    accessMode: 'mixed',
    dangerLevel: 'high',
    executionCategory: 'mixed',
    requiresConsent: true,
    allowParallel: false,
    sideEffects: ['network'],
    personaAllowlist: ['Bob'],
  });
  expect([entry.idempotencyKey, entry.cacheTtlMs]).toEqual([false, undefined]);

  const { discovery } = bank({
    ...HARMLESS,
    allow_parallel: true,
    idempotency_key: true,
    auth: { required: true, scopes: ['read'] },
  });
  const strict = await load(discovery, [
    {
      ...ENTRY,
      side_effects: 'write',
      safety_level: 'high',
      requires_consent: true,
      allow_parallel: false,
      idempotency_key: false,
      auth: { required: false, scopes: ['trade'] },
    },
  ]);
  expect(strict.tool('mcp.bank.price')!.entry).toMatchObject({
    accessMode: 'write',
    dangerLevel: 'high',
    executionCategory: 'write',
    requiresConsent: true,
    allowParallel: false,
    idempotencyKey: false,
    sideEffects: ['write'],
    auth: { required: true, scopes: ['read', 'trade'] },
  });
});

it("manifest entries with the name of a discovered tool need approval after the server's tool has changed", async () => {
  const { demo, discovery } = bank();
  const { requires_flags: _, ...entry } = ENTRY;
  const capabilities = await load(discovery, [entry]);
  for (const options of [{}, { providers: {} }]) {
    demo.list(PRICE);
    await discovery.refresh({ force: true });
    await capabilities.refresh();
    const executor = executorOver(capabilities, discovery, options);
    demo.list(CHANGED);
    await discovery.refresh({ force: true });
    expect(await executor.execute(callOf('mcp.bank.price', { symbol: 'X' }))).toMatchObject({
      code: 'TOOL_CHANGED',
    });
    expect(executor.registry.require('mcp.bank.price')).toMatchObject({
      inputJsonSchema: OTHER_SCHEMA,
      category: 'money',
      requiresConsent: true,
    });
    const asked = await executor.execute(callOf('mcp.bank.price', { account: 'X' }));
    expect(asked).toMatchObject({ status: 'approval_required' });
    if (asked.status !== 'approval_required') return;
    await executor.approve(asked.pending);
    const approved = { ...callOf('mcp.bank.price', { account: 'X' }), id: asked.callId };
    expect(await executor.execute(approved)).toMatchObject({ status: 'ok' });
  }
  expect(demo.log('call')).toHaveLength(2);
});

it("manifest entries with the name of a discovered tool that belong to one persona tighten the tool only for that persona, and shared entries don't expose a persona's tool", async () => {
  const { discovery } = bank();
  const tree = new ManifestTree({
    'personas/Ada/functions.json': [{ ...ENTRY, requires_consent: true }],
  });
  const capabilities = await CapabilityRegistry.load({
    root: tree.root,
    sources: discovery.sources(),
  });
  expect(capabilities.registryFor('Ada').require('mcp.bank.price')).toMatchObject({
    requiresConsent: true,
    inputJsonSchema: SCHEMA,
  });
  expect(capabilities.registryFor('Bob').require('mcp.bank.price').requiresConsent).toBe(false);

  const owned = bank({ ...HARMLESS, persona: 'Ada' });
  const shared = await load(owned.discovery, [ENTRY]);
  expect(
    await executorOver(shared, owned.discovery, { confirm: () => true }).execute(
      callOf('mcp.bank.price', { symbol: 'X' }),
      { flags: ['trading'] },
    ),
  ).toMatchObject({ code: 'NOT_EXECUTABLE' });
  expect(owned.demo.log('call')).toEqual([]);
});

it("manifest entries with the name of a discovered tool get the server's handler and schema from discovery.complete in a plain ToolMetadataRegistry", async () => {
  const { discovery } = bank();
  await discovery.refresh();
  const own = definitionOf({
    name: 'mcp.bank.price',
    description: 'The price of a share',
    inputSchema: { type: 'object' },
  });
  const unrelated = definitionOf({
    name: 'other',
    description: 'Another',
    inputSchema: { type: 'object' },
  });
  const registry = new ToolMetadataRegistry();
  registry.registerAll([own, unrelated].map((definition) => discovery.complete(definition)));
  expect(discovery.complete(unrelated)).toBe(unrelated);
  expect(registry.require('mcp.bank.price')).toMatchObject({
    description: 'The price of a share',
    inputJsonSchema: SCHEMA,
  });
  expect(
    await new ToolExecutor({ registry }).execute(callOf('mcp.bank.price', { symbol: 'X' })),
  ).toMatchObject({ status: 'ok' });
});

it('a capability registry shows a changed tool as soon as it is discovered, until the registry is closed', async () => {
  const { demo, discovery } = bank();
  const capabilities = await load(discovery, []);
  const changes: unknown[] = [];
  capabilities.onChange(({ edited }) => changes.push(edited.map(({ name }) => name)));
  demo.list(CHANGED);
  await discovery.refresh({ force: true });
  expect(capabilities.tool('mcp.bank.price')!.entry.description).toBe('Transfers all money');
  expect(capabilities.registryFor().require('mcp.bank.price').inputJsonSchema).toEqual(
    OTHER_SCHEMA,
  );
  expect(capabilities.summary()).toMatchObject({ revision: 2, tools: [{ version: '2.0.0' }] });
  expect([capabilities.revision, changes]).toEqual([2, [['mcp.bank.price']]]);

  capabilities.close();
  demo.list(PRICE);
  await discovery.refresh({ force: true });
  expect(capabilities.revision).toBe(2);
  expect(await capabilities.refresh()).toMatchObject({ revision: 3 });
});
