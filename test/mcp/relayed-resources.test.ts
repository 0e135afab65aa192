import {
  Client,
  InMemoryTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
  type PolicyRule,
} from '../../src/index.js';
import { createMcpServer, type McpServerOptions, type McpToolServer } from '../../src/mcp.js';
import { discover, here, temporaryFolder } from './servers/start.js';

const WAYS = [
  ['using the 2026 protocol in memory', 'auto', 'memory'],
  ['using the 2025 protocol in memory', 'legacy', 'memory'],
  ['using the 2026 protocol over HTTP', 'auto', 'http'],
  ['using the 2025 protocol over HTTP', 'legacy', 'http'],
] as const;

/** The official client. Its user gives the same answer to every question. */
async function open(
  server: McpToolServer,
  [, mode, way]: readonly [string, 'auto' | 'legacy', 'memory' | 'http'] = WAYS[0],
  action?: 'accept' | 'decline',
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      versionNegotiation: { mode },
      capabilities: action === undefined ? {} : { elicitation: { form: {} } },
    },
  );
  if (action !== undefined)
    client.setRequestHandler('elicitation/create', () => ({ action, content: {} }));
  if (way === 'http')
    await client.connect(
      new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
        fetch: (url, init) => server.fetch(new Request(url, init)),
      }),
    );
  else {
    const [near, far] = InMemoryTransport.createLinkedPair();
    await server.connect(far);
    await client.connect(near);
  }
  onTestFinished(() => client.close());
  return client;
}

const OPEN = { resources: true, prompts: true, consent: false, timeout_seconds: 30 };

/** A gateway to servers with resources and prompts. */
async function gateway(
  servers: Readonly<Record<string, object>>,
  {
    modes = {},
    rules = [],
    ...options
  }: McpServerOptions & {
    readonly modes?: Record<string, string[]>;
    readonly rules?: readonly PolicyRule[];
  } = {},
): Promise<McpToolServer> {
  const { command, args } = here('resource-server.ts');
  const registry = new ToolMetadataRegistry();
  const executor = new ToolExecutor({
    registry,
    policy: new SafetyPolicy({ registry, rules }),
  });
  const server = createMcpServer(registry, { executor, ...options });
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, settings]) => [
      name,
      {
        command,
        args: [...args, join(temporaryFolder(), 'log'), ...(modes[name] ?? [])],
        ...settings,
      },
    ]),
  );
  const discovery = discover({ mcpServers });
  await discovery.refresh();
  registry.registerAll(discovery.definitions());
  onTestFinished(async () => {
    await server.close();
    await executor.close();
  });
  return server;
}

describe.each(WAYS)('resources through a gateway, with a client %s', (...way) => {
  it('a gateway lists and reads resources and prompts unchanged', async () => {
    const client = await open(await gateway({ docs: OPEN }), way);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      'docs://guide',
      'docs://pixel',
      'docs://archive',
      'docs://folder',
    ]);
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: 'users://{id}/profile' },
    ]);
    const read = async (uri: string) => (await client.readResource({ uri })).contents;
    expect(await read('docs://guide')).toEqual([
      { uri: 'docs://guide', mimeType: 'text/plain', text: 'Read me first.' },
    ]);
    expect(await read('users://ada/profile')).toMatchObject([{ text: 'profile of ada' }]);
    expect((await client.listPrompts()).prompts).toMatchObject([
      { name: 'mcp__docs__review', arguments: [{ name: 'code', required: true }] },
      { name: 'mcp__docs__talk' },
    ]);
    expect(
      await client.getPrompt({ name: 'mcp__docs__review', arguments: { code: 'x = 1' } }),
    ).toMatchObject({
      messages: [{ role: 'user', content: { type: 'text', text: 'Review x = 1' } }],
    });
  });

  it('a gateway asks the user about a read that needs approval, and rejects the read if the user declines', async () => {
    const server = await gateway({ docs: { ...OPEN, consent: true } });
    const uri = 'docs://guide';
    const accepts = await open(server, way, 'accept');
    expect((await accepts.listResources()).resources).toHaveLength(4);
    expect(await accepts.readResource({ uri })).toMatchObject({
      contents: [{ text: 'Read me first.' }],
    });
    expect(await accepts.getPrompt({ name: 'mcp__docs__talk' })).toMatchObject({
      messages: [{}, {}, {}],
    });
    const declines = await open(server, way, 'decline');
    await expect(declines.readResource({ uri })).rejects.toThrow('the user denied this call');
    const cannot = await open(server, way);
    await expect(cannot.readResource({ uri })).rejects.toThrow("can't ask the user");
  });
});

it('a gateway lists and reads only what the policy, the filter, and the persona allow', async () => {
  const rules = [{ verdict: 'deny' as const, tools: 'mcp.docs.*_resource*', reason: 'not here' }];
  const denying = await open(await gateway({ docs: OPEN }, { rules }));
  expect((await denying.listResources()).resources).toEqual([]);
  await expect(denying.readResource({ uri: 'docs://guide' })).rejects.toThrow('not here');
  const filtered = await open(
    await gateway({ docs: OPEN }, { filter: { name: 'mcp.docs.list_prompts' } }),
  );
  expect((await filtered.listPrompts()).prompts).toHaveLength(2);
  await expect(filtered.getPrompt({ name: 'mcp__docs__talk' })).rejects.toThrow('no prompt named');
  expect(filtered.getServerCapabilities()).not.toHaveProperty('resources');
  const ofPersona = { ...OPEN, persona_allowlist: ['writer'] };
  const other = await open(await gateway({ docs: ofPersona }, { context: { persona: 'reader' } }));
  expect((await other.listResources()).resources).toEqual([]);
  await expect(other.readResource({ uri: 'docs://guide' })).rejects.toThrow('docs://guide');
  const writer = await open(await gateway({ docs: ofPersona }, { context: { persona: 'writer' } }));
  expect((await writer.listResources()).resources).toHaveLength(4);
});

it("a server without resources and prompts doesn't declare those capabilities", async () => {
  const server = createMcpServer(new ToolMetadataRegistry());
  onTestFinished(() => server.close());
  expect(Object.keys((await open(server)).getServerCapabilities() ?? {})).toEqual(['tools']);
});
