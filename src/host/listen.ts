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

/** The limits of a connection. Node's own are minutes, or missing. */
const LIMITS = Object.freeze({
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  /** The interval in which Node checks the first two. With its default of 30 s, they would be 40 and 60. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  /**
   * Refuses lenient parsing, even if the program was started with --insecure-http-parser. Request smuggling needs it.
   */
  insecureHTTPParser: false,
}) satisfies ServerOptions;
/** The number of requests after which a connection is closed, so that no client keeps its place forever. */
const REQUESTS_PER_CONNECTION = 100;
const CONNECTIONS = 1_024;

/** A running server. */
export interface RunningServer {
  /** The server's address, without a slash at the end. */
  readonly url: string;
  /** Stops the server at once, and closes all connections. */
  close(): Promise<void>;
}

interface ListenOptions {
  /** The port. 0 takes any free one. */
  readonly port: number;
  readonly host: string;
  /** Every request needs a token. Otherwise only this machine may connect. */
  readonly needsToken: boolean;
  /**
   * The milliseconds without a byte in either direction after which a connection is closed. @default unbounded, because
   * an answer may take as long as a tool does
   */
  readonly silenceMs?: number;
  readonly answer: (request: Request, outgoing: ServerResponse) => Response | Promise<Response>;
  /** Returns the answer to a request that `answer` never got, or failed to answer. */
  readonly refuse: (refusal: Refusal) => Response;
}

/**
 * Listens on a port, with limits on everything that a client can hold.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a public address without a token, a port that is taken or forbidden, and an
 * address that this machine doesn't have.
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
    // Host names are case-insensitive, but the adapter compares them exactly.
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
 * Limits the connections of a server. A new connection replaces the oldest one without a request in progress.
 *
 * `server.maxConnections` would refuse the newest. Then a client that fills all places with half-sent requests
 * (Slowloris) keeps everyone else out until they time out.
 */
function limitConnections(server: Server, most: number): void {
  /** The unanswered requests of each connection. The oldest connection comes first. */
  const unanswered = new Map<Socket, Set<IncomingMessage>>();
  server.on('connection', (socket) => {
    if (unanswered.size >= most) {
      const evicted = oldestWithoutRequest() ?? socket;
      // It's forgotten here and not on its close event, because more connections may come before that.
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

  /** A request whose body is still to come counts as half-sent. */
  function oldestWithoutRequest(): Socket | undefined {
    for (const [socket, requests] of unanswered)
      if (![...requests].some(({ complete }) => complete)) return socket;
    return undefined;
  }
}
