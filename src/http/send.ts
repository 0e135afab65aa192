import type { Context } from 'hono';
import { hash } from 'node:crypto';
import type { Role } from '../host/request-guard.js';
import type { HttpError } from './http-error.js';

/** The values that travel through the app with a request. */
export interface Env {
  Variables: {
    /** The token's name and roles, if the server was started with named tokens. */
    operator: string;
    roles: readonly Role[];
  };
}

/** The headers of a response, with lower-case names. */
type Headers = Readonly<Record<string, string>>;

/** The page may load resources only from this server, and no other page may frame it. */
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
 * A response body with its digest as ETag. The revision isn't used as ETag, because availability
 * and health change without a new revision.
 */
export interface Tagged {
  readonly body: string;
  readonly etag: string;
}

/** Serializes content as JSON. */
export const tagged = (content: unknown) => taggedText(JSON.stringify(content));

export function taggedText(body: string): Tagged {
  return { body, etag: `"${hash('sha1', body, 'base64url')}"` };
}

/**
 * Sends content with an ETag. Clients may cache the response but must revalidate it every time.
 * Unchanged content gets 304.
 */
export function sendTagged(context: Context, { body, etag }: Tagged, type = JSON_TYPE): Response {
  const headers = { 'cache-control': 'private, no-cache', etag };
  // Weak tags also match (RFC 9110, section 13.1.2).
  const tags = context.req.header('if-none-match')?.split(',');
  if (tags?.some((each) => [etag, '*'].includes(each.trim().replace(/^W\//, ''))))
    return send(304, null, headers);
  return send(200, body, { ...headers, 'content-type': type });
}

export function sendError({ status, error, headers }: HttpError): Response {
  return send(status, JSON.stringify({ error }), {
    ...NO_STORE,
    'content-type': JSON_TYPE,
    ...headers,
  });
}

/** Sends a response with the headers that every response has. */
export function send(status: number, body: string | null, extra: Headers): Response {
  const length = body !== null && { 'content-length': String(Buffer.byteLength(body)) };
  return new Response(body, { status, headers: { ...SECURITY_HEADERS, ...extra, ...length } });
}

/** Returns the query of a URL as the client sent it. */
export function searchOf(url: string): string {
  return /\?([^#]*)/.exec(url)?.[1] ?? '';
}
