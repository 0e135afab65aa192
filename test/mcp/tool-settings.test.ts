import { describe, expect, it } from 'vitest';
import { ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { discoverMcpTools } from '../../src/mcp.js';
import type { McpDiscoveryOptions } from '../../src/mcp/discovery/discovery-options.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { IN_PROCESS_PACKAGES } from './servers/in-process.js';
import { Demo, discover, hostile, namesOf, rawTool } from './servers/start.js';

const settingsIn = (findings: readonly { readonly kind: string; readonly message: string }[]) =>
  findings.filter(({ kind }) => kind === 'settings').map(({ message }) => message);

/** Discovers a server with these settings and tools. */
async function listed(
  settings: object,
  tools: readonly object[],
  options: McpDiscoveryOptions = {},
) {
  const demo = new Demo();
  demo.list(...tools);
  const discovery = discover({ mcpServers: { demo: { ...demo.start, ...settings } } }, options);
  await discovery.refresh();
  const registry = new ToolMetadataRegistry();
  discovery.follow(registry);
  return { discovery, registry, findings: settingsIn(discovery.findings()) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

const statusOf = async (registry: ToolMetadataRegistry, name: string) =>
  (await new ToolExecutor({ registry }).execute({ id: '1', name, input: {} })).status;

const files = [rawTool('read_file'), rawTool('read_folder'), rawTool('write_file')];

it('per-tool settings apply only to tools whose names match the pattern', async () => {
  const { registry, findings } = await listed(
    {
      tools: {
        'read_*': {
          access: 'readonly',
          danger: 'low',
          parallel: true,
          consent: false,
          keywords: ['open'],
          category: 'files',
          timeout_seconds: 5,
          personas: ['Atlas'],
          priority: 'high',
        },
      },
    },
    files,
  );
  expect(registry.require('mcp.demo.read_file')).toMatchObject({
    accessMode: 'readonly',
    dangerLevel: 'low',
    allowParallel: true,
    requiresConsent: false,
    keywords: ['open'],
    category: 'files',
    timeoutMs: 5_000,
    personaAllowlist: ['Atlas'],
    priority: 1,
  });
  expect(registry.require('mcp.demo.write_file')).toMatchObject({
    accessMode: 'mixed',
    dangerLevel: 'high',
    requiresConsent: true,
    keywords: [],
    timeoutMs: 30_000,
  });
  expect(findings).toEqual([]);
});

it("per-tool settings override the server's settings, and later patterns override earlier patterns", async () => {
  const { registry, discovery } = await listed(
    {
      side_effects: 'write',
      tools: {
        '*': { danger: 'medium' },
        'read_*': { access: 'readonly' },
        '*_folder': { disabled: true },
      },
    },
    files,
  );
  expect(namesOf(discovery)).toEqual(['mcp.demo.read_file', 'mcp.demo.write_file']);
  expect(registry.require('mcp.demo.read_file')).toMatchObject({
    accessMode: 'readonly',
    dangerLevel: 'medium',
  });
  expect(registry.require('mcp.demo.write_file')).toMatchObject({
    accessMode: 'write',
    dangerLevel: 'medium',
  });
});

it('per-tool settings deny lists accept patterns, and a listed name that matches no tool is reported as misspelled', async () => {
  const { discovery, findings } = await listed({ deny_tools: ['write_*', 'raed_file'] }, files);
  expect(namesOf(discovery)).toEqual(['mcp.demo.read_file', 'mcp.demo.read_folder']);
  expect(findings).toEqual([
    '"raed_file" in "deny_tools" matches none of the server\'s tools. Did you mean "read_file"?',
  ]);
});

describe('auto-approval in settings of other programs', () => {
  const tools = [
    rawTool('read'),
    rawTool('wipe', { annotations: { destructiveHint: true } }),
    rawTool('other'),
  ];

  it.each([{ autoApprove: ['read', 'wipe'] }, { alwaysAllow: ['read', 'wipe'] }, { trust: true }])(
    'is ignored and reported: %o',
    async (settings) => {
      const { registry, findings } = await listed(settings, tools);
      expect(
        await Promise.all(tools.map((_, index) => statusOf(registry, [...registry][index]!.name))),
      ).toEqual(['approval_required', 'approval_required', 'approval_required']);
      expect(findings).toEqual([expect.stringContaining('any repository may contain such a file')]);
    },
  );
});

it('max_tools counts only allowed tools and can be raised for a server with 5,000 tools', async () => {
  const discovery = discover({
    mcpServers: {
      few: { ...hostile('large'), allow_tools: ['read_4998'] },
      all: { ...hostile('large'), max_tools: 5_000, tools: { 'write_*': { disabled: true } } },
      most: hostile('large'),
    },
  });
  await discovery.refresh();
  expect(discovery.status()).toMatchObject([
    { server: 'all', state: 'ready', tools: 2_500 },
    { server: 'few', state: 'ready', tools: 1 },
    { server: 'most', tools: 0 },
  ]);
  expect(discovery.status()[2]).toMatchObject({
    reason: expect.stringContaining(
      'The server lists more than 1000 tools. List the tools you need in "allow_tools", or raise "max_tools".',
    ),
  });
});

it("a server's stderr is shown in its status and in findings, without secrets and paths, and calls don't get it", async () => {
  const discovery = discover({
    mcpServers: { bad: { ...hostile('last words'), env: { API_KEY: 'geheim-4711' } } },
  });
  await discovery.refresh();
  const [status] = discovery.status();
  expect(status!.stderr!.length).toBeLessThanOrEqual(4_096);
  expect(status!.stderr).toMatch(
    /noise\nError: API key \[secret\] was refused, token=\[secret\]\n/,
  );
  expect(discovery.findings()).toMatchObject([
    {
      kind: 'unreachable',
      message: expect.stringMatching(
        /its stderr says: Error: API key \[secret\] was refused, token=\[secret\]$/,
      ),
      stderr: status!.stderr,
    },
  ]);
  await expect(discovery.callTool('bad', 'x', {}, {})).rejects.toThrow(
    /^MCP server bad could not list its tools: it exited before it responded \(CONNECTION_CLOSED\)\.$/,
  );
  expect(JSON.stringify([status, discovery.findings()])).not.toMatch(
    /geheim|abcdef123456|\/home\/me/,
  );
});

it('discoverMcpTools returns the tools of ready servers, lists the pending servers, and adds their tools later', async () => {
  const [quick, slow] = [new Demo('quick'), new Demo('slow')];
  let release: () => void = () => undefined;
  slow.holdBack(new Promise<void>((resolve) => (release = resolve)));
  const clock = new ManualClock();
  const found = discoverMcpTools(
    { mcpServers: { quick: quick.start, slow: slow.start } },
    { clock, packages: IN_PROCESS_PACKAGES, waitMs: 1_200 },
  );
  while (quick.log('list').length === 0) await turn();
  for (let turns = 0; turns < 20; turns += 1) await turn();
  clock.advance(1_200);
  const { definitions, findings, discovery, close } = await found;
  expect(definitions.map(({ name }) => name)).toEqual(['mcp.quick.quick']);
  expect(findings).toMatchObject([{ kind: 'unanswered', server: 'slow' }]);
  const registry = new ToolMetadataRegistry();
  registry.registerAll(definitions);
  const come = new Promise((resolve) => void discovery.onChange(resolve));
  const stop = discovery.follow(registry);
  release();
  await come;
  expect([...registry].map(({ name }) => name).sort()).toEqual([
    'mcp.quick.quick',
    'mcp.slow.slow',
  ]);
  expect(discovery.findings()).toEqual([]);
  stop();
  await close();
});

it('a server gets the variables from its env_file unless env overrides them, and a missing file is reported without its folder', async () => {
  const demo = new Demo('environment');
  const { writeFileSync } = await import('node:fs');
  const folder = demo.process.args[1]!.replace(/[^/]+$/, '');
  writeFileSync(`${folder}.env`, '# keys\nFROM_FILE="a b"\nBOTH=file\n');
  const discovery = discover(
    {
      mcpServers: {
        demo: { ...demo.process, envFile: '${FOLDER}.env', env: { BOTH: 'own' } },
        none: { ...demo.process, envFile: '/nowhere/at/all.env' },
      },
    },
    { env: { FOLDER: folder } },
  );
  await discovery.refresh();
  expect(await discovery.callTool('demo', 'environment', {}, {})).toMatchObject({
    value: { FROM_FILE: 'a b', BOTH: 'own' },
  });
  expect(discovery.status()[1]).toMatchObject({
    reason: 'Could not read the env_file "all.env" (ENOENT).',
  });
});
