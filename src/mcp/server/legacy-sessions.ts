import type {
  AuthInfo,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import type { ServerSdk } from './tool-calls.js';

interface LegacySessionsOptions {
  readonly sdk: ServerSdk;
  /** Creates the server for a new session. */
  readonly connect: () => Server;
  readonly maxSessions: number;
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
}

/**
 * Serves HTTP sessions with 2025-protocol clients, limited in number.
 *
 * Only the caller who opened a session can use it. Other callers get the same response as for an
 * unknown id. The least recently used session makes room for a new one. A client whose session was
 * dropped gets a 404 and starts a new one, as the protocol specifies.
 */
export function legacySessions({ sdk, connect, maxSessions }: LegacySessionsOptions): {
  answer(request: Request, sender: Sender): Promise<Response>;
  close(): Promise<void>;
} {
  /** The sessions, least recently used first. */
  const sessions = new Map<string, Session>();
  let isClosed = false;

  const keep = (id: string, session: Session) => {
    sessions.delete(id);
    sessions.set(id, session);
    const [oldest] = sessions;
    if (oldest === undefined || sessions.size <= maxSessions) return;
    sessions.delete(oldest[0]);
    void oldest[1].server.close();
  };

  const start = async (request: Request, { owner, ...auth }: Sender): Promise<Response> => {
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
    });
    const server = connect();
    await server.connect(transport);
    const response = await transport.handleRequest(request, auth);
    const { sessionId } = transport;
    // Only `initialize` opens a session.
    if (sessionId === undefined || !response.ok || isClosed) {
      await server.close();
      return response;
    }
    const forget = server.onclose;
    server.onclose = () => {
      forget?.();
      sessions.delete(sessionId);
    };
    keep(sessionId, { owner, transport, server });
    return response;
  };

  return {
    async answer(request, sender) {
      const id = request.headers.get('mcp-session-id');
      if (id === null) return start(request, sender);
      const { owner, ...auth } = sender;
      const session = sessions.get(id);
      if (session?.owner !== owner)
        return rpcRefusal(
          'There is no open session with this id. Start a new session with initialize.',
          404,
        );
      keep(id, session);
      return session.transport.handleRequest(request, auth);
    },
    async close() {
      isClosed = true;
      await Promise.all([...sessions.values()].map(({ server }) => server.close()));
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
