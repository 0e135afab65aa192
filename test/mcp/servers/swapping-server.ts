import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import {
  createMcpHandler,
  legacyStatelessFallback,
  Server,
  WebStandardStreamableHTTPServerTransport,
  type Tool,
} from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import { Demo } from './start.js';

/** A server whose tools change. The server then restarts or announces the change. */
export interface SwappingServer {
  /** The transport for the settings. */
  readonly start: object;
  list(...tools: readonly object[]): void;
  /** The names of the tools that were called. */
  calls(): readonly string[];
  restart(): Promise<void>;
  tellChange(): void;
}

export function overStdio(
  era: 'modern' | 'legacy',
  ...tools: readonly object[]
): SwappingServer & Pick<Demo, 'duringNextListing'> {
  const demo = new Demo();
  demo.list(...tools);
  return {
    start: { ...demo.start, args: [...demo.start.args, ...(era === 'legacy' ? ['legacy'] : [])] },
    list: (...now) => demo.list(...now),
    calls: () => demo.log('call').map((line) => line.slice('call '.length)),
    async restart() {
      demo.end();
      await nextTurns();
    },
    tellChange: () => demo.tellChange(),
    duringNextListing: (call) => demo.duringNextListing(call),
  };
}

/**
 * The client is in this process and notices in the next turns of the event loop that its old connection
 * has ended.
 */
async function nextTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

interface Answering {
  fetch(request: Request): Promise<Response>;
  tellChange(): void;
}

/**
 * With sessions (a silent server never declares that it announces changes), or without sessions. Without
 * sessions, each request is served separately, in the 2026 protocol or the 2025 protocol.
 */
export async function overHttp(
  era: 'modern' | 'sessions' | 'silent' | 'stateless',
  ...tools: readonly object[]
): Promise<SwappingServer> {
  let listed = tools;
  const called: string[] = [];
  const serverOf = () => {
    const server = new Server(
      { name: 'swaps', version: '1' },
      { capabilities: { tools: era === 'silent' ? {} : { listChanged: true } } },
    );
    server.setRequestHandler('tools/list', () => ({ tools: [...listed] as Tool[] }));
    server.setRequestHandler('tools/call', ({ params }) => {
      called.push(params.name);
      return { content: [{ type: 'text', text: 'done' }] };
    });
    return server;
  };
  const answering: Record<Exclude<typeof era, 'silent'>, () => Answering> = {
    modern: () => {
      const handler = createMcpHandler(serverOf, { legacy: 'reject' });
      return {
        fetch: (request) => handler.fetch(request),
        tellChange: () => handler.notify.toolsChanged(),
      };
    },
    stateless: () => ({
      fetch: async (request) => legacyStatelessFallback(serverOf)(request),
      tellChange: () => undefined,
    }),
    sessions: () => {
      const sessions = new Map<
        string,
        { readonly transport: WebStandardStreamableHTTPServerTransport; readonly server: Server }
      >();
      return {
        async fetch(request) {
          const id = request.headers.get('mcp-session-id');
          const known = id === null ? undefined : sessions.get(id);
          if (known !== undefined) return known.transport.handleRequest(request);
          if (id !== null) return new Response('unknown session', { status: 404 });
          const transport = new WebStandardStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
          });
          const server = serverOf();
          await server.connect(transport);
          const response = await transport.handleRequest(request);
          if (transport.sessionId !== undefined)
            sessions.set(transport.sessionId, { transport, server });
          return response;
        },
        tellChange: () => sessions.forEach(({ server }) => void server.sendToolListChanged()),
      };
    },
  };
  let now = answering[era === 'silent' ? 'sessions' : era]();
  let answered: () => void = () => undefined;
  const answer = async (request: Request) => {
    const response = await now.fetch(request);
    setImmediate(answered);
    return response;
  };
  let server = await listening(answer, 0);
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => closed(server));
  return {
    start: { url: `http://127.0.0.1:${port}/mcp` },
    list: (...others) => void (listed = others),
    calls: () => called,
    async restart() {
      await closed(server);
      now = answering[era === 'silent' ? 'sessions' : era]();
      // A client whose stream broke checks its session. A call during that check might be lost.
      const asked =
        era === 'sessions'
          ? new Promise<void>((resolve) => (answered = resolve))
          : Promise.resolve();
      server = await listening(answer, port);
      await asked;
      await nextTurns();
    },
    tellChange: () => now.tellChange(),
  };
}

async function listening(
  answer: (request: Request) => Promise<Response>,
  port: number,
): Promise<HttpServer> {
  const listener = getRequestListener(answer);
  const server = createServer((request, response) => void listener(request, response)).listen(
    port,
    '127.0.0.1',
  );
  await once(server, 'listening');
  return server;
}

async function closed(server: HttpServer): Promise<void> {
  const ended = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await ended;
}
