import { z } from 'zod';
import { aFunction, text } from '../core/options.js';
import {
  bearerOf,
  refusedRequest,
  type Authenticate,
  type GuardedRequest,
} from './request-guard.js';

/** The result of verifying a token: its owner and scopes. */
interface VerifiedToken {
  /** The user or program that the token belongs to. */
  readonly principal: string;
  /**
   * The token's scopes. Policies compare these scopes with the scopes that a tool requires.
   * @default none
   */
  readonly scopes?: readonly string[];
}

/**
 * Verifies a token: its signature, its expiry, and that it was issued for this server. Return
 * `undefined` to refuse the token.
 */
export type VerifyToken = (
  token: string,
) => VerifiedToken | undefined | Promise<VerifiedToken | undefined>;

/** Information for clients on where to get a token: protected resource metadata (RFC 9728). */
export interface ProtectedResource {
  /**
   * The server's public URL. If the server is behind a proxy, this is the proxy's URL. @default the
   * request's URL
   */
  readonly url?: string | undefined;
  /** The URLs of the authorization servers whose tokens are accepted. @default none */
  readonly authorizationServers?: readonly string[] | undefined;
  /** The scopes that clients should request. @default none */
  readonly scopes?: readonly string[] | undefined;
  /** The server's name, for people. @default none */
  readonly name?: string | undefined;
}

const webAddress = z.custom<string>(
  (value) => typeof value === 'string' && /^https?:\/\/[^#]+$/.test(value) && URL.canParse(value),
  'an http or https address without a fragment',
);

/** The schema fields that the discovery server and the MCP server share. */
export const verifyFields = {
  verify: aFunction<VerifyToken>().optional(),
  resource: z
    .strictObject({
      url: webAddress.optional(),
      authorizationServers: z.array(webAddress).readonly().optional(),
      scopes: z
        .array(
          z
            .string()
            .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope without spaces, quotes and backslashes'),
        )
        .readonly()
        .optional(),
      name: text().optional(),
    })
    .optional(),
};

/** The path prefix of the metadata. The server's own path is appended to this prefix. */
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The program's token check, and the metadata for clients that don't have a token. */
interface VerifiedTokens {
  readonly authenticate: Authenticate;
  /** Returns the metadata if the request is for it, or `undefined` for any other request. */
  metadataFor(request: GuardedRequest): object | undefined;
}

const VERIFIED = z.object({
  principal: z.string().min(1),
  scopes: z.array(z.string()).readonly().optional(),
});

/**
 * Creates a check of bearer tokens that uses the program's own function.
 *
 * If the function throws or returns an unexpected value, the request is refused with status 503,
 * and the response doesn't include the error.
 *
 * @param path The server's path, used for its public URL if no URL is configured.
 */
export function createVerifiedTokens(
  verify: VerifyToken,
  { url, authorizationServers, scopes, name }: ProtectedResource,
  path: string,
): VerifiedTokens {
  const resourceOf = (request: GuardedRequest): string =>
    url ?? `${new URL(request.url).origin}${path}`;
  const challengeOf = (request: GuardedRequest, error: string): string => {
    const { origin, pathname } = new URL(resourceOf(request));
    const wanted =
      scopes === undefined || scopes.length === 0 ? '' : `, scope="${scopes.join(' ')}"`;
    return `Bearer realm="tooldex"${error}${wanted}, resource_metadata="${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}"`;
  };
  return {
    async authenticate(request) {
      const token = bearerOf(request);
      const refused = (got: string, error = '') =>
        refusedRequest(
          401,
          'UNAUTHORIZED',
          `Expected \`Authorization: Bearer\` with a token for this server, got ${got}. Get a token from an authorization server listed in the metadata.`,
          { 'www-authenticate': challengeOf(request, error) },
        );
      if (token === undefined) return refused('none');
      let answer: unknown;
      try {
        answer = await verify(token);
        if (answer === undefined || answer === null)
          return refused("a token that isn't accepted", ', error="invalid_token"');
        const { principal, scopes: granted = [] } = VERIFIED.parse(answer);
        return { ok: true, principal, scopes: Object.freeze([...granted]) };
      } catch {
        return refusedRequest(
          503,
          'INTERNAL_ERROR',
          "The server couldn't verify the token. Try again later.",
          { 'retry-after': '5' },
        );
      }
    },
    metadataFor(request) {
      const { pathname } = new URL(request.url);
      if (pathname !== WELL_KNOWN && !pathname.startsWith(`${WELL_KNOWN}/`)) return undefined;
      return {
        resource: resourceOf(request),
        ...(authorizationServers && { authorization_servers: authorizationServers }),
        ...(scopes && { scopes_supported: scopes }),
        bearer_methods_supported: ['header'],
        ...(name !== undefined && { resource_name: name }),
      };
    },
  };
}
