import { describe, expect, it, onTestFinished } from 'vitest';
import { defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { createMcpServer, type McpServerOptions, type McpToolServer } from '../../src/mcp.js';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { WAYS, type Elicited } from './server-clients.js';
import { Demo, official, listed } from './servers/start.js';

const reads = { access_mode: 'readonly', requires_consent: false, timeout_seconds: 30 };

/** A gateway to one server that asks the user of the gateway's client. */
async function gatewayTo(start: object): Promise<McpToolServer> {
  const registry = new ToolMetadataRegistry();
  const executor = new ToolExecutor({ registry });
  const server = createMcpServer(registry, { executor });
  const discovery = await listed(
    { asks: { ...start, ...reads } },
    { onElicit: server.onElicit, elicitUrls: true },
  );
  registry.registerAll(discovery.definitions());
  onTestFinished(async () => {
    await server.close();
    await executor.close();
  });
  return server;
}

describe.each(WAYS)('questions through a gateway to $way', ({ open }) => {
  it.each([
    ['in a call response', () => new Demo('ask_once').start, 'mcp__asks__ask_once'],
    ['in a request', () => official('everything'), 'mcp__asks__trigger-elicitation-request'],
  ] as const)(
    "the client's user sees a question that a server asks %s, and the server gets the answer",
    async (_, start, tool) => {
      const asked: Elicited[] = [];
      const client = await open(await gatewayTo(start()), {
        answer: (question) => {
          asked.push(question);
          return { action: 'accept', content: { name: 'Ada Lovelace' } };
        },
      });
      const result = await client.call(tool);
      expect(asked).toHaveLength(1);
      expect(asked[0]!.message).toMatch(/^asks asks: /);
      expect(asked[0]!.requestedSchema.properties).toHaveProperty('name');
      expect(JSON.stringify(result)).toContain('Ada Lovelace');
    },
  );

  it("the server is told if the user declines or the client can't ask the user", async () => {
    const server = await gatewayTo(new Demo('ask_once').start);
    const declines = await open(server, { answer: () => ({ action: 'decline' }) });
    expect(JSON.stringify(await declines.call('mcp__asks__ask_once'))).toContain('decline');
    const cannot = await open(server);
    expect(JSON.stringify(await cannot.call('mcp__asks__ask_once'))).toContain('cancel');
  });
});

it.each(['auto', 'legacy'] as const)(
  'a URL question is forwarded to a client that can open URLs (client type: %s), and the server is told that the user agreed',
  async (mode) => {
    const server = await gatewayTo(new Demo('ask_url').start);
    const asked: unknown[] = [];
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { versionNegotiation: { mode }, capabilities: { elicitation: { form: {}, url: {} } } },
    );
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params);
      return { action: 'accept' };
    });
    const [near, far] = InMemoryTransport.createLinkedPair();
    await server.connect(far);
    await client.connect(near);
    onTestFinished(() => client.close());
    const result = await client.callTool({ name: 'mcp__asks__ask_url', arguments: {} });
    expect(asked).toMatchObject([
      { mode: 'url', message: 'asks asks: Sign in', url: 'https://login.example/start' },
    ]);
    expect(JSON.stringify(result)).toContain('accept');
  },
);

const conversations = async (
  open: (typeof WAYS)[number]['open'],
  options: McpServerOptions = {},
) => {
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'who',
      description: 'Says in which conversation it runs',
      inputSchema: { type: 'object' },
      accessMode: 'readonly',
      execute: (_: unknown, { conversationId }) => conversationId ?? 'none',
    }),
  );
  const server = createMcpServer(registry, options);
  onTestFinished(() => server.close());
  const said = async () => {
    const client = await open(server);
    const [one, other] = [await client.call('who'), await client.call('who')];
    return [one, other].map(({ content }) => JSON.stringify(content));
  };
  return [await said(), await said()].flat();
};

it.each(WAYS.filter(({ way }) => way !== 'SDK 2 clients (2026 protocol) over HTTP'))(
  'all calls in one session share a conversation ($way)',
  async ({ open }) => {
    const [first, again, other] = await conversations(open);
    expect(first).not.toContain('none');
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  },
);

it('without a session, calls use the conversation from the context option, or no conversation after a single warning', async () => {
  const { open } = WAYS.find(({ way }) => way === 'SDK 2 clients (2026 protocol) over HTTP')!;
  const told: unknown[] = [];
  const onError = (error: unknown) => told.push(error);
  expect(new Set(await conversations(open, { onError }))).toEqual(
    new Set(['[{"type":"text","text":"none"}]']),
  );
  expect(told).toEqual([
    expect.objectContaining({
      message: expect.stringContaining('Return a conversationId from "context".'),
    }),
  ]);
  const named = { context: () => ({ conversationId: 'c1' }), onError };
  expect((await conversations(open, named))[0]).toContain('c1');
  expect(told).toHaveLength(1);
});
