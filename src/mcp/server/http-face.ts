import type {
  AuthInfo,
  McpHttpHandler,
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
import { onClose, type Changed } from './relays.js';
import { ownerOf } from './request-context.js';
import type { CheckedServerOptions } from './server-options.js';
import type { ServerSdk } from './tool-calls.js';

/** The path of the protocol's endpoint. */
const PATH = '/mcp';

/**
 * Handles web requests: health, token metadata, and the protocol. Each 2026-protocol request is
 * served by a new server. 2025-protocol clients get sessions, because without a session they
 * couldn't be asked for approval.
 */
export class HttpFace {
  readonly #modern: McpHttpHandler;
  readonly #sessions: LegacySessions;
  readonly #tokens: ReturnType<typeof createVerifiedTokens> | undefined;
  readonly #guard: ReturnType<typeof createGuard>;
  readonly #cors: ReturnType<typeof createCors>;

  /**
   * @param connect Creates the server for one request, or for a session if it lasts.
   * @param inputSchemaOf Returns the schema of a served tool, for arguments that are repeated in
   * headers.
   */
  constructor(
    readonly sdk: ServerSdk,
    readonly options: CheckedServerOptions,
    connect: (lasts: boolean) => Server,
    inputSchemaOf: (name: string) => JsonSchema | undefined,
  ) {
    this.#modern = sdk.createMcpHandler(() => checkingHeaders(sdk, connect(false), inputSchemaOf), {
      legacy: 'reject',
      onerror: (error) => options.onError?.(error),
    });
    const { token, verify, resource = {}, allowedHosts = LOOPBACK_HOSTS } = options;
    const { allowedOrigins = allowedHosts } = options;
    this.#sessions = new LegacySessions(sdk, () => connect(true), options.maxSessions);
    this.#tokens = verify && createVerifiedTokens(verify, resource, PATH);
    this.#guard = createGuard({
      allowedHosts,
      allowedOrigins,
      authenticate: token === undefined ? this.#tokens?.authenticate : bearerToken(token),
    });
    // Pages on this machine may send requests, but only `allowedOrigins` may read responses.
    // Any user's program can show a page on this machine.
    this.#cors = createCors({
      allowedOrigins: options.allowedOrigins ?? [],
      methods: 'GET, POST, DELETE',
      requestHeaders:
        'authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id',
      exposedHeaders: 'mcp-session-id, www-authenticate',
    });
  }

  async fetch(request: Request, verified: AuthInfo | undefined): Promise<Response> {
    if (new URL(request.url).pathname === LIVENESS_PATH) return Response.json({ status: 'ok' });
    const response = await this.#answer(request, verified);
    for (const [name, value] of Object.entries(this.#cors.headersOf(request)))
      response.headers.set(name, value);
    return response;
  }

  /**
   * Announces changes to 2026-protocol clients. 2025-protocol clients get announcements through
   * their sessions.
   */
  tellChange(what: Changed): void {
    this.#modern.notify[`${what}Changed`]();
  }

  async close(): Promise<void> {
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
  }

  async #answer(request: Request, verified: AuthInfo | undefined): Promise<Response> {
    const { verify } = this.options;
    const preflight = this.#cors.preflightOf(request);
    const metadata = request.method === 'GET' ? this.#tokens?.metadataFor(request) : undefined;
    const admission = await this.#guard(request, {
      isOpen: preflight !== undefined || metadata !== undefined,
    });
    if (!admission.ok) return rpcRefusal(admission.message, admission.status, admission.headers);
    if (preflight !== undefined) return new Response(null, { status: 204, headers: preflight });
    if (metadata !== undefined) return Response.json(metadata);
    const authInfo =
      (verify === undefined ? verified : undefined) ?? this.#authInfoOf(request, admission);
    const passed = authInfo === undefined ? {} : { authInfo };
    const response = await ((await this.sdk.isLegacyRequest(request))
      ? this.#sessions.answer(request, { owner: ownerOf(this.options, authInfo), ...passed })
      : this.#modern.fetch(request, passed));
    // The SDK adds a header that asks clients to keep connections open.
    // The client and the listener should decide that.
    response.headers.delete('connection');
    return response;
  }

  #authInfoOf(request: Request, { principal, scopes = [] }: Admitted): AuthInfo | undefined {
    const { token } = this.options;
    if (principal !== undefined)
      return { token: bearerOf(request)!, clientId: principal, scopes: [...scopes] };
    return token === undefined ? undefined : { token, clientId: 'bearer', scopes: [] };
  }
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
 */
class LegacySessions {
  readonly #connect: () => Server;
  /** The sessions, least recently used first. */
  readonly #sessions = new Map<string, Session>();
  #isClosed = false;

  /** @param connect Creates the server for a new session. */
  constructor(
    readonly sdk: ServerSdk,
    connect: () => Server,
    readonly most: number,
  ) {
    this.#connect = connect;
  }

  async answer(request: Request, sender: Sender): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) return this.#start(request, sender);
    const { owner, ...auth } = sender;
    const session = this.#sessions.get(id);
    if (session?.owner !== owner)
      return rpcRefusal(
        'There is no open session with this id. Start a new session with initialize.',
        404,
      );
    this.#keep(id, session);
    return session.transport.handleRequest(request, auth);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()));
  }

  #keep(id: string, session: Session): void {
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    const [oldest] = this.#sessions;
    if (oldest === undefined || this.#sessions.size <= this.most) return;
    this.#sessions.delete(oldest[0]);
    void oldest[1].server.close().catch(() => undefined);
  }

  async #start(request: Request, { owner, ...auth }: Sender): Promise<Response> {
    const transport = new this.sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
    });
    const server = this.#connect();
    await server.connect(transport);
    const response = await transport.handleRequest(request, auth);
    const { sessionId } = transport;
    // Only `initialize` opens a session.
    if (sessionId === undefined || !response.ok || this.#isClosed) {
      await server.close();
      return response;
    }
    onClose(server, () => void this.#sessions.delete(sessionId));
    this.#keep(sessionId, { owner, transport, server });
    return response;
  }
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
