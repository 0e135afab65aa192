import type {
  AuthInfo,
  McpServer,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { LOOPBACK_HOSTS } from '../../host/addresses.js';
import { createCors } from '../../host/cors.js';
import { listen, type RunningServer } from '../../host/listen.js';
import {
  bearerOf,
  bearerToken,
  createGuard,
  LIVENESS_PATH,
  type Admitted,
} from '../../host/request-guard.js';
import { createVerifiedTokens } from '../../host/verified-tokens.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { ownerOf } from './request-context.js';
import type { CheckedServerOptions } from './server-options.js';
import type { ServerSdk } from './tool-calls.js';

/** The path of the protocol's endpoint. */
const PATH = '/mcp';

/** A server for streamable HTTP. It supports clients of the 2025 and 2026 protocols. */
interface HttpFace {
  fetch(request: Request, authInfo: AuthInfo | undefined): Promise<Response>;
  /**
   * Announces changes to 2026-protocol clients. 2025-protocol clients get announcements through
   * their sessions.
   */
  tellChange(): void;
  close(): Promise<void>;
}

/**
 * Returns a server that handles web requests: health, token metadata, and the protocol. Each
 * 2026-protocol request is served by a new server. 2025-protocol clients get sessions, because
 * without a session they couldn't be asked for approval.
 *
 * @param connect Creates the server for one request, or for a session if it lasts.
 * @param inputSchemaOf Returns the schema of a served tool, for arguments that are repeated in
 * headers.
 */
export function createHttpFace(
  sdk: ServerSdk,
  options: CheckedServerOptions,
  connect: (lasts: boolean) => Server,
  inputSchemaOf: (name: string) => JsonSchema | undefined,
): HttpFace {
  const onerror = (error: Error) => options.onError?.(error);
  const modern = sdk.createMcpHandler(() => checkingHeaders(sdk, connect(false), inputSchemaOf), {
    legacy: 'reject',
    onerror,
  });
  const {
    maxSessions,
    token,
    verify,
    resource = {},
    allowedHosts = LOOPBACK_HOSTS,
    allowedOrigins = allowedHosts,
  } = options;
  const sessions = legacySessions(sdk, () => connect(true), maxSessions);
  const tokens = verify && createVerifiedTokens(verify, resource, PATH);
  const guard = createGuard({
    allowedHosts,
    allowedOrigins,
    authenticate: token === undefined ? tokens?.authenticate : bearerToken(token),
  });
  // Pages on this machine may send requests, but only `allowedOrigins` may read responses.
  // Any user's program can show a page on this machine.
  const cors = createCors({
    allowedOrigins: options.allowedOrigins ?? [],
    methods: 'GET, POST, DELETE',
    requestHeaders:
      'authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id',
    exposedHeaders: 'mcp-session-id, www-authenticate',
  });
  const answer = async (request: Request, given: AuthInfo | undefined): Promise<Response> => {
    const preflight = cors.preflightOf(request);
    const metadata = request.method === 'GET' ? tokens?.metadataFor(request) : undefined;
    const admission = await guard(request, {
      isOpen: preflight !== undefined || metadata !== undefined,
    });
    if (!admission.ok) return rpcRefusal(admission.message, admission.status, admission.headers);
    if (preflight !== undefined) return new Response(null, { status: 204, headers: preflight });
    if (metadata !== undefined) return Response.json(metadata);
    const authInfo = (verify === undefined ? given : undefined) ?? authInfoOf(request, admission);
    const passed = authInfo === undefined ? {} : { authInfo };
    const response = await ((await sdk.isLegacyRequest(request))
      ? sessions.answer(request, { owner: ownerOf(options, authInfo), ...passed })
      : modern.fetch(request, passed));
    // The SDK adds a header that asks clients to keep connections open.
    // The client and the listener should decide that.
    response.headers.delete('connection');
    return response;
  };
  const authInfoOf = (
    request: Request,
    { principal, scopes = [] }: Admitted,
  ): AuthInfo | undefined => {
    if (principal !== undefined)
      return { token: bearerOf(request)!, clientId: principal, scopes: [...scopes] };
    return token === undefined ? undefined : { token, clientId: 'bearer', scopes: [] };
  };
  return {
    async fetch(request, given) {
      if (new URL(request.url).pathname === LIVENESS_PATH) return Response.json({ status: 'ok' });
      const response = await answer(request, given);
      for (const [name, value] of Object.entries(cors.headersOf(request)))
        response.headers.set(name, value);
      return response;
    },
    tellChange: () => modern.notify.toolsChanged(),
    async close() {
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}

/**
 * Makes the SDK compare `Mcp-Param-*` headers with a call's arguments. The SDK does that for a
 * server in which it can look up schemas by name.
 */
function checkingHeaders(
  sdk: ServerSdk,
  server: Server,
  toolInputSchemaJson: (name: string) => JsonSchema | undefined,
): McpServer {
  const knowing = new sdk.McpServer({ name: '', version: '' });
  return Object.assign(knowing, { server, toolInputSchemaJson });
}

/** Listens for web clients. @throws ToolError like `listen`. */
export async function listenHttp(
  face: HttpFace,
  place: { readonly port: number; readonly host: string; readonly needsToken: boolean },
): Promise<RunningServer> {
  const listening = await listen({
    ...place,
    answer: (request) => {
      const { pathname } = new URL(request.url);
      return pathname === PATH || pathname === LIVENESS_PATH || pathname.startsWith('/.well-known/')
        ? face.fetch(request, undefined)
        : rpcRefusal(`Nothing is served at this path. Use ${PATH}.`, 404);
    },
    refuse: ({ message, status, headers }) => rpcRefusal(message, status, headers),
  });
  return { ...listening, url: `${listening.url}${PATH}` };
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
 *
 * @param connect Creates the server for a new session.
 */
function legacySessions(
  sdk: ServerSdk,
  connect: () => Server,
  maxSessions: number,
): {
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
    void oldest[1].server.close().catch(() => undefined);
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
function rpcRefusal(
  message: string,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(
    { jsonrpc: '2.0', error: { code: -32_000, message }, id: null },
    { status, headers },
  );
}
