import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Server, type Tool } from '@modelcontextprotocol/server';
import { expect, it, onTestFinished } from 'vitest';
import { ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { createMcpServer, type McpServerOptions, type McpToolServer } from '../../src/mcp.js';
import { signalled } from './server-clients.js';
import { IN_PROCESS_PACKAGES } from './servers/in-process.js';
import { discover, rawTool } from './servers/start.js';

const READS = { access: 'readonly', consent: false, resources: true, prompts: true };
const TOOLS = ['slow', 'ask', 'ask_url', 'log'];

/** A 2025-protocol server that asks, logs and has resources. */
async function upstream() {
  const server = new Server(
    { name: 'up', version: '1' },
    {
      capabilities: {
        tools: {},
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
      },
      instructions: 'Amounts are in cents.',
    },
  );
  const slow = signalled();
  const started = signalled();
  const seen: string[] = [];
  server.setRequestHandler('tools/list', () => ({
    tools: TOOLS.map((name) => rawTool(name) as Tool),
  }));
  const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
  server.setRequestHandler('tools/call', async ({ params: { name } }) => {
    if (name === 'slow') {
      started.fire();
      await slow.fired;
      return say('slow is done');
    }
    if (name === 'log') {
      await server.sendLoggingMessage({ level: 'debug', data: 'quiet' });
      await server.sendLoggingMessage({ level: 'error', data: 'loud', logger: 'db' });
      return say('logged');
    }
    const asked =
      name === 'ask'
        ? { mode: 'form' as const, requestedSchema: { type: 'object' as const, properties: {} } }
        : { mode: 'url' as const, url: 'file:///etc/passwd', elicitationId: '1' };
    return server.elicitInput({ ...asked, message: 'Sure\u202E?' }).then(
      ({ action }) => say(action),
      (error: Error) => say(error.message),
    );
  });
  server.setRequestHandler('resources/list', () => ({
    resources: [{ uri: 'up://a', name: 'a' }],
  }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('prompts/list', () => ({ prompts: [{ name: 'p' }] }));
  for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const)
    server.setRequestHandler(method, ({ params: { uri } }) => {
      seen.push(`${method} ${uri}`);
      return {};
    });
  server.setRequestHandler('completion/complete', ({ params }) => ({
    completion: { values: [JSON.stringify(params.ref)] },
  }));
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const packages = {
    ...IN_PROCESS_PACKAGES,
    // A constructor that returns a different object than its own instance.
    stdio: () =>
      Promise.resolve({
        StdioClientTransport: function () {
          return near;
        },
      }),
  };
  return { server, packages, seen, started: started.fired, finish: slow.fire };
}

/** A gateway to `upstream`, and a function that connects clients to it. */
async function gateway(options: McpServerOptions = {}, settings: object = {}) {
  const up = await upstream();
  const registry = new ToolMetadataRegistry();
  const executor = new ToolExecutor({ registry });
  const made: { server?: McpToolServer } = {};
  const discovery = discover(
    { mcpServers: { up: { command: 'up', ...READS, ...settings } } },
    {
      packages: up.packages,
      elicitUrls: true,
      onElicit: (...asked) => made.server!.onElicit(...asked),
    },
  );
  await discovery.refresh();
  discovery.follow(registry);
  const server = (made.server = createMcpServer(registry, { executor, discovery, ...options }));
  onTestFinished(async () => {
    await server.close();
    await executor.close();
  });
  const open = async () => {
    const asked: string[] = [];
    const told: { method: string; params?: unknown }[] = [];
    const client = new Client(
      { name: 'test', version: '1' },
      {
        versionNegotiation: { mode: 'legacy' },
        capabilities: { elicitation: { form: {}, url: {} } },
      },
    );
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message);
      return { action: 'accept', content: {} };
    });
    const notified = signalled();
    for (const method of ['notifications/message', 'notifications/resources/updated'] as const)
      client.setNotificationHandler(method, ({ params }) => {
        told.push({ method, params });
        notified.fire();
      });
    const changed = signalled<string>();
    for (const method of [
      'notifications/resources/list_changed',
      'notifications/prompts/list_changed',
    ] as const)
      client.setNotificationHandler(method, () => changed.fire(method));
    const [near, far] = InMemoryTransport.createLinkedPair();
    await server.connect(far);
    await client.connect(near);
    onTestFinished(() => client.close());
    const call = async (name: string) =>
      JSON.stringify((await client.callTool({ name: `mcp__up__${name}` })).content);
    return { client, asked, told, call, notified: notified.fired, changed: changed.fired };
  };
  return { ...up, open, discovery, registry };
}

it('a question reaches the client if several of its calls are running, with hidden characters marked', async () => {
  const { open, started, finish } = await gateway();
  const { asked, call } = await open();
  const slow = call('slow');
  await started;
  expect(await call('ask')).toContain('accept');
  finish();
  expect(await slow).toContain('slow is done');
  expect(asked).toEqual(['up asks: Sure\\u202e?']);
});

it('if two clients have calls running, neither is asked, and the server is told why', async () => {
  const { open, started, finish } = await gateway();
  const [one, other] = [await open(), await open()];
  const slow = one.call('slow');
  await started;
  expect(await other.call('ask')).toContain('several clients have calls running');
  finish();
  await slow;
  expect([...one.asked, ...other.asked]).toEqual([]);
});

it('a question with a URL that is not http or https is refused', async () => {
  const { asked, call } = await (await gateway()).open();
  expect(await call('ask_url')).toContain('Expected an http or https URL');
  expect(asked).toEqual([]);
});

it('log messages reach the client whose call is running, from the level that it sets', async () => {
  const { open } = await gateway();
  const [one, other] = [await open(), await open()];
  await one.client.setLoggingLevel('warning');
  await one.call('log');
  expect(one.told).toEqual([
    {
      method: 'notifications/message',
      params: { level: 'error', data: 'loud', logger: 'up/db' },
    },
  ]);
  expect(other.told).toEqual([]);
});

it('a client gets updates of a resource until it unsubscribes, and the server is asked once for two clients', async () => {
  const { open, server, seen } = await gateway();
  const [one, other] = [await open(), await open()];
  const uri = 'up://a';
  for (const { client } of [one, other]) await client.subscribeResource({ uri });
  await server.sendResourceUpdated({ uri });
  await Promise.all([one.notified, other.notified]);
  expect(one.told).toEqual([{ method: 'notifications/resources/updated', params: { uri } }]);
  for (const { client } of [one, other]) await client.unsubscribeResource({ uri });
  expect(seen).toEqual([`resources/subscribe ${uri}`, `resources/unsubscribe ${uri}`]);
});

it.each(['Resource', 'Prompt'] as const)(
  'clients are told when a list changes: %s',
  async (kind) => {
    const { open, server } = await gateway();
    const { changed } = await open();
    await server[`send${kind}ListChanged`]();
    expect(await changed).toBe(`notifications/${kind.toLowerCase()}s/list_changed`);
  },
);

it('completions are answered by the server, which gets its own names', async () => {
  const { client } = await (await gateway()).open();
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'mcp__up__p' },
    argument: { name: 'x', value: '' },
  });
  expect(JSON.parse(completion.values[0]!)).toEqual({ type: 'ref/prompt', name: 'p' });
});

it("a gateway's instructions contain those of its servers, with their names", async () => {
  const { client } = await (await gateway({ instructions: 'Ours.' })).open();
  expect(client.getInstructions()).toBe('Ours.\n\nInstructions of up:\nAmounts are in cents.');
});

it('a searched gateway always lists the tools that the option or the settings include', async () => {
  const listed = async (options: McpServerOptions, settings: object) => {
    const { client } = await (await gateway({ maxTools: 1, ...options }, settings)).open();
    return (await client.listTools()).tools.map(({ name }) => name);
  };
  expect(await listed({ include: ['mcp.up.ask'] }, {})).toEqual([
    'call_tool',
    'find_tools',
    'mcp__up__ask',
  ]);
  expect(await listed({ include: ['talk'] }, { tools: { slow: { category: 'talk' } } })).toEqual([
    'call_tool',
    'find_tools',
    'mcp__up__slow',
  ]);
});

it('settings rename and describe a tool, and calls reach the server under its own name', async () => {
  const tools = { slow: { disabled: true }, log: { name: 'write_log', description: 'Writes.' } };
  const { open, registry } = await gateway({}, { tools, deny_tools: ['mcp.up.ask'] });
  const { client, call } = await open();
  expect(registry.require('mcp.up.write_log')).toMatchObject({ description: 'Writes.' });
  expect(registry.has('mcp.up.log')).toBe(false);
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('mcp__up__ask');
  expect(await call('write_log')).toContain('logged');
});

it('a single server can keep its names', async () => {
  const { client } = await (await gateway({}, { prefix: false })).open();
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(TOOLS));
  expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'p' }]);
});
