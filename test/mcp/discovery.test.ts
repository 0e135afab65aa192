import { expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { ToolMetadataRegistry } from '../../src/index.js';
import { discoverMcpTools } from '../../src/mcp/discovery/mcp-discovery.js';
import type { McpDiscovery } from '../../src/mcp/discovery/mcp-discovery.js';
import type { McpChange } from '../../src/mcp/discovery/discovery-options.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import {
  Demo,
  discover,
  hostile,
  namesOf,
  official,
  rawTool,
  temporaryFolder,
  listed,
} from './servers/start.js';

const nextChange = (discovery: McpDiscovery) =>
  new Promise<McpChange>((resolve) => void discovery.onChange(resolve));
const lists = (demo: Demo) => demo.log('list').length;

it('tools from several servers get the documented names and defaults', async () => {
  const folder = temporaryFolder();
  const { definitions, findings, close } = await discoverMcpTools({
    enabled: true,
    servers: {
      files: { ...official('filesystem', folder), allow_tools: ['read_text_file', 'write_file'] },
      memory: { ...official('memory'), deny_tools: 'delete_entities' },
    },
  });
  const names = definitions.map(({ name }) => name);
  expect(names).toEqual([...names].sort());
  expect(names.filter((name) => name.startsWith('mcp.files.'))).toEqual([
    'mcp.files.read_text_file',
    'mcp.files.write_file',
  ]);
  expect(names).toContain('mcp.memory.read_graph');
  expect(names).not.toContain('mcp.memory.delete_entities');
  expect(definitions[0]).toMatchObject({
    sideEffects: ['network'],
    timeoutMs: 30_000,
    allowParallel: false,
    requiresConsent: true,
    idempotencyKey: false,
    providers: [{ name: 'mcp', config: { server: 'files', tool: 'read_text_file' } }],
  });
  expect(findings).toEqual([]);
  await close();
});

it('tools with the same name on two servers are called on the right server and reported as look-alikes', async () => {
  const [a, b] = [new Demo('pid'), new Demo('pid')];
  const discovery = await listed({ a: a.start, b: b.start });
  expect(namesOf(discovery)).toEqual(['mcp.a.pid', 'mcp.b.pid']);
  expect(discovery.findings()).toMatchObject([{ kind: 'look-alike', server: 'b' }]);
  const registry = new ToolMetadataRegistry();
  registry.registerAll(discovery.definitions());
  await registry.require('mcp.b.pid').definition.execute!({}, {});
  expect([a.log('call'), b.log('call')]).toEqual([[], ['call pid']]);
});

it('a server is listed again only after the interval or when forced, and unchanged definitions are reused', async () => {
  const demo = new Demo('echo', 'pid');
  const clock = new ManualClock(1_000);
  const discovery = discover(
    { mcpServers: { demo: demo.start }, health_check_interval: 60 },
    { clock },
  );
  await discovery.refresh();
  const [echo, pid] = discovery.definitions();
  await discovery.refresh();
  expect(lists(demo)).toBe(1);
  demo.list(rawTool('echo'), rawTool('pid', { description: 'Says which process it is' }));
  await discovery.refresh({ force: true });
  expect(lists(demo)).toBe(2);
  expect(discovery.definitions()[0]).toBe(echo);
  expect(discovery.definitions()[1]).not.toBe(pid);
  clock.advance(59_999);
  expect(discovery.status()).toMatchObject([{ state: 'ready', lastDiscoveredAt: 1_000 }]);
  clock.advance(1);
  expect(discovery.status()).toMatchObject([{ state: 'stale' }]);
  await discovery.refresh();
  expect(lists(demo)).toBe(3);
  expect(discovery.status()).toMatchObject([{ state: 'ready', lastDiscoveredAt: 61_000 }]);
});

it('a server that announces a change is listed again, and the difference is reported', async () => {
  const demo = new Demo('announce', 'old', 'same');
  const discovery = await listed({ demo: demo.start });
  demo.list(
    rawTool('announce', { description: 'Tells the world' }),
    rawTool('same'),
    rawTool('new'),
  );
  const changed = nextChange(discovery);
  await discovery.callTool('demo', 'announce', {}, {});
  expect(await changed).toEqual({
    server: 'demo',
    added: ['mcp.demo.new'],
    edited: ['mcp.demo.announce'],
    removed: ['mcp.demo.old'],
  });
  expect(namesOf(discovery)).toEqual(['mcp.demo.announce', 'mcp.demo.new', 'mcp.demo.same']);
  await discovery.refresh();
  expect(lists(demo)).toBe(2);
  await expect(discovery.callTool('demo', 'old', {}, {})).rejects.toMatchObject({
    code: 'TOOL_UNAVAILABLE',
  });
});

it('tools from fast servers are available while other servers hang, and hanging servers are given up after their timeout', async () => {
  const demo = new Demo('echo');
  const clock = new ManualClock();
  const discovery = discover(
    { mcpServers: { hangs: hostile('mute listing'), demo: demo.start, dead: hostile('dies') } },
    { clock },
  );
  const refreshed = discovery.refresh();
  expect(await nextChange(discovery)).toMatchObject({ server: 'demo' });
  expect(namesOf(discovery)).toEqual(['mcp.demo.echo']);
  expect(discovery.status().map(({ server, state }) => [server, state])).toContainEqual([
    'hangs',
    'discovering',
  ]);
  // The dead server is detected at once. Only the silent server needs the clock to advance.
  while (clock.pending > 2) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(30_000);
  await refreshed;
  expect(discovery.status()).toMatchObject([
    { server: 'dead' },
    { server: 'demo', state: 'ready' },
    { server: 'hangs', reason: expect.stringContaining('after 30000 ms') },
  ]);
});

it('a failing server is retried after increasing delays, and its last tools are kept', async () => {
  const demo = new Demo('echo', 'crash');
  const clock = new ManualClock();
  const discovery = discover(
    { mcpServers: { demo: demo.start }, health_check_interval: 1 },
    { clock, random: () => 1 - Number.EPSILON },
  );
  await discovery.refresh();
  const before = discovery.definitions();
  demo.list(...Array.from({ length: 1_001 }, (_, index) => rawTool(`t${index}`)));
  clock.advance(1_000);
  for (const wait of [1_000, 2_000, 4_000]) {
    await discovery.refresh();
    expect(discovery.status()).toMatchObject([
      {
        state: 'backing-off',
        tools: 2,
        nextAttemptAt: clock.now() + wait,
        reason: expect.stringContaining('more than 1000 tools'),
      },
    ]);
    const asked = lists(demo);
    clock.advance(wait - 1);
    await discovery.refresh();
    expect(lists(demo)).toBe(asked);
    clock.advance(1);
    expect(discovery.status()).toMatchObject([{ state: 'failed' }]);
  }
  expect(discovery.definitions()).toEqual(before);
  expect(discovery.findings()).toMatchObject([
    {
      kind: 'unreachable',
      message: expect.stringContaining('could not list its tools'),
    },
  ]);
  await discovery.refresh();
  demo.list(rawTool('echo'));
  await discovery.refresh({ force: true });
  expect(discovery.status()).toMatchObject([{ state: 'ready', tools: 1, findings: [] }]);
});

it('new settings restart only the servers whose settings changed', async () => {
  const [a, b, c] = [new Demo('one'), new Demo('one', 'two'), new Demo('one')];
  const discovery = await listed({ a: a.start, b: b.start });
  const kept = discovery.definitions()[0];
  await discovery.update({
    mcpServers: { a: a.start, b: { ...b.start, deny_tools: ['two'] }, c: c.start },
  });
  expect(discovery.definitions()).toEqual([kept]);
  expect(b.log('ended')).toHaveLength(1);
  await discovery.refresh();
  expect(namesOf(discovery)).toEqual(['mcp.a.one', 'mcp.b.one', 'mcp.c.one']);
  expect(lists(a)).toBe(1);
  await expect(
    discovery.update({ deny_tools: 5, mcpServers: { a: a.start } }),
  ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(namesOf(discovery)).toHaveLength(3);
});

it('discovery as a source for a CapabilityRegistry provides tools and findings, and gives each persona only its own tools', async () => {
  const [shared, own] = [new Demo('echo', 'announce'), new Demo('pid')];
  const discovery = discover({
    mcpServers: {
      shared: shared.start,
      own: { ...own.start, persona: 'Atlas' },
      dead: hostile('dies'),
    },
  });
  const capabilities = await CapabilityRegistry.load({ sources: discovery.sources() });
  const seenBy = (persona?: string) =>
    [...capabilities.registryFor(persona)].map(({ name }) => name).sort();
  expect(seenBy()).toEqual(['mcp.shared.announce', 'mcp.shared.echo']);
  expect(seenBy('Atlas')).toEqual(['mcp.own.pid', 'mcp.shared.announce', 'mcp.shared.echo']);
  expect(seenBy('Other')).toEqual(['mcp.shared.announce', 'mcp.shared.echo']);
  expect(capabilities.findings).toMatchObject([
    { message: expect.stringContaining('MCP server dead') },
  ]);
  const registry = capabilities.registryFor();
  await capabilities.refresh();
  expect(capabilities.registryFor()).toBe(registry);
  // A change that a server announced is visible after the next refresh, without force.
  shared.list(rawTool('announce'), rawTool('fresh'));
  const changed = nextChange(discovery);
  await discovery.callTool('shared', 'announce', {}, {});
  await changed;
  await capabilities.refresh();
  expect(seenBy()).toEqual(['mcp.shared.announce', 'mcp.shared.fresh']);
  shared.list(rawTool('announce'));
  await capabilities.refresh({ force: true });
  expect(seenBy()).toEqual(['mcp.shared.announce']);
});

it('discovery as a source for a CapabilityRegistry returns the last known tools immediately while a server is listed again', async () => {
  const demo = new Demo('echo');
  const clock = new ManualClock();
  const discovery = discover({ mcpServers: { demo: demo.start } }, { clock });
  const [source] = discovery.sources();
  expect((await source!.load({ force: false })).definitions).toHaveLength(1);
  demo.list(rawTool('echo'), rawTool('pid'));
  clock.advance(300_000);
  const changed = nextChange(discovery);
  expect((await source!.load({ force: false })).definitions).toHaveLength(1);
  await changed;
  expect((await source!.load({ force: false })).definitions).toHaveLength(2);
});
