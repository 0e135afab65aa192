import { describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import {
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolEvent,
  type ToolExecutorOptions,
} from '../../src/index.js';
import { McpProvider, type McpDiscovery } from '../../src/mcp/discovery/mcp-discovery.js';
import { FakeProvider } from '../../src/testing/fake-provider.js';
import { ManifestTree, toolEntry } from '../capability/manifest-tree.js';
import { Demo, discover, hostile, rawTool, listed } from './servers/start.js';

let id = 0;
const callOf = (name: string, input: unknown = {}) => ({ id: String((id += 1)), name, input });

/** Returns an executor that approves everything, with the discovered tools. */
function executorOf(registry: ToolMetadataRegistry, options: Partial<ToolExecutorOptions> = {}) {
  const executor = new ToolExecutor({ registry, confirm: () => true, ...options });
  const events: ToolEvent[] = [];
  executor.on((event) => events.push(event));
  return {
    executor,
    events,
    run: (name: string, input?: unknown, rest: Parameters<ToolExecutor['execute']>[1] = {}) =>
      executor.execute(callOf(name, input), rest),
  };
}

function registryOf(discovery: McpDiscovery): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(discovery.definitions());
  return registry;
}

/** Returns a manifest entry whose first provider is a server's tool. */
const wrapper = (name: string, config: object, ...others: readonly object[]) =>
  toolEntry(name, {
    side_effects: 'network',
    parameters: { type: 'object', properties: { text: { type: 'string' } } },
    providers: [{ name: 'mcp', priority: 0, health_check_interval: 0, config }, ...others],
  });

async function wrapped(
  discovery: McpDiscovery,
  entries: readonly object[],
  options: Partial<ToolExecutorOptions> = {},
) {
  const capabilities = await CapabilityRegistry.load({
    root: new ManifestTree({ 'modules/Tools/tool_maps/functions.json': entries }).root,
  });
  expect(capabilities.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  return executorOf(capabilities.registryFor(), {
    ...options,
    providers: { mcp: discovery.provider, ...(options.providers as object | undefined) },
  });
}

describe('discovered MCP tools', () => {
  it.each([
    ['without providers', {}],
    ['with the mcp provider', { routed: true }],
  ])(
    'need consent and accept arguments with any names in an executor %s',
    async (_, { routed = false }: { routed?: boolean }) => {
      const [a, b] = [new Demo('echo'), new Demo('echo', 'crash')];
      const discovery = await listed({ a: a.start, b: b.start });
      const { run } = executorOf(
        registryOf(discovery),
        routed ? { providers: { mcp: discovery.provider } } : {},
      );
      const input = {
        server: 'b',
        tool: 'crash',
        name: 'crash',
        arguments: { tool: 'crash' },
        payload: { server: 'b' },
        config: {},
        method: 'tools/list',
      };
      expect(await run('mcp.a.echo', input)).toMatchObject({
        status: 'ok',
        value: { called: 'echo', with: input },
      });
      expect(b.log('call')).toEqual([]);
      const refused = new ToolExecutor({ registry: registryOf(discovery) });
      expect(await refused.execute(callOf('mcp.a.echo'))).toMatchObject({
        status: 'approval_required',
      });
    },
  );

  it('a call reports progress and is cancelled on the server if it is aborted or times out', async () => {
    const demo = new Demo('hang', 'echo');
    const discovery = await listed({ demo: { ...demo.start, timeout: 4 } });
    const { executor, events, run } = executorOf(registryOf(discovery));
    const controller = new AbortController();
    const stop = executor.on((event) => event.type === 'call-progress' && controller.abort());
    expect(await run('mcp.demo.hang', {}, { signal: controller.signal })).toMatchObject({
      status: 'error',
      code: 'ABORTED',
    });
    stop();
    expect(events.filter(({ type }) => type === 'call-progress')).toMatchObject([
      { progress: { progress: 1, total: 2 } },
    ]);
    expect(await run('mcp.demo.hang', {})).toMatchObject({ status: 'error', code: 'TIMEOUT' });
    await run('mcp.demo.echo');
    expect(demo.log('cancelled')).toHaveLength(2);
  });

  it("an error that the server returns doesn't count as a connection failure", async () => {
    const demo = new Demo('fails', 'breaks', 'ask', 'gone');
    const discovery = await listed({ demo: demo.start });
    const { executor, run } = executorOf(registryOf(discovery), {
      providers: { mcp: discovery.provider },
    });
    expect(await run('mcp.demo.fails')).toMatchObject({
      status: 'error',
      message: 'no such file\nlook elsewhere',
    });
    expect(await run('mcp.demo.breaks')).toMatchObject({
      status: 'error',
      message: expect.stringContaining('refused the call'),
    });
    expect(await run('mcp.demo.ask')).toMatchObject({ status: 'error', code: 'EXECUTION_FAILED' });
    for (const name of ['mcp.demo.fails', 'mcp.demo.breaks'])
      expect(executor.providers(name)).toMatchObject([{ state: 'available', failures: 0 }]);
  });

  it("a failed call's message hides secrets from the server's settings", async () => {
    const demo = new Demo('fails_with_key');
    const env = { API_KEY: '${KEY}' };
    const discovery = await listed(
      { demo: { ...demo.process, env } },
      { env: { ...process.env, KEY: 'geheim-4711' } },
    );
    const outcome = await executorOf(registryOf(discovery)).run('mcp.demo.fails_with_key');
    expect(outcome).toMatchObject({ status: 'error', message: 'the key [secret] was refused' });
    expect(JSON.stringify(outcome)).not.toContain('geheim');
  });
});

it('a manifest entry without a server uses the default server or the only configured server', async () => {
  const [a, b] = [new Demo('pid'), new Demo('echo')];
  const both = discover({ mcpServers: { a: a.start, b: b.start }, default_server: 'b' });
  expect(await (await wrapped(both, [wrapper('t', { tool: 'echo' })])).run('t')).toMatchObject({
    status: 'ok',
  });
  const one = discover({ mcpServers: { b: b.start } });
  expect(await new McpProvider(one, { tool: 'echo' }).call({}, {})).toMatchObject({
    status: 'ok',
  });
  const none = discover({ mcpServers: { a: a.start, b: b.start } });
  await expect(none.callTool(undefined, 'echo', {}, {})).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('"a", "b"'),
  });
});

it("a manifest entry can't call tools that are denied, unlisted, or withheld", async () => {
  const demo = new Demo('denied', 'changed', 'echo');
  const pins = {
    check: (_: string, tool: unknown) =>
      (tool as { name: string }).name === 'changed'
        ? ({ ok: false, reason: 'it has changed' } as const)
        : ({ ok: true } as const),
  };
  const discovery = discover(
    { mcpServers: { demo: demo.start }, deny_tools: ['denied'] },
    { pins },
  );
  const { run } = await wrapped(
    discovery,
    ['denied', 'changed', 'unlisted'].map((tool) => wrapper(tool, { server: 'demo', tool })),
  );
  expect(await run('denied')).toMatchObject({
    code: 'TOOL_UNAVAILABLE',
    message: expect.stringContaining("or the settings don't allow it"),
  });
  expect(await run('changed')).toMatchObject({
    code: 'TOOL_UNAVAILABLE',
    message: expect.stringContaining('it has changed'),
  });
  expect(await run('unlisted')).toMatchObject({
    code: 'TOOL_UNAVAILABLE',
    message: expect.stringContaining('There is no tool'),
  });
  expect(demo.log('call')).toEqual([]);
});

it('a manifest entry uses its next provider while its server is unreachable', async () => {
  const other = new FakeProvider(() => 'from elsewhere');
  const discovery = discover({ mcpServers: { dead: hostile('dies') } });
  const { run, executor } = await wrapped(
    discovery,
    [wrapper('t', { server: 'dead', tool: 'echo' }, { name: 'other', priority: 10 })],
    { providers: { other: other.factory }, random: () => 1 - Number.EPSILON },
  );
  expect(await run('t', { text: 'x' })).toMatchObject({
    status: 'ok',
    value: 'from elsewhere',
    provider: 'other',
    attempts: 2,
  });
  expect(executor.providers('t')).toMatchObject([
    { provider: 'mcp', state: 'backing-off' },
    { provider: 'other', state: 'available' },
  ]);
  expect(await run('t', { text: 'y' })).toMatchObject({
    status: 'ok',
    provider: 'other',
    attempts: 1,
  });
});

it('the health check of an MCP provider is a ping', async () => {
  const demo = new Demo('echo');
  const discovery = discover({
    mcpServers: { demo: demo.start, dead: hostile('dies'), old: hostile('fine') },
  });
  const check = (server: string) =>
    new McpProvider(discovery, { server, tool: 'echo' }).check(new AbortController().signal);
  expect(await check('demo')).toBe(true);
  await expect(check('dead')).rejects.toThrow();
  // A server that doesn't support pings answers with an error, which shows that it's reachable.
  expect(await check('old')).toBe(true);
});

it("a result that doesn't match the tool's output schema is a failure", async () => {
  const demo = new Demo();
  const promise = (called: object) => ({
    outputSchema: { type: 'object', properties: { called }, required: ['called'] },
  });
  demo.list(
    rawTool('keeps', promise({})),
    rawTool('breaks_it', promise({ type: 'number' })),
    rawTool('announce', promise({ type: 'string' })),
  );
  const discovery = await listed({ demo: demo.start });
  const registry = new ToolMetadataRegistry();
  registry.registerAll(discovery.definitions());
  const executor = new ToolExecutor({ registry, confirm: () => true });
  const run = (tool: string) => executor.execute({ id: tool, name: `mcp.demo.${tool}`, input: {} });
  expect(await run('breaks_it')).toMatchObject({
    status: 'error',
    code: 'INVALID_RESULT',
    details: { ran: true },
    value: { called: 'breaks_it' },
  });
  // The tool promised structured content, so text alone isn't enough.
  expect(await run('announce')).toMatchObject({ status: 'error', code: 'INVALID_RESULT' });
});
