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
  /** The number of open streams: one for each running call, and one for changes. */
  streams: number;
  usedAt: number;
}

/**
 * Serves HTTP sessions with 2025-protocol clients, limited in number and idle time.
 *
 * Only the caller who opened a session can use it. Other callers get the same response as for an
 * unknown id. Only sessions without an open stream are dropped. If every session has an open
 * stream, a new client must try again later. A client whose session was dropped gets a 404 and
 * starts a new one, as the protocol specifies.
 */
export function legacySessions({
  sdk,
  connect,
  maxSessions,
  idleMs,
  clock,
}: LegacySessionsOptions): {
  answer(request: Request, sender: Sender): Promise<Response>;
  close(): Promise<void>;
} {
  /** The sessions, least recently used first. */
  const sessions = new Map<string, Session>();
  /**
   * The number of sessions being opened. They count towards the limit, so that many new clients at
   * once can't exceed it.
   */
  let opening = 0;
  let isClosed = false;

  const forgetUnused = async () => {
    for (const [id, { server, streams, usedAt }] of sessions) {
      const isFull = sessions.size + opening > maxSessions;
      if (streams > 0 || (!isFull && clock.elapsed() - usedAt < idleMs)) continue;
      sessions.delete(id);
      await server.close();
    }
  };

  const handle = async (session: Session, request: Request, { authInfo }: Sender) => {
    session.usedAt = clock.elapsed();
    const response = await session.transport.handleRequest(request, authInfo ? { authInfo } : {});
    const type = response.headers.get('content-type');
    if (response.body === null || !type?.includes('text/event-stream')) return response;
    session.streams += 1;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const end = () => {
      session.streams -= 1;
      session.usedAt = clock.elapsed();
    };
    // `pipeTo` fails if the client disconnects or the stream breaks.
    // The reader of the stream sees the failure.
    response.body.pipeTo(writable).then(end, end);
    return new Response(readable, response);
  };

  const start = async (request: Request, sender: Sender): Promise<Response> => {
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
    });
    const server = connect();
    await server.connect(transport);
    const session: Session = { owner: sender.owner, transport, server, streams: 0, usedAt: 0 };
    const response = await handle(session, request, sender);
    const { sessionId } = transport;
    // Only `initialize` opens a session.
    if (sessionId === undefined || !response.ok || isClosed) {
      await server.close();
      return response;
    }
    sessions.set(sessionId, session);
    const forget = server.onclose;
    server.onclose = () => {
      forget?.();
      sessions.delete(sessionId);
    };
    return response;
  };

  return {
    async answer(request, sender) {
      const id = request.headers.get('mcp-session-id');
      if (id !== null) {
        const session = sessions.get(id);
        if (session === undefined || session.owner !== sender.owner)
          return rpcRefusal(
            'There is no open session with this id. Start a new session with initialize.',
            404,
          );
        sessions.delete(id);
        sessions.set(id, session);
        return handle(session, request, sender);
      }
      opening += 1;
      try {
        await forgetUnused();
        if (sessions.size + opening > maxSessions)
          return rpcRefusal(`All ${maxSessions} sessions are in use. Try again later.`, 503);
        return await start(request, sender);
      } finally {
        opening -= 1;
      }
    },
    async close() {
      isClosed = true;
      await Promise.all([...sessions.values()].map(({ server }) => server.close()));
      sessions.clear();
    },
  };
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
