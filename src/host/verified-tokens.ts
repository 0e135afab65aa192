import { z } from 'zod';
import { aFunction, text } from '../core/options.js';
import { bearerOf, refusal, type Authenticate, type GuardedRequest } from './request-guard.js';

/** The sender and the rights that a token stands for. */
interface VerifiedToken {
  /** The user or program that the token stands for. */
  readonly principal: string;
  /** The scopes of the token. Policies compare them with those that a tool needs. @default none */
  readonly scopes?: readonly string[];
}

/** Checks a token's signature and expiry, and that it was made for this server. `undefined` refuses it. */
export type VerifyToken = (
  token: string,
) => VerifiedToken | undefined | Promise<VerifiedToken | undefined>;

/** The information that tells clients where to get a token: protected resource metadata (RFC 9728). */
export interface ProtectedResource {
  /** The public address of the server. Behind a proxy, the proxy's. @default the address in the request */
  readonly url?: string | undefined;
  /** The authorization servers whose tokens are accepted. @default none */
  readonly authorizationServers?: readonly string[] | undefined;
  /** The scopes that clients should ask for. @default none */
  readonly scopes?: readonly string[] | undefined;
  /** The name of the server, as people read it. @default none */
  readonly name?: string | undefined;
}

const webAddress = z.custom<string>(
  (value) => typeof value === 'string' && /^https?:\/\/[^#]+$/.test(value) && URL.canParse(value),
  'an http or https address without a fragment',
);

/** The option fields that both servers share. */
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
            .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope without blanks, quotes and backslashes'),
        )
        .readonly()
        .optional(),
      name: text().optional(),
    })
    .optional(),
};

/** The path where clients look for the metadata. The server's own path follows it. */
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The program's check of tokens, and the answers for clients without one. */
interface VerifiedTokens {
  readonly authenticate: Authenticate;
  /** Returns the metadata for a request that asks for it, and `undefined` for all others. */
  metadataFor(request: GuardedRequest): object | undefined;
}

const VERIFIED = z.object({
  principal: z.string().min(1),
  scopes: z.array(z.string()).readonly().optional(),
});

/**
 * Makes the check of bearer tokens from a function of the program.
 *
 * If the function throws or returns anything else, nobody is admitted. The client gets a 503 without details.
 *
 * @param path the server's path, for its public address if none is given.
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
        refusal(
          401,
          'UNAUTHORIZED',
          `Expected \`Authorization: Bearer\` with a token for this server, got ${got}. Get one from the authorization server that the metadata names.`,
          { 'www-authenticate': challengeOf(request, error) },
        );
      if (token === undefined) return refused('none');
      let answer: unknown;
      try {
        answer = await verify(token);
        if (answer === undefined || answer === null)
          return refused('one that is not accepted', ', error="invalid_token"');
        const { principal, scopes: granted = [] } = VERIFIED.parse(answer);
        return { ok: true, principal, scopes: Object.freeze([...granted]) };
      } catch {
        return refusal(
          503,
          'INTERNAL_ERROR',
          'Expected to check the token, but the check failed. Try again later.',
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
