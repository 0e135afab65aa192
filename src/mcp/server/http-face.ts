import type { AuthInfo, Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { systemClock, type Clock } from '../../core/clock.js';
import { LOOPBACK_HOSTS } from '../../host/addresses.js';
import { listen, type RunningServer } from '../../host/listen.js';
import { bearerToken, createGuard } from '../../host/request-guard.js';
import type { CheckedServerOptions } from './server-options.js';
import type { ServerSdk } from './tool-calls.js';

/** The path that clients connect to; others are free for what may come. */
const PATH = '/mcp';

/** Streamable HTTP, for clients of both eras. */
export interface HttpFace {
  fetch(request: Request, authInfo: AuthInfo | undefined): Promise<Response>;
  /** Tells clients of 2026, which listen on a stream of their own; those of 2025 are told through their sessions. */
  tellChange(): void;
  close(): Promise<void>;
}

/**
 * Makes what answers web requests. Requests of 2026 are each served on their own; those of 2025 have sessions, without which they could neither be asked
 * for an approval nor be told of changes.
 *
 * @param connect makes the server of a request, or of a session if it lasts.
 */
export function createHttpFace(sdk: ServerSdk, options: CheckedServerOptions, connect: (lasts: boolean) => Server): HttpFace {
  const onerror = (error: Error) => options.onError?.(error);
  const modern = sdk.createMcpHandler(() => connect(false), { legacy: 'reject', onerror });
  const { maxSessions, sessionIdleMs, clock = systemClock, token, allowedHosts = LOOPBACK_HOSTS, allowedOrigins = allowedHosts } = options;
  const sessions = new LegacySessions({ sdk, connect: () => connect(true), maxSessions, idleMs: sessionIdleMs, clock });
  const guard = createGuard({ allowedHosts, allowedOrigins, authenticate: token === undefined ? undefined : bearerToken(token) });
  return {
    async fetch(request, given) {
      const admission = await guard(request);
      if (!admission.ok) return rpcRefusal(admission.message, admission.status, admission.headers);
      const authInfo = given ?? (token === undefined ? undefined : { token, clientId: admission.principal ?? 'bearer', scopes: [] });
      const passed = authInfo === undefined ? {} : { authInfo };
      const response = await ((await sdk.isLegacyRequest(request)) ? sessions.answer(request, passed) : modern.fetch(request, passed));
      // The SDK asks to keep connections; that is for the client and the listener to say.
      response.headers.delete('connection');
      return response;
    },
    tellChange: () => modern.notify.toolsChanged(),
    async close() {
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}

/** Listens for web clients. @throws ToolError as `listen`. */
export async function listenHttp(face: HttpFace, place: { readonly port: number; readonly host: string; readonly needsToken: boolean }): Promise<RunningServer> {
  const listening = await listen({
    ...place,
    answer: (request) => (new URL(request.url).pathname === PATH ? face.fetch(request, undefined) : rpcRefusal(`Expected the path ${PATH}, got another.`, 404)),
    refuse: ({ message, status, headers }) => rpcRefusal(message, status, headers),
  });
  return { ...listening, url: `${listening.url}${PATH}` };
}

interface LegacySessionsOptions {
  readonly sdk: ServerSdk;
  /** Makes the server of a new session. */
  readonly connect: () => Server;
  readonly maxSessions: number;
  readonly idleMs: number;
  readonly clock: Clock;
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
  /** Streams that the client reads: calls that run, and the one on which it is told of changes. */
  streams: number;
  usedAt: number;
}

/**
 * The sessions of clients of 2025 over HTTP, bounded in number and idle time.
 *
 * Only sessions without an open stream are forgotten; when all are in use, a new client is asked to come again. A client
 * whose session was forgotten gets a 404, as the protocol has it, and starts again.
 */
class LegacySessions {
  readonly #options: LegacySessionsOptions;
  /** The longest unused first. */
  readonly #sessions = new Map<string, Session>();
  /** The number of sessions that are being opened: they count as well, or many at once would pass the bound. */
  #opening = 0;
  #closed = false;

  constructor(options: LegacySessionsOptions) {
    this.#options = options;
  }

  async answer(request: Request, options: { authInfo?: AuthInfo }): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) return this.#open(request, options);
    const session = this.#sessions.get(id);
    if (session === undefined) return rpcRefusal('Expected the id of an open session, got another. Start a new one with initialize.', 404);
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    session.usedAt = this.#options.clock.elapsed();
    return this.#counted(session, await session.transport.handleRequest(request, options));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()));
    this.#sessions.clear();
  }

  async #open(request: Request, options: { authInfo?: AuthInfo }): Promise<Response> {
    const { maxSessions } = this.#options;
    this.#opening += 1;
    try {
      await this.#forgetUnused();
      if (this.#sessions.size + this.#opening > maxSessions) return rpcRefusal(`Expected fewer than ${maxSessions} sessions, got so many in use. Try again later.`, 503);
      return await this.#start(request, options);
    } finally {
      this.#opening -= 1;
    }
  }

  async #start(request: Request, options: { authInfo?: AuthInfo }): Promise<Response> {
    const { sdk, connect } = this.#options;
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
    const server = connect();
    await server.connect(transport);
    const response = await transport.handleRequest(request, options);
    const { sessionId } = transport;
    // Whatever was no initialize opens no session.
    if (sessionId === undefined || !response.ok || this.#closed) {
      await server.close();
      return response;
    }
    const session: Session = { transport, server, streams: 0, usedAt: this.#options.clock.elapsed() };
    this.#sessions.set(sessionId, session);
    const forget = server.onclose;
    server.onclose = () => {
      forget?.();
      this.#sessions.delete(sessionId);
    };
    return this.#counted(session, response);
  }

  async #forgetUnused(): Promise<void> {
    const { maxSessions, idleMs, clock } = this.#options;
    for (const [id, { server, streams, usedAt }] of this.#sessions) {
      if (streams > 0 || (this.#sessions.size + this.#opening <= maxSessions && clock.elapsed() - usedAt < idleMs)) continue;
      this.#sessions.delete(id);
      await server.close();
    }
  }

  #counted(session: Session, response: Response): Response {
    if (response.body === null || !response.headers.get('content-type')?.includes('text/event-stream')) return response;
    session.streams += 1;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const end = () => {
      session.streams -= 1;
      session.usedAt = this.#options.clock.elapsed();
    };
    // It fails when the client goes, and when the stream breaks, of which the reader is told.
    response.body.pipeTo(writable).then(end, end);
    return new Response(readable, response);
  }
}

/** Words a refusal in the form that clients of the protocol read. */
function rpcRefusal(message: string, status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }, { status, headers });
}
