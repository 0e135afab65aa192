import { createHash, timingSafeEqual } from 'node:crypto';
import { secret } from '../core/options.js';
import { describeValue } from '../core/plain-data.js';
import { hostOf } from './addresses.js';

/**
 * The parts of a request that decide whether it's admitted. A web `Request` has all these parts.
 */
export interface GuardedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: { get(name: string): string | null };
}

/** A refusal of a request. Each server converts a refusal to the format that its clients expect. */
export interface Refusal {
  readonly ok: false;
  readonly status: number;
  readonly code:
    | 'INVALID_ARGUMENT'
    | 'HOST_NOT_ALLOWED'
    | 'ORIGIN_NOT_ALLOWED'
    | 'UNAUTHORIZED'
    | 'INTERNAL_ERROR';
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** An admitted request, and its sender if known. */
export interface Admitted {
  readonly ok: true;
  readonly principal?: string;
  /** The token's scopes. */
  readonly scopes?: readonly string[];
  /** The name of the person or program that the token belongs to. */
  readonly operator?: string;
  /** The token's permissions. */
  readonly roles?: readonly Role[];
}

/**
 * The path that reports whether a server is running. The path requires no token and accepts any
 * host, because probes use the IP address.
 */
export const LIVENESS_PATH = '/healthz';

/** Identifies the sender of a request. */
export type Authenticate = (
  request: GuardedRequest,
) => Admitted | Refusal | Promise<Admitted | Refusal>;

/**
 * Checks a request before anything else reads it. A request to an open path doesn't need a token.
 */
type Guard = (
  request: GuardedRequest,
  options?: { readonly isOpen?: boolean },
) => Promise<Admitted | Refusal>;

interface GuardOptions {
  /** The host names and addresses under which clients reach the server, without ports. */
  readonly allowedHosts: readonly string[];
  /**
   * Other sites whose pages can send requests: an origin (`https://tools.example:8443`), or a host
   * name that allows all origins of that host.
   */
  readonly allowedOrigins: readonly string[];
  /** Identifies the client. If missing, all clients are admitted. */
  readonly authenticate: Authenticate | undefined;
}

const ADMITTED: Admitted = Object.freeze({ ok: true });

/**
 * Creates the guard of a server, which checks the host, the origin, and the token.
 *
 * The host check stops pages whose domain was pointed at this machine after the page had loaded
 * (DNS rebinding). The origin check stops pages from other sites.
 */
export function createGuard({
  allowedHosts,
  allowedOrigins,
  authenticate = () => ADMITTED,
}: GuardOptions): Guard {
  const hosts = new Set(allowedHosts.map(hostOf));
  const origins = new Set(allowedOrigins);
  const isAllowed = (authority: string) => {
    const host = hostOf(authority);
    return host !== undefined && hosts.has(host);
  };
  const placeRefusal = (request: GuardedRequest): Refusal | undefined => {
    const { url, headers } = request;
    const urlHost = authorityOf(url);
    const host = headers.get('host') ?? urlHost; // A request made inside the program has no Host header.
    // A request line with a full URL contains a host too.
    if (!isAllowed(host) || !isAllowed(urlHost)) {
      return refusedRequest(
        403,
        'HOST_NOT_ALLOWED',
        `The host ${describeValue(host)} isn't allowed. Add it to allowedHosts (on the command line: --allowed-host).`,
      );
    }
    const origin = headers.get('origin');
    if (origin !== null && !isOriginAllowed(origin, host, origins)) {
      return refusedRequest(
        403,
        'ORIGIN_NOT_ALLOWED',
        `Requests from the origin ${describeValue(origin)} aren't allowed. Add it to allowedOrigins.`,
      );
    }
    return undefined;
  };
  return async (request, { isOpen = false } = {}) =>
    placeRefusal(request) ?? (isOpen ? ADMITTED : await authenticate(request));
}

/** The schema for a token that is valid in a header and too long to guess. */
export const tokenField = secret<string>(
  '16 to 4096 visible ASCII characters',
  (value) => typeof value === 'string' && /^[\x21-\x7e]{16,4096}$/.test(value),
  'Generate one with `openssl rand -hex 32`.',
);

/** The permissions that a token can have: view, answer pending calls, or run tools. */
export const ROLES = Object.freeze(['view', 'approve', 'run'] as const);
export type Role = (typeof ROLES)[number];

/** A token that belongs to one person or program. */
export interface NamedToken {
  readonly token: string;
  /** The name that is recorded with the owner's actions. */
  readonly name: string;
  /** The token's permissions. @default ['view'] */
  readonly roles?: readonly Role[] | undefined;
  /** The time at which the token expires, in milliseconds since 1970. @default never */
  readonly expiresAt?: number | undefined;
}

/**
 * Admits requests that send one of the tokens in the header `Authorization: Bearer <token>`.
 *
 * Compares digests of all tokens in constant time, so that an attacker can't measure a token's
 * length or how much of a guess was right.
 *
 * @param now Returns the time in milliseconds since 1970.
 */
export function bearerTokens(tokens: readonly NamedToken[], now: () => number): Authenticate {
  const accepted = tokens.map(({ token, ...facts }) => ({ ...facts, digest: digest(token) }));
  return ({ headers }) => {
    const bearer = bearerOf({ headers });
    const sent = digest(bearer ?? '');
    const [found] = accepted.filter((each) => timingSafeEqual(each.digest, sent));
    const isExpired = (found?.expiresAt ?? Infinity) <= now();
    if (bearer !== undefined && found !== undefined && !isExpired)
      return { ok: true, operator: found.name, roles: found.roles ?? ['view'] };
    const got =
      bearer === undefined ? 'none' : isExpired ? 'an expired token' : 'a different token';
    return refusedRequest(
      401,
      'UNAUTHORIZED',
      `Expected \`Authorization: Bearer\` with this server's token, got ${got}. Send the token that the server was started with.`,
      { 'www-authenticate': 'Bearer realm="tooldex"' },
    );
  };
}

/** Admits requests that send the server's only token. */
export function bearerToken(token: string): Authenticate {
  return bearerTokens([{ token, name: 'token' }], () => 0);
}

/** Returns the bearer token from a request. */
export function bearerOf({ headers }: Pick<GuardedRequest, 'headers'>): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
}

export function refusedRequest(
  status: number,
  code: Refusal['code'],
  message: string,
  headers: Refusal['headers'] = {},
): Refusal {
  return { ok: false, status, code, message, headers };
}

function isOriginAllowed(origin: string, host: string, allowed: ReadonlySet<string>): boolean {
  if (!URL.canParse(origin)) return false; // The origin `null` means an unknown page.
  return origin === `http://${host}` || origin === `https://${host}` || isListed(origin, allowed);
}

/** Returns true if the origin or its host is listed. */
export function isListed(origin: string, allowed: ReadonlySet<string>): boolean {
  if (allowed.has(origin)) return true;
  if (!URL.canParse(origin)) return false; // The origin `null` means an unknown page.
  const { protocol, hostname } = new URL(origin);
  // Allowing a host allows its web pages, but not desktop programs whose windows have an origin
  // such as `tauri://localhost`.
  return (protocol === 'http:' || protocol === 'https:') && allowed.has(hostname);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function authorityOf(url: string): string {
  const start = url.indexOf('://') + 3;
  const end = url.indexOf('/', start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}
