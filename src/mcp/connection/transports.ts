import type * as McpClient from '@modelcontextprotocol/client';
import type { Transport } from '@modelcontextprotocol/client';
import type * as McpStdio from '@modelcontextprotocol/client/stdio';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import type { McpSettings, McpTransportSettings } from '../settings/mcp-settings.js';
import { WebSocketTransport, type WsModule } from './web-socket-transport.js';

/** The optional packages, loaded when they are first needed. */
export interface McpPackages {
  readonly client: () => Promise<typeof McpClient>;
  readonly stdio: () => Promise<typeof McpStdio>;
  readonly ws: () => Promise<WsModule>;
}

export const MCP_PACKAGES: McpPackages = Object.freeze({
  client: () => load('@modelcontextprotocol/client', () => import('@modelcontextprotocol/client')),
  stdio: () => load('@modelcontextprotocol/client', () => import('@modelcontextprotocol/client/stdio')),
  ws: () => load('ws', () => import('ws')),
});

/**
 * Makes sure, before any server is asked, that the packages are installed that the configured transports need.
 *
 * @throws ToolError `MISSING_PACKAGE` saying what to install.
 */
export async function checkTransports(settings: Pick<McpSettings, 'servers'>, packages: McpPackages = MCP_PACKAGES): Promise<void> {
  const kinds = new Set(settings.servers.map(({ transport }) => transport.kind));
  if (kinds.size > 0) await packages.client();
  if (kinds.has('stdio')) await packages.stdio();
  if (kinds.has('websocket')) await packages.ws();
}

async function load<T>(name: string, importPackage: () => Promise<T>): Promise<T> {
  try {
    return await importPackage();
  } catch (cause) {
    throw new ToolError('MISSING_PACKAGE', expectedGot(`the package ${name} to be installed`, 'none that loads', `Run npm install ${name}.`), { details: { package: name }, cause });
  }
}

/**
 * Makes the transport to a server, not yet started; its settings have their variables filled in.
 *
 * A process gets the SDK's short list of variables (PATH, HOME and the like) and what its settings name, nothing else of
 * the environment. What it writes to stderr is dropped: it would clutter the user's terminal, and may hold secrets.
 *
 * @param onTooLarge told when a message over HTTP is too large; over the others that ends the connection.
 */
export async function createTransport(settings: McpTransportSettings, packages: McpPackages, onTooLarge: () => void): Promise<Transport> {
  if (settings.kind === 'stdio') {
    const { StdioClientTransport } = await packages.stdio();
    const { command, args, env, cwd } = settings;
    return new StdioClientTransport({ command, args: [...args], env: { ...env }, stderr: 'ignore', maxBufferSize: MAX_MESSAGE_BYTES, ...(cwd === undefined ? {} : { cwd }) });
  }
  const { parseJSONRPCMessage, SSEClientTransport, StreamableHTTPClientTransport } = await packages.client();
  const { kind, url, headers } = settings;
  const options = { requestInit: { headers: { ...headers } }, fetch: boundedFetch(onTooLarge) };
  switch (kind) {
    case 'http':
      return new StreamableHTTPClientTransport(new URL(url), options);
    case 'sse':
      // Deprecated in the SDK because the protocol has replaced it; servers that speak nothing else are still around.
      return new SSEClientTransport(new URL(url), options);
    case 'websocket':
      return new WebSocketTransport({ url, headers, ws: await packages.ws(), maxBytes: MAX_MESSAGE_BYTES, parse: parseJSONRPCMessage });
  }
}

/** The largest message that a server may send: 16 MiB. Above the SDK's own 10 MiB, so that one tool of that size costs only itself. */
const MAX_MESSAGE_BYTES = 16 * 2 ** 20;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Makes a `fetch` whose answers break off when one message of them is larger than 16 MiB.
 *
 * The SDK reads a body to its end whatever its size. An event stream may last for days, so there each event is counted
 * by itself; it ends with an empty line.
 *
 * @param onTooLarge told of such a message: the SDK would let the call wait whose answer it was.
 */
function boundedFetch(onTooLarge: () => void): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
    const isTooLarge = isStream ? countEvents() : countAll();
    const bound = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        if (!isTooLarge(chunk)) return controller.enqueue(chunk);
        controller.error(new Error(expectedGot(`messages of at most ${MAX_MESSAGE_BYTES} bytes`, 'a larger one')));
        onTooLarge();
      },
    });
    const bounded = new Response(response.body.pipeThrough(bound), response);
    // Which address answered tells a redirect, and a Response that is made again forgets it.
    Object.defineProperty(bounded, 'url', { value: response.url });
    Object.defineProperty(bounded, 'redirected', { value: response.redirected });
    return bounded;
  };
}

function countAll(): (chunk: Uint8Array) => boolean {
  let size = 0;
  return (chunk) => (size += chunk.length) > MAX_MESSAGE_BYTES;
}

function countEvents(): (chunk: Uint8Array) => boolean {
  let size = 0;
  let lineIsEmpty = true;
  return (chunk) => {
    for (const byte of chunk) {
      size += 1;
      if (byte === LINE_FEED) {
        if (lineIsEmpty) size = 0;
        lineIsEmpty = true;
      } else if (byte !== CARRIAGE_RETURN) lineIsEmpty = false;
      if (size > MAX_MESSAGE_BYTES) return true;
    }
    return false;
  };
}
