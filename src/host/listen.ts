import { getRequestListener, RequestError } from '@hono/node-server';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import { authorityHost, isLoopback, isWildcard } from './addresses.js';
import { refusal, type Refusal } from './request-guard.js';

/** The bounds of a connection. Node's own are minutes, or missing. */
const LIMITS = Object.freeze({
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  /** The interval at which Node checks the first two; with its default of 30 s they would be 40 and 60. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  /** Refuses lenient parsing even if the program was started with --insecure-http-parser: request smuggling needs it. */
  insecureHTTPParser: false,
}) satisfies ServerOptions;
/** Requests of one connection before it is closed, so that no client keeps its place for ever. */
const REQUESTS_PER_CONNECTION = 100;
const CONNECTIONS = 1_024;

/** A server that listens. */
export interface RunningServer {
  /** The address where it answers, without a slash at the end. */
  readonly url: string;
  /** Stops the server at once and closes every connection. */
  close(): Promise<void>;
}

interface ListenOptions {
  /** The port; 0 takes any that is free. */
  readonly port: number;
  readonly host: string;
  /** Requires a token of every request; without one only this machine may connect. */
  readonly needsToken: boolean;
  /**
   * Milliseconds without a byte in either direction after which a connection is closed. @default unbounded: an answer
   * may take as long as a tool does
   */
  readonly silenceMs?: number;
  readonly answer: (request: Request, outgoing: ServerResponse) => Response | Promise<Response>;
  /** Words the answer to a request that `answer` never got, or failed to answer. */
  readonly refuse: (refusal: Refusal) => Response;
}

/**
 * Listens on node:http, with bounds on everything that a client can hold.
 *
 * @throws ToolError `INVALID_ARGUMENT` for an address of others without a token, a port that is taken or not allowed, and
 * an address that is not of this machine.
 */
export async function listen({
  port,
  host,
  needsToken,
  silenceMs = 0,
  answer,
  refuse,
}: ListenOptions): Promise<RunningServer> {
  if (!needsToken && !isLoopback(host)) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Expected a token to listen on ${describeValue(host)}, where others can connect, got none. Give the option token (--token), or listen on 127.0.0.1.`,
    );
  }
  const listener = getRequestListener(
    (request, { outgoing }) => answer(request, outgoing as ServerResponse),
    {
      overrideGlobalObjects: false,
      errorHandler: (error) =>
        refuse(
          error instanceof RequestError
            ? refusal(
                400,
                'INVALID_ARGUMENT',
                'Expected a readable address and host, got a malformed request. Send a valid request line and Host header.',
              )
            : refusal(500, 'INTERNAL_ERROR', 'The server failed to answer. It goes on working.'),
        ),
    },
  );
  const server = createServer(LIMITS, (incoming, outgoing) => {
    // Names of hosts have no case; the adapter compares them as if they had.
    if (incoming.headers.host !== undefined)
      incoming.headers.host = incoming.headers.host.toLowerCase();
    void listener(incoming, outgoing);
  });
  server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION;
  server.timeout = silenceMs;
  limitConnections(server, CONNECTIONS);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, port, host)));
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
  const address = server.address();
  const actualPort = typeof address === 'object' && address !== null ? address.port : port;
  return Object.freeze({
    url: `http://${authorityHost(isWildcard(host) ? '127.0.0.1' : host)}:${actualPort}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

function listenError(
  { code = 'an error' }: NodeJS.ErrnoException,
  port: number,
  host: string,
): ToolError {
  const place = `${authorityHost(host)}:${port}`;
  const reasons = new Map([
    [
      'EADDRINUSE',
      `Expected a free port, got ${place} in use. Choose another port, or 0 for any that is free.`,
    ],
    [
      'EACCES',
      `Expected a port that this user may listen on, got ${place}. Choose one from 1024 up.`,
    ],
  ]);
  return new ToolError(
    'INVALID_ARGUMENT',
    reasons.get(code) ??
      `Expected an address of this machine to listen on, got ${describeValue(place)} (${code}). Choose another host.`,
  );
}

/**
 * Limits the connections of a server; a new one takes the place of the oldest that has no request in progress.
 *
 * Refusing the newest, as `server.maxConnections` does, would let a client that fills all places with half-sent
 * requests (Slowloris) keep all others out until those time out.
 */
function limitConnections(server: Server, most: number): void {
  /** The requests of each connection that are not answered yet; the oldest connection first. */
  const unanswered = new Map<Socket, Set<IncomingMessage>>();
  server.on('connection', (socket) => {
    if (unanswered.size >= most) {
      const evicted = oldestWithoutRequest() ?? socket;
      // Forgotten here and not on its close event: further connections may come before that.
      unanswered.delete(evicted);
      evicted.destroy();
      if (evicted === socket) return;
    }
    unanswered.set(socket, new Set());
    socket.once('close', () => unanswered.delete(socket));
  });
  server.on('request', (request, response) => {
    const requests = unanswered.get(request.socket);
    requests?.add(request);
    response.once('close', () => requests?.delete(request));
  });

  /** A request whose body is still to come is half-sent as well. */
  function oldestWithoutRequest(): Socket | undefined {
    for (const [socket, requests] of unanswered)
      if (![...requests].some(({ complete }) => complete)) return socket;
    return undefined;
  }
}
