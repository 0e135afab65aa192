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
import { refusedRequest, type Refusal } from './request-guard.js';

/** Limits on connections. Node's own limits are several minutes or don't exist. */
const LIMITS = Object.freeze({
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  /**
   * The interval at which Node enforces the first two limits. With Node's default of 30 s, the
   * limits would effectively be 40 and 60 s.
   */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  /**
   * Disables lenient parsing, which allows request smuggling, even if the program was started with
   * --insecure-http-parser.
   */
  insecureHTTPParser: false,
}) satisfies ServerOptions;
/**
 * The maximum number of requests per connection, so that clients can't keep a connection forever.
 */
const REQUESTS_PER_CONNECTION = 100;
const CONNECTIONS = 1_024;

/** A server that is listening. */
export interface RunningServer {
  /** The server's URL, without a trailing slash. */
  readonly url: string;
  /** Stops the server immediately and closes all connections. */
  close(): Promise<void>;
}

interface ListenOptions {
  /** The port, or 0 for any free port. */
  readonly port: number;
  readonly host: string;
  /** True if every request needs a token. If false, only this machine can connect. */
  readonly needsToken: boolean;
  /**
   * Milliseconds that a connection may go without data in either direction before it's closed.
   * @default unlimited, because a tool can take a long time to answer
   */
  readonly silenceMs?: number;
  readonly answer: (request: Request, outgoing: ServerResponse) => Response | Promise<Response>;
  /**
   * Returns the response to a request that never reached `answer`, or for which `answer` failed.
   */
  readonly refuse: (refusal: Refusal) => Response;
}

/**
 * Listens with node:http, with limits on everything that a client can occupy.
 *
 * @throws ToolError `INVALID_ARGUMENT` if other machines can connect and there is no token, if the
 * port is in use or not allowed, or if the address doesn't belong to this machine.
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
      `Listening on ${describeValue(host)} requires a token, because other machines can connect to it. Pass the option token (--token), or listen on 127.0.0.1.`,
    );
  }
  const listener = getRequestListener(
    (request, { outgoing }) => answer(request, outgoing as ServerResponse),
    {
      overrideGlobalObjects: false,
      errorHandler: (error) =>
        refuse(
          error instanceof RequestError
            ? refusedRequest(
                400,
                'INVALID_ARGUMENT',
                'The request has an invalid address or host. Send a valid request line and Host header.',
              )
            : refusedRequest(
                500,
                'INTERNAL_ERROR',
                'The server failed to answer this request. The server is still running.',
              ),
        ),
    },
  );
  const server = createServer(LIMITS, (incoming, outgoing) => {
    // Host names are case-insensitive, but the adapter compares them case-sensitively.
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
      `The address ${place} is already in use. Choose another port, or 0 for any free port.`,
    ],
    ['EACCES', `This user isn't allowed to listen on ${place}. Choose port 1024 or above.`],
  ]);
  return new ToolError(
    'INVALID_ARGUMENT',
    reasons.get(code) ??
      `${describeValue(place)} isn't an address of this machine (${code}). Choose another host.`,
  );
}

/**
 * Limits the number of connections. If a new connection exceeds the limit, the oldest connection
 * without a request in progress is closed.
 *
 * `server.maxConnections` would refuse the newest connection instead. A client that fills all
 * connections with incomplete requests (Slowloris) could then lock everyone else out until the
 * requests time out.
 */
function limitConnections(server: Server, most: number): void {
  /** The unanswered requests of each connection, starting with the oldest connection. */
  const unanswered = new Map<Socket, Set<IncomingMessage>>();
  server.on('connection', (socket) => {
    if (unanswered.size >= most) {
      const evicted = oldestWithoutRequest() ?? socket;
      // Removes the connection now, because more connections can arrive before the close event.
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

  /**
   * Returns the oldest connection without a complete request. A request whose body hasn't arrived
   * yet isn't complete.
   */
  function oldestWithoutRequest(): Socket | undefined {
    for (const [socket, requests] of unanswered)
      if (![...requests].some(({ complete }) => complete)) return socket;
    return undefined;
  }
}
