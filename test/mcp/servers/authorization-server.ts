import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';

interface Grant {
  readonly client: string;
  readonly user: string;
  readonly scope: string;
}
interface Code extends Grant {
  readonly redirect: string;
  readonly challenge: string;
}

/** One request as it arrived. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | null;
  readonly headers: Headers;
  readonly body: string;
}

const json = (value: unknown, status = 200) =>
  Response.json(value, { status, headers: { 'cache-control': 'no-store' } });
const refused = (error: string, status = 400) => json({ error }, status);

async function listening(
  answer: (request: Request, body: string) => Response | Promise<Response>,
  seen: Seen[],
): Promise<{ server: Server; origin: string }> {
  const listener = getRequestListener(async (request) => {
    const body = await request.clone().text();
    seen.push({
      method: request.method,
      path: new URL(request.url).pathname,
      authorization: request.headers.get('authorization'),
      headers: request.headers,
      body,
    });
    return answer(request, body);
  });
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/**
 * An authorization server on this machine with metadata, registration, PKCE, and rotating refresh
 * tokens. It logs everyone in as `user`.
 */
export class AuthorizationServer {
  readonly seen: Seen[] = [];
  origin = '';
  user = 'ada';
  /** The answers that differ from those of an honest server. */
  lies: { metadata?: object; iss?: string } = {};
  readonly secrets = new Map<string, string>();
  readonly #clients = new Map<string, readonly string[]>();
  readonly #codes = new Map<string, Code>();
  readonly #refreshes = new Map<string, Grant>();
  readonly access = new Map<string, Grant>();
  #server: Server | undefined;

  static async start(): Promise<AuthorizationServer> {
    const self = new AuthorizationServer();
    const { server, origin } = await listening(
      (request, body) => self.#answer(request, body),
      self.seen,
    );
    self.#server = server;
    self.origin = origin;
    return self;
  }

  /** Expires all access tokens. */
  expire(): void {
    this.access.clear();
  }

  /** Revokes all tokens, as an operator would. */
  revoke(): void {
    this.expire();
    this.#refreshes.clear();
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  asked(path: string): readonly Seen[] {
    return this.seen.filter((each) => each.path === path);
  }

  #answer(request: Request, body: string): Response {
    const url = new URL(request.url);
    if (url.pathname === '/.well-known/oauth-authorization-server') {
      const endpoints = {
        authorization_endpoint: `${this.origin}/authorize`,
        token_endpoint: `${this.origin}/token`,
        registration_endpoint: `${this.origin}/register`,
      };
      return json({
        issuer: this.origin,
        ...endpoints,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
        ...this.lies.metadata,
      });
    }
    if (url.pathname === '/register') {
      const { redirect_uris } = JSON.parse(body) as { redirect_uris: readonly string[] };
      const client = randomUUID();
      this.#clients.set(client, redirect_uris);
      return json(
        { ...(JSON.parse(body) as object), client_id: client, token_endpoint_auth_method: 'none' },
        201,
      );
    }
    if (url.pathname === '/authorize') return this.#authorize(url.searchParams);
    if (url.pathname === '/token') return this.#token(request, new URLSearchParams(body));
    return refused('not_found', 404);
  }

  #authorize(asked: URLSearchParams): Response {
    const {
      client_id: client = '',
      redirect_uri: redirect = '',
      code_challenge: challenge,
      code_challenge_method: method,
      state = '',
      scope = '',
    } = Object.fromEntries(asked);
    if (
      this.#clients.get(client)?.includes(redirect) !== true ||
      challenge === undefined ||
      method !== 'S256'
    )
      return refused('invalid_request');
    const code = randomUUID();
    this.#codes.set(code, { client, user: this.user, scope, redirect, challenge });
    return new Response(null, {
      status: 302,
      headers: {
        location: `${redirect}?${new URLSearchParams({ code, state, iss: this.lies.iss ?? this.origin }).toString()}`,
      },
    });
  }

  #token(request: Request, asked: URLSearchParams): Response {
    const {
      grant_type: kind,
      code = '',
      code_verifier: verifier = '',
      redirect_uri: redirect,
      refresh_token: refresh = '',
      client_id: client,
      scope,
    } = Object.fromEntries(asked);
    if (kind === 'authorization_code') {
      const granted = this.#codes.get(code);
      this.#codes.delete(code);
      const isGood =
        granted !== undefined &&
        granted.client === client &&
        granted.redirect === redirect &&
        createHash('sha256').update(verifier).digest('base64url') === granted.challenge;
      return isGood ? this.#issue(granted) : refused('invalid_grant');
    }
    if (kind === 'refresh_token') {
      const granted = this.#refreshes.get(refresh);
      this.#refreshes.delete(refresh);
      return granted !== undefined && granted.client === client
        ? this.#issue(granted)
        : refused('invalid_grant');
    }
    const [name = '', secret] = Buffer.from(
      request.headers.get('authorization')?.replace(/^Basic /, '') ?? '',
      'base64',
    )
      .toString()
      .split(':');
    if (kind === 'client_credentials' && secret !== undefined && this.secrets.get(name) === secret)
      return this.#issue({ client: name, user: name, scope: scope ?? '' });
    return refused('invalid_client', 401);
  }

  #issue({ client, user, scope }: Grant): Response {
    const [token, refresh] = [randomUUID(), randomUUID()];
    this.access.set(token, { client, user, scope });
    this.#refreshes.set(refresh, { client, user, scope });
    return json({
      access_token: token,
      refresh_token: refresh,
      token_type: 'Bearer',
      expires_in: 3_600,
      ...(scope !== '' && { scope }),
    });
  }
}

/**
 * A server of the SDK that checks tokens: `read` needs the scope files:read, and `write` also needs
 * files:write. Both tools and the resource note://mine return the token's user.
 */
export class ProtectedServer {
  readonly seen: Seen[] = [];
  /** The authorization server that the server names. It changes when the server has been taken over. */
  names: string;
  /** Redirects every call. */
  redirect: string | undefined;
  url = '';
  readonly #authorization: AuthorizationServer;
  #server: Server | undefined;

  private constructor(authorization: AuthorizationServer) {
    this.#authorization = authorization;
    this.names = authorization.origin;
  }

  static async start(authorization: AuthorizationServer): Promise<ProtectedServer> {
    const self = new ProtectedServer(authorization);
    const { server, origin } = await listening(
      (request, body) => self.#answer(request, body),
      self.seen,
    );
    self.#server = server;
    self.url = `${origin}/mcp`;
    return self;
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  async #answer(request: Request, body: string): Promise<Response> {
    const { pathname, origin } = new URL(request.url);
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    if (pathname === '/.well-known/oauth-protected-resource/mcp')
      return json({ resource: this.url, authorization_servers: [this.names] });
    if (pathname !== '/mcp') return refused('not_found', 404);
    const token = request.headers.get('authorization')?.replace(/^Bearer /, '') ?? '';
    const granted = this.#authorization.access.get(token);
    const challenge = (status: number, error: string, scope: string) =>
      new Response(null, {
        status,
        headers: {
          'www-authenticate': `Bearer error="${error}", scope="${scope}", resource_metadata="${metadata}"`,
        },
      });
    if (granted === undefined) return challenge(401, 'invalid_token', 'files:read');
    if (this.redirect !== undefined)
      return new Response(null, { status: 307, headers: { location: this.redirect } });
    const needed = body.includes('"name":"write"') ? 'files:write' : 'files:read';
    if (!granted.scope.split(' ').includes(needed))
      return challenge(403, 'insufficient_scope', needed);
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: 'protected', version: '1' });
      for (const name of ['read', 'write'])
        server.registerTool(name, { description: 'Does it' }, () => ({
          content: [{ type: 'text', text: granted.user }],
        }));
      server.registerResource('note', 'note://mine', {}, () => ({
        contents: [{ uri: 'note://mine', text: granted.user }],
      }));
      return server;
    });
    return handler.fetch(request);
  }
}
