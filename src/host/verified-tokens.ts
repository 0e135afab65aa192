import { z } from 'zod';
import { aFunction, text } from '../core/options.js';
import { bearerOf, refusal, type Authenticate, type GuardedRequest } from './request-guard.js';

/** The meaning of a token: who sends it, and what it may be used for. */
interface VerifiedToken {
  /** The user or program that the token stands for. */
  readonly principal: string;
  /** The scopes of the token, which policies compare with those that a tool asks for. @default none */
  readonly scopes?: readonly string[];
}

/** Checks a token: its signature, its end and that it was made for this server. `undefined` refuses it. */
export type VerifyToken = (
  token: string,
) => VerifiedToken | undefined | Promise<VerifiedToken | undefined>;

/** The facts by which clients learn where to get a token: protected resource metadata (RFC 9728). */
export interface ProtectedResource {
  /** The public address of the server, behind a proxy that of the proxy. @default the address that the request names */
  readonly url?: string | undefined;
  /** The addresses of the authorization servers whose tokens are taken. @default none is named */
  readonly authorizationServers?: readonly string[] | undefined;
  /** The scopes that clients should ask for. @default none is named */
  readonly scopes?: readonly string[] | undefined;
  /** The name of the server, for users. @default none */
  readonly name?: string | undefined;
}

const webAddress = z.custom<string>(
  (value) => typeof value === 'string' && /^https?:\/\/[^#]+$/.test(value) && URL.canParse(value),
  'an http or https address without a fragment',
);

/** The option fields of both servers. */
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

/** The path under which clients look for the metadata, before the path of the server. */
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The check of tokens by the program, and what clients without one are told. */
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
 * Makes the check of bearer tokens by a function of the program.
 *
 * A check that throws, or answers anything else, admits no one: the client reads 503, and nothing of the error.
 *
 * @param path the path of the server, for its public address where none is given.
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
