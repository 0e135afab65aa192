import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Role } from '../host/request-guard.js';
import type { HttpError } from './http-error.js';

/** The key under which `serve` puts Node's response in a request's bindings. */
export const OUTGOING = Symbol('tooldex/outgoing');

/** The values that travel through the app with a request. */
export interface Env {
  Bindings: { readonly [OUTGOING]?: ServerResponse };
  Variables: {
    /** The token's name and roles, if the server was started with named tokens. */
    operator: string | undefined;
    roles: readonly Role[];
  };
}

type Sendable = Pick<Context<Env>, 'req' | 'env'>;

/** The headers of a response, with lower-case names. */
type Headers = Readonly<Record<string, string>>;

/**
 * The page may load resources from this server. Nothing else may run scripts, add styles or frame
 * it.
 */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The headers of every response, including errors. */
export const SECURITY_HEADERS: Headers = Object.freeze({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
});
export const NO_STORE = { 'cache-control': 'no-store' };
const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * A response body with its digest as ETag, because credentials, availability and health change
 * without a new revision.
 */
export interface Tagged {
  readonly body: string;
  readonly etag: string;
}

/** Serializes content as JSON. */
export function tagged(content: unknown): Tagged {
  const body = JSON.stringify(content);
  return { body, etag: `"${hash('sha1', body, 'base64url')}"` };
}

/**
 * Sends content with an ETag. Clients may cache the response but must revalidate it every time.
 * Unchanged content isn't sent again.
 */
export function sendJson(context: Sendable, content: unknown): Response {
  return sendTagged(context, tagged(content), JSON_TYPE);
}

export function sendTagged(
  context: Sendable,
  { body, etag }: Tagged,
  type: string = JSON_TYPE,
): Response {
  const headers = { 'cache-control': 'private, no-cache', etag };
  // Weak tags also match (RFC 9110, section 13.1.2).
  const known = context.req.header('if-none-match')?.split(',');
  if (known?.some((each) => [etag, '*'].includes(each.trim().replace(/^W\//, ''))))
    return send(context, 304, null, headers);
  return send(context, 200, body, { ...headers, 'content-type': type });
}

export function sendError(
  context: Pick<Sendable, 'env'>,
  { status, error, headers }: HttpError,
): Response {
  return send(context, status, JSON.stringify({ error }), {
    ...NO_STORE,
    'content-type': JSON_TYPE,
    ...headers,
  });
}

/**
 * Sends a response. If Node's response is available, writes to it directly, because that's faster.
 */
export function send(
  context: Pick<Sendable, 'env'>,
  status: number,
  body: string | null,
  given: Headers,
): Response {
  const headers = {
    ...SECURITY_HEADERS,
    ...given,
    ...(body !== null && { 'content-length': String(Buffer.byteLength(body)) }),
  };
  const outgoing = context.env?.[OUTGOING];
  if (outgoing === undefined) return new Response(body, { status, headers });
  outgoing.writeHead(status, headers).end(body);
  return RESPONSE_ALREADY_SENT;
}
