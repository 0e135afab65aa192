import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { serve } from '../../src/http.js';
import { createMcpServer } from '../../src/mcp.js';
import { sampleRegistry } from '../mcp/server-tools.js';

export interface StartOptions {
  readonly port?: number;
  readonly host?: string;
  readonly token?: string;
}

/** One of the two listening servers, and a request that it answers with 200. */
export interface ListeningServer {
  readonly name: string;
  start(options?: StartOptions): Promise<string>;
  /** The request line without its line break. */
  readonly line: string;
  /** The headers besides Host, each with a line break. */
  readonly headers: string;
  readonly body: string;
  /** Returns the headers of a request for an endless stream of events. */
  streamHeaders(url: string): Promise<Readonly<Record<string, string>>>;
  readonly streamPath: string;
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  },
});

export const SERVERS: readonly ListeningServer[] = [
  {
    name: 'the catalogue',
    async start(options = {}) {
      const running = await serve(await CapabilityRegistry.load({ tools: [] }), {
        port: 0,
        page: false,
        ...options,
      });
      onTestFinished(() => running.close());
      return running.url;
    },
    line: 'GET /health HTTP/1.1',
    headers: '',
    body: '',
    streamHeaders: () => Promise.resolve({}),
    streamPath: '/events',
  },
  {
    name: 'MCP over HTTP',
    async start({ port = 0, host, token } = {}) {
      const server = createMcpServer(sampleRegistry(), token === undefined ? {} : { token });
      onTestFinished(() => server.close());
      const { url } = await server.serveHttp({ port, ...(host !== undefined && { host }) });
      return url;
    },
    line: 'POST /mcp HTTP/1.1',
    headers: `Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${INITIALIZE.length}\r\n`,
    body: INITIALIZE,
    async streamHeaders(url) {
      const response = await fetch(url, {
        method: 'POST',
        body: INITIALIZE,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
      });
      await response.text();
      return {
        accept: 'text/event-stream',
        'mcp-session-id': response.headers.get('mcp-session-id')!,
      };
    },
    streamPath: '/mcp',
  },
];

/** Opens a connection that is destroyed at the end of the test. */
export function socketTo(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {}); // The server may cut the connection. Other tests check that.
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Returns everything that a server answers until it closes the connection or the answer is long enough. */
export async function talk(
  url: string,
  text: string,
  isEnough: (answer: string) => boolean = () => false,
): Promise<string> {
  const socket = socketTo(url);
  let answer = '';
  socket.on('data', (data) => {
    answer += data.toString('latin1');
    if (isEnough(answer)) socket.destroy();
  });
  socket.write(text, 'latin1');
  await once(socket, 'close');
  return answer;
}

/** Returns a complete request that asks to close the connection after the answer. */
export function requestOf(
  { line, headers, body }: ListeningServer,
  { host = 'localhost', more = '', closes = true } = {},
): string {
  return `${line}\r\nHost: ${host}\r\n${headers}${more}${closes ? 'Connection: close\r\n' : ''}\r\n${body}`;
}

/** Returns the statuses of the answers on a connection. */
export function statuses(answer: string): readonly number[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

/** Waits until a condition holds. */
export async function waitFor(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
