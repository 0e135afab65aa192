import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import {
  createMcpHandler,
  McpServer,
  type JSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { ToolError } from '../../src/index.js';
import { IN_PROCESS_PACKAGES } from './servers/in-process.js';
import { Demo, discover, namesOf, NetworkServer, official, listed } from './servers/start.js';

const open: { close: () => unknown }[] = [];
afterAll(() => open.forEach((each) => each.close()));

const missing = (name: string) => () =>
  Promise.reject(
    new ToolError('MISSING_PACKAGE', `expected the package ${name}; run: npm install ${name}`),
  );

it('a stdio server is discovered, called, and stopped', async () => {
  const discovery = await listed({ everything: official('everything') });
  expect(namesOf(discovery)).toContain('mcp.everything.echo');
  expect(discovery.status()).toMatchObject([{ era: 'legacy', server: 'everything', tools: 12 }]);
  expect(await discovery.callTool('everything', 'echo', { message: 'hi' }, {})).toMatchObject({
    status: 'ok',
    value: 'Echo: hi',
  });
  expect(
    await discovery.callTool('everything', 'get-structured-content', { location: 'New York' }, {}),
  ).toMatchObject({ value: { conditions: 'Cloudy' } });
  const image = (await discovery.callTool('everything', 'get-tiny-image', {}, {})) as {
    value: string;
    content: readonly object[];
  };
  expect(image.value).toMatch(/^Here's the image/);
  expect(image.content).toMatchObject([
    { type: 'text' },
    { type: 'image', mediaType: 'image/png' },
    { type: 'text' },
  ]);
  await discovery.close();
  expect(discovery.status()).toMatchObject([{ state: 'closed', tools: 0 }]);
});

it('a stdio server gets only the variables from its settings and a few harmless variables', async () => {
  const demo = new Demo('environment');
  const env = { ...process.env, TOKEN: 'abc', SECRET_OF_THE_PROGRAM: 'xyz' };
  process.env['SECRET_OF_THE_PROCESS'] = 'xyz';
  const discovery = discover(
    { mcpServers: { demo: { ...demo.process, env: { API_TOKEN: 'Bearer ${TOKEN}' } } } },
    { env },
  );
  const { value } = (await discovery.callTool('demo', 'environment', {}, {})) as {
    value: Record<string, string>;
  };
  delete process.env['SECRET_OF_THE_PROCESS'];
  expect(value['API_TOKEN']).toBe('Bearer abc');
  expect(value['PATH']).toBeDefined();
  expect(Object.values(value)).not.toContain('xyz');
});

it("a command that doesn't exist is reported without its path", async () => {
  const discovery = await listed({ none: { command: '/private/no-such-program' } });
  expect(discovery.findings()).toMatchObject([
    {
      kind: 'unreachable',
      server: 'none',
      message: expect.stringContaining('its command or folder doesn'),
    },
  ]);
  expect(JSON.stringify(discovery.findings())).not.toContain('private');
});

describe.each(['streamableHttp', 'sse'] as const)('servers over %s', (kind) => {
  it('a server that dies during a call is used again once it is back', async () => {
    const server = await NetworkServer.start(kind);
    const settings = {
      servers: { remote: { transport: kind === 'sse' ? 'sse' : 'http', url: server.url } },
      enabled: true,
    };
    const discovery = discover(settings);
    await discovery.refresh();
    // One of its tools runs only as a task.
    expect(discovery.findings()).toMatchObject([
      { kind: 'refused', tool: '"simulate-research-query"' },
    ]);
    expect(discovery.status()).toMatchObject([{ era: 'legacy', tools: 12 }]);
    expect(await discovery.callTool('remote', 'get-sum', { a: 1, b: 2 }, {})).toMatchObject({
      status: 'ok',
      value: 'The sum of 1 and 2 is 3.',
    });
    let told: () => void = () => undefined;
    const began = new Promise<void>((resolve) => (told = resolve));
    const running = discovery.callTool(
      'remote',
      'trigger-long-running-operation',
      { duration: 60, steps: 600 },
      { reportProgress: told },
    );
    const failing = expect(running).rejects.toThrow('MCP server remote');
    await began;
    await server.kill();
    await failing;
    await expect(discovery.callTool('remote', 'echo', { message: 'x' }, {})).rejects.toMatchObject({
      code: 'PROVIDER_UNAVAILABLE',
    });
    await server.start();
    expect(await discovery.callTool('remote', 'echo', { message: 'back' }, {})).toMatchObject({
      value: 'Echo: back',
    });
  });
});

it('a server that lost its session in a restart is called in a new session', async () => {
  const server = await NetworkServer.start('streamableHttp');
  const discovery = await listed({ remote: { url: server.url } });
  await server.kill();
  await server.start();
  expect(await discovery.callTool('remote', 'echo', { message: 'again' }, {})).toMatchObject({
    value: 'Echo: again',
  });
});

async function serveHttp() {
  const seen: { authorization: string | undefined }[] = [];
  const names = ['one'];
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: 'modern', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    for (const name of names)
      server.registerTool(name, { description: 'Does it' }, () => ({
        content: [{ type: 'text', text: name }],
      }));
    return server;
  });
  const listener = getRequestListener((request) => {
    seen.push({ authorization: request.headers.get('authorization') ?? undefined });
    return handler.fetch(request);
  });
  const server = createServer((request, response) => void listener(request, response)).listen(
    0,
    '127.0.0.1',
  );
  open.push(closing(server));
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    names,
    handler,
  };
}

it('2026-protocol servers over HTTP are called with the configured headers, and their change notifications are received', async () => {
  const { url, seen, names, handler } = await serveHttp();
  const discovery = await listed(
    { modern: { url, headers: { Authorization: 'Bearer ${TOKEN}' } } },
    { env: { TOKEN: 'abc' } },
  );
  expect(discovery.status()).toMatchObject([{ era: 'modern', state: 'ready' }]);
  expect(await discovery.callTool('modern', 'one', {}, {})).toMatchObject({ value: 'one' });
  expect(new Set(seen.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer abc']));
  const changed = new Promise((resolve) => discovery.onChange(resolve));
  names.push('two');
  handler.notify.toolsChanged();
  expect(await changed).toEqual({
    server: 'modern',
    added: ['mcp.modern.two'],
    edited: [],
    removed: [],
  });
  expect(await discovery.check('modern', new AbortController().signal)).toBe(true);
});

it.each([
  ['in one response', 'application/json', (text: string) => text],
  ['in an event', 'text/event-stream', (text: string) => `data: ${text}\n\n`],
])(
  'a server that sends more than 16 MiB %s is given up before the whole response is read',
  async (_, type, wrap) => {
    let written = 0;
    const server = createServer((request, response) => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        const { id, method } = JSON.parse(body) as { id?: number; method: string };
        if (id === undefined) return response.writeHead(202).end();
        if (method === 'server/discover')
          return response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }));
        response.writeHead(200, {
          'content-type': method === 'initialize' ? 'application/json' : type,
        });
        if (method === 'initialize')
          return response.end(
            JSON.stringify({
              jsonrpc: '2.0',
              id,
              result: {
                protocolVersion: '2025-06-18',
                capabilities: { tools: {} },
                serverInfo: { name: 'big', version: '1' },
              },
            }),
          );
        const filler = 'x'.repeat(2 ** 20);
        response.write(
          wrap(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"`).replace('\n\n', ''),
        );
        const more = (): unknown =>
          response.destroyed || written > 200 * 2 ** 20
            ? response.end()
            : response.write(filler, () => ((written += filler.length), more()));
        return more();
      });
    });
    server.listen(0, '127.0.0.1');
    open.push(closing(server));
    await once(server, 'listening');
    const discovery = discover({
      mcpServers: { big: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } },
      timeout: 5,
    });
    await discovery.refresh();
    expect(discovery.status()).toMatchObject([{ tools: 0, state: 'backing-off' }]);
    expect(written).toBeLessThan(40 * 2 ** 20);
  },
);

/** A minimal WebSocket server. */
class SocketTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  async start(): Promise<void> {
    this.#socket.on('message', (data) =>
      this.onmessage?.(JSON.parse((data as Buffer).toString()) as JSONRPCMessage),
    );
    this.#socket.on('close', () => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#socket.send(JSON.stringify(message));
  }

  async close(): Promise<void> {
    this.#socket.close();
  }
}

async function serveSockets() {
  const sockets = new WebSocketServer({
    port: 0,
    host: '127.0.0.1',
    handleProtocols: () => 'mcp',
  });
  open.push(sockets);
  const headers: unknown[] = [];
  const connected: WebSocket[] = [];
  sockets.on('connection', (socket, request) => {
    headers.push(request.headers['x-key']);
    connected.push(socket);
    const factory = () => {
      const server = new McpServer({ name: 'socket', version: '1' });
      server.registerTool('hello', { description: 'Says hello' }, () => ({
        content: [{ type: 'text', text: 'hello' }],
      }));
      server.registerTool('leave', { description: 'Hangs up' }, () => {
        socket.terminate();
        return new Promise(() => {});
      });
      server.registerTool('shout', { description: 'Says much' }, () => ({
        content: [{ type: 'text', text: 'x'.repeat(17 * 2 ** 20) }],
      }));
      return server;
    };
    serveStdio(factory, { transport: new SocketTransport(socket) });
  });
  await once(sockets, 'listening');
  return { url: `ws://127.0.0.1:${(sockets.address() as AddressInfo).port}`, headers, connected };
}

it('a WebSocket server gets the configured headers, is called, and is reconnected after it closed the connection', async () => {
  const { url, headers, connected } = await serveSockets();
  const discovery = await listed(
    { socket: { url, headers: { 'X-Key': '${KEY}' } } },
    { env: { KEY: 'k' } },
  );
  expect(namesOf(discovery)).toEqual(['mcp.socket.hello', 'mcp.socket.leave', 'mcp.socket.shout']);
  expect(await discovery.callTool('socket', 'hello', {}, {})).toMatchObject({ value: 'hello' });
  await expect(discovery.callTool('socket', 'leave', {}, {})).rejects.toThrow(
    'ConnectionLostError',
  );
  expect(await discovery.callTool('socket', 'hello', {}, {})).toMatchObject({ value: 'hello' });
  expect(headers).toEqual(['k', 'k']);
  await expect(discovery.callTool('socket', 'shout', {}, {})).rejects.toThrow(
    'ConnectionLostError',
  );
  expect(await discovery.callTool('socket', 'hello', {}, {})).toMatchObject({ value: 'hello' });
  await discovery.close();
  for (const socket of connected)
    if (socket.readyState !== socket.CLOSED) await once(socket, 'close');
});

it('a WebSocket URL where no server is listening is reported', async () => {
  const discovery = await listed({ socket: { url: 'ws://127.0.0.1:1' } });
  expect(discovery.status()).toMatchObject([
    { reason: 'nothing is listening at its address (ECONNREFUSED)' },
  ]);
});

it('an address that ends in /sse and has no type is tried with the older transport', async () => {
  const { url } = await NetworkServer.start('sse');
  const discovery = await listed({ old: { url } });
  expect(discovery.status()).toMatchObject([{ era: 'legacy' }]);
  expect(namesOf(discovery)).toContain('mcp.old.echo');
});

it('a missing ws package fails only the server that needs it, and a missing SDK fails the refresh before any server starts', async () => {
  const demo = new Demo('pid');
  const settings = {
    enabled: true,
    servers: { demo: demo.start, socket: { url: 'ws://127.0.0.1:1' } },
  };
  const packages = { ...IN_PROCESS_PACKAGES, ws: missing('ws') };
  const withoutWs = discover(settings, { packages });
  await withoutWs.refresh();
  expect(namesOf(withoutWs)).toEqual(['mcp.demo.pid']);
  expect(withoutWs.status()[1]).toMatchObject({
    server: 'socket',
    reason: expect.stringContaining('npm install ws'),
  });
  const client = missing('@modelcontextprotocol/client');
  const withoutSdk = discover(settings, { packages: { ...packages, client } });
  await expect(withoutSdk.refresh()).rejects.toMatchObject({
    code: 'MISSING_PACKAGE',
    message: expect.stringContaining('npm install @modelcontextprotocol/client'),
  });
  expect(demo.log('started')).toHaveLength(1);
});

function closing(server: HttpServer): { close: () => unknown } {
  return {
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
