import type { Transport } from '@modelcontextprotocol/client';
import type { McpTransportSettings } from '../settings/mcp-settings.js';
import { boundedFetch, MAX_MESSAGE_BYTES } from './bounded-fetch.js';
import type { McpPackages } from './mcp-packages.js';
import { WebSocketTransport } from './web-socket-transport.js';

/**
 * The transport to a server, not yet started; its settings have their variables filled in.
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
      return new WebSocketTransport({ url, headers, ws: await packages.ws(), parse: parseJSONRPCMessage });
  }
}
