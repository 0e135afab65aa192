import type {
  AuthInfo,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import type { ServerSdk } from './tool-calls.js';

interface LegacySessionsOptions {
  readonly sdk: ServerSdk;
  /** Creates the server for a new session. */
  readonly connect: () => Server;
  readonly maxSessions: number;
  readonly idleMs: number;
  readonly clock: Clock;
}

/** The sender of a request. */
interface Sender {
  /** The key of the caller who owns the session. */
  readonly owner: string;
  readonly authInfo?: AuthInfo;
}

interface Session {
  readonly owner: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
  /** The number of open streams: those of running calls, and the stream for changes. */
  streams: number;
  usedAt: number;
}

/**
 * HTTP sessions with 2025-protocol clients, limited in number and idle time.
 *
 * Only the caller who opened a session can use it. For everyone else its id is unknown. Only
 * sessions without an open stream are dropped. If all are in use, a new client must try again
 * later. A client whose session was dropped gets a 404 and starts a new one, as the protocol
 * specifies.
 */
export class LegacySessions {
  readonly #options: LegacySessionsOptions;
  /** The sessions, least recently used first. */
  readonly #sessions = new Map<string, Session>();
  /**
   * The number of sessions being opened. They count too, because otherwise many at once could
   * exceed the limit.
   */
  #opening = 0;
  #closed = false;

  constructor(options: LegacySessionsOptions) {
    this.#options = options;
  }

  async answer(request: Request, sender: Sender): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) return this.#open(request, sender);
    const session = this.#sessions.get(id);
    if (session === undefined || session.owner !== sender.owner)
      return rpcRefusal(
        'There is no open session with this id. Start a new session with initialize.',
        404,
      );
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    session.usedAt = this.#options.clock.elapsed();
    return this.#counted(
      session,
      await session.transport.handleRequest(request, optionsOf(sender)),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()));
    this.#sessions.clear();
  }

  async #open(request: Request, sender: Sender): Promise<Response> {
    const { maxSessions } = this.#options;
    this.#opening += 1;
    try {
      await this.#forgetUnused();
      if (this.#sessions.size + this.#opening > maxSessions)
        return rpcRefusal(`All ${maxSessions} sessions are in use. Try again later.`, 503);
      return await this.#start(request, sender);
    } finally {
      this.#opening -= 1;
    }
  }

  async #start(request: Request, sender: Sender): Promise<Response> {
    const { sdk, connect } = this.#options;
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
    });
    const server = connect();
    await server.connect(transport);
    const response = await transport.handleRequest(request, optionsOf(sender));
    const { sessionId } = transport;
    // Only `initialize` opens a session.
    if (sessionId === undefined || !response.ok || this.#closed) {
      await server.close();
      return response;
    }
    const session: Session = {
      owner: sender.owner,
      transport,
      server,
      streams: 0,
      usedAt: this.#options.clock.elapsed(),
    };
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
      if (
        streams > 0 ||
        (this.#sessions.size + this.#opening <= maxSessions && clock.elapsed() - usedAt < idleMs)
      )
        continue;
      this.#sessions.delete(id);
      await server.close();
    }
  }

  #counted(session: Session, response: Response): Response {
    if (
      response.body === null ||
      !response.headers.get('content-type')?.includes('text/event-stream')
    )
      return response;
    session.streams += 1;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const end = () => {
      session.streams -= 1;
      session.usedAt = this.#options.clock.elapsed();
    };
    // Fails if the client disconnects or the stream breaks. The reader notices.
    response.body.pipeTo(writable).then(end, end);
    return new Response(readable, response);
  }
}

function optionsOf({ authInfo }: Sender): { authInfo?: AuthInfo } {
  return authInfo === undefined ? {} : { authInfo };
}

/** Returns an error response in the form that the protocol's clients read. */
export function rpcRefusal(
  message: string,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(
    { jsonrpc: '2.0', error: { code: -32_000, message }, id: null },
    { status, headers },
  );
}
