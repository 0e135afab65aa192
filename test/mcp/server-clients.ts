import {
  Client,
  InMemoryTransport,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as FirstStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as FirstTransport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import { createMcpServer, type McpToolServer } from '../../src/mcp/server/create-mcp-server.js';
import type { McpServerOptions } from '../../src/mcp/server/server-options.js';
import { sampleRegistry } from './server-tools.js';

export interface Elicited {
  readonly message: string;
  readonly requestedSchema: {
    readonly properties: Readonly<Record<string, unknown>>;
    readonly required?: readonly string[];
  };
}

export interface Elicitation {
  [field: string]: unknown;
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, string | number | boolean | string[]>;
}

export interface ClientOptions {
  /** The user of the client. Without it, the client can't ask. */
  readonly answer?: (asked: Elicited) => Elicitation | Promise<Elicitation>;
  readonly onListChanged?: () => void;
}

export interface Told {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** The methods that old and new official clients have in common. */
export interface TestClient {
  tools(): Promise<Tool[]>;
  page(cursor?: string): Promise<{ tools: Tool[]; nextCursor?: string | undefined }>;
  call(
    name: string,
    input?: Record<string, unknown>,
    options?: { readonly signal?: AbortSignal; readonly onProgress?: (told: Told) => void },
  ): Promise<CallToolResult>;
  readonly instructions: string | undefined;
  /** The protocol version that client and server agreed on. */
  readonly version: string | undefined;
  close(): Promise<void>;
}

type Mode = 'auto' | 'legacy';

async function currentClient(
  transport: Transport,
  mode: Mode,
  { answer, onListChanged }: ClientOptions,
): Promise<TestClient> {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      versionNegotiation: { mode },
      capabilities: answer === undefined ? {} : { elicitation: { form: {} } },
      ...(onListChanged && {
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
      }),
    },
  );
  if (answer !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      ...(await answer(params as unknown as Elicited)),
    }));
  await client.connect(transport);
  return {
    tools: async () => (await client.listTools()).tools,
    page: (cursor) =>
      client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }),
    call: (name, input = {}, { signal, onProgress } = {}) =>
      client.callTool(
        { name, arguments: input },
        { ...(signal && { signal }), ...(onProgress && { onprogress: onProgress }) },
      ),
    get instructions() {
      return client.getInstructions();
    },
    get version() {
      return client.getNegotiatedProtocolVersion();
    },
    close: () => client.close(),
  };
}

async function firstClient(
  transport: unknown,
  { answer, onListChanged }: ClientOptions,
): Promise<TestClient> {
  const client = new FirstClient(
    { name: 'test', version: '1.0.0' },
    { capabilities: answer === undefined ? {} : { elicitation: {} } },
  );
  if (answer !== undefined)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
      ...(await answer(params as unknown as Elicited)),
    }));
  if (onListChanged !== undefined)
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => onListChanged());
  await client.connect(transport as FirstTransport);
  const page = async (cursor?: string) =>
    (await client.listTools(cursor === undefined ? {} : { cursor })) as {
      tools: Tool[];
      nextCursor?: string;
    };
  return {
    async tools() {
      const tools: Tool[] = [];
      for (let next: string | undefined, first = true; first || next !== undefined; first = false) {
        const { tools: more, nextCursor } = await page(next);
        tools.push(...more);
        next = nextCursor;
      }
      return tools;
    },
    page,
    call: async (name, input = {}, { signal, onProgress } = {}) =>
      (await client.callTool({ name, arguments: input }, undefined, {
        ...(signal && { signal }),
        ...(onProgress && { onprogress: onProgress }),
      })) as CallToolResult,
    get instructions() {
      return client.getInstructions();
    },
    version: undefined, // The SDK 1 client doesn't expose the version.
    close: () => client.close(),
  };
}

async function throughMemory(server: McpToolServer): Promise<InMemoryTransport> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  return near;
}

const URL_OF_SERVER = new URL('http://localhost/mcp');
const throughFetch = (server: McpToolServer) => ({
  fetch: (url: string | URL, init?: RequestInit) => server.fetch(new Request(url, init)),
});

/** Every way in which the official clients reach a server in this process. */
export const WAYS: readonly {
  readonly way: string;
  readonly open: (server: McpToolServer, options?: ClientOptions) => Promise<TestClient>;
}[] = [
  {
    way: 'SDK 2 clients (2026 protocol) in memory',
    open: async (server, options = {}) =>
      finished(await currentClient(await throughMemory(server), 'auto', options)),
  },
  {
    way: 'SDK 2 clients (2025 protocol) in memory',
    open: async (server, options = {}) =>
      finished(await currentClient(await throughMemory(server), 'legacy', options)),
  },
  {
    way: 'SDK 1 clients in memory',
    open: async (server, options = {}) =>
      finished(await firstClient(await throughMemory(server), options)),
  },
  {
    way: 'SDK 2 clients (2026 protocol) over HTTP',
    open: async (server, options = {}) =>
      finished(
        await currentClient(
          new StreamableHTTPClientTransport(URL_OF_SERVER, throughFetch(server)),
          'auto',
          options,
        ),
      ),
  },
  {
    way: 'SDK 2 clients (2025 protocol) over HTTP',
    open: async (server, options = {}) =>
      finished(
        await currentClient(
          new StreamableHTTPClientTransport(URL_OF_SERVER, throughFetch(server)),
          'legacy',
          options,
        ),
      ),
  },
  {
    way: 'SDK 1 clients over HTTP',
    open: async (server, options = {}) =>
      finished(
        await firstClient(new FirstHttpTransport(URL_OF_SERVER, throughFetch(server)), options),
      ),
  },
];

/** Connects a client to a server over HTTP, which may be in another process. */
export async function overHttp(
  url: string,
  kind: Mode | 'first',
  options: ClientOptions = {},
  headers: Record<string, string> = {},
): Promise<TestClient> {
  const at = new URL(url);
  const init = { requestInit: { headers } };
  return finished(
    kind === 'first'
      ? await firstClient(new FirstHttpTransport(at, init), options)
      : await currentClient(new StreamableHTTPClientTransport(at, init), kind, options),
  );
}

/** Starts a program that serves on its standard input and output. */
export async function overStdio(
  command: string,
  args: string[],
  cwd: string,
  kind: Mode | 'first',
  options: ClientOptions = {},
): Promise<TestClient> {
  const program = {
    command,
    args,
    cwd,
    stderr: 'ignore' as const,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', NO_COLOR: '1' },
  };
  return finished(
    kind === 'first'
      ? await firstClient(new FirstStdioTransport(program), options)
      : await currentClient(new StdioClientTransport(program), kind, options),
  );
}

function finished(client: TestClient): TestClient {
  onTestFinished(() => client.close());
  return client;
}

/** Returns the texts of an answer. */
export function textOf(result: CallToolResult): string {
  return result.content
    .map((block) => (block.type === 'text' ? block.text : `[${block.type}]`))
    .join('\n');
}

/** Returns a promise and a function that settles it. */
export function signalled<T = void>(): {
  readonly fire: (value: T) => void;
  readonly fired: Promise<T>;
} {
  let fire!: (value: T) => void;
  const fired = new Promise<T>((resolve) => (fire = resolve));
  return { fire, fired };
}

/** The first request of a 2025-protocol client, as it's sent. */
export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'raw', version: '1' },
  },
};

/** Sends a request as a client would send it, without the SDK. */
export function post(
  server: McpToolServer,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return server.fetch(
    new Request(URL_OF_SERVER, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    }),
  );
}

/** Calls a tool as a 2026-protocol client does. */
export const rawCall = (
  server: McpToolServer,
  name: string,
  input: object,
  {
    headers,
    ...params
  }: { readonly headers?: Record<string, string>; [name: string]: unknown } = {},
): Promise<Response> =>
  post(
    server,
    {
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: {
        name,
        arguments: input,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
        },
        ...params,
      },
    },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...headers,
    },
  );

/** Returns a server that is closed after the test. */
export function serverOf(
  options: McpServerOptions = {},
  registry = sampleRegistry(),
): McpToolServer {
  const server = createMcpServer(registry, options);
  onTestFinished(() => server.close());
  return server;
}
