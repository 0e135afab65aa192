import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/** Headers of an answer, names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string>>;

/** An answer as data; `sendAnswer` sends it. */
export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;
}

/** The page may load what comes from this server, and nothing else may run, style or frame it. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The headers of every answer, errors included. */
export const SECURITY_HEADERS: AnswerHeaders = Object.freeze({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
});

const JSON_TYPE = 'application/json; charset=utf-8';

/** The headers of a request that an answer depends on. */
export interface Conditions {
  readonly ifNoneMatch: string | undefined;
  /** Headers that the guard of the request adds: those of CORS, if it is configured. */
  readonly extra: AnswerHeaders;
}

/**
 * Returns an answer with content. Clients keep it, but ask for it again each time with its ETag, so that unchanged
 * content travels once.
 *
 * The ETag is a digest of the content itself: credentials, availability and health change without a revision.
 */
export function contentAnswer(body: string, conditions: Conditions): Answer {
  return taggedAnswer(body, `"${digestOfText(body)}"`, JSON_TYPE, conditions);
}

/** Returns an answer with content whose ETag is known, quotes included. */
export function taggedAnswer(
  body: string | Uint8Array<ArrayBuffer>,
  etag: string,
  type: string,
  { ifNoneMatch, extra }: Conditions,
): Answer {
  const headers = { ...SECURITY_HEADERS, 'cache-control': 'private, no-cache', etag, ...extra };
  if (ifNoneMatch !== undefined && matches(ifNoneMatch, etag))
    return { status: 304, headers, body: null };
  return {
    status: 200,
    headers: {
      ...headers,
      'content-type': type,
      'content-length': String(Buffer.byteLength(body)),
    },
    body,
  };
}

/** Returns a digest as a short word; it tells contents apart, and keeps no secret. */
function digestOfText(text: string): string {
  return hash('sha1', text, 'base64url');
}

/** Returns true if a list of ETags has this one; weak ones count (RFC 9110, 13.1.2). */
function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}

/** The codes of errors on the wire: those of the library, and those that only HTTP has. */
type WireErrorCode =
  | 'INVALID_ARGUMENT'
  | 'TOOL_NOT_FOUND'
  | 'PERSONA_NOT_FOUND'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'HOST_NOT_ALLOWED'
  | 'ORIGIN_NOT_ALLOWED'
  | 'UNAUTHORIZED'
  | 'BODY_NOT_ALLOWED'
  | 'URL_TOO_LONG'
  | 'TOO_MANY_LISTENERS'
  | 'INTERNAL_ERROR';

/** An error about a request: `{error: {code, message, parameter?, expected?, found?}}` on the wire. */
export interface WireError {
  readonly code: WireErrorCode;
  readonly message: string;
  readonly parameter?: string;
  readonly expected?: string;
  readonly found?: string;
}

export function errorAnswer(status: number, error: WireError, extra: AnswerHeaders = {}): Answer {
  const body = JSON.stringify({ error });
  return {
    status,
    headers: {
      ...SECURITY_HEADERS,
      'cache-control': 'no-store',
      'content-type': JSON_TYPE,
      'content-length': String(Buffer.byteLength(body)),
      ...extra,
    },
    body,
  };
}

/** A part of an answer that is kept: its JSON in UTF-8, and a digest of it. */
export interface JsonPiece {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly digest: string;
}

export function jsonPiece(json: string): JsonPiece {
  return Object.freeze({ bytes: utf8(json), digest: digestOfText(json) });
}

/**
 * Returns an answer out of pieces with commas between them.
 *
 * Pieces are copied, neither encoded nor digested again: that would take most of the time of a long list. The ETag is a
 * digest of their digests.
 */
export function piecesAnswer(
  before: string,
  pieces: readonly JsonPiece[],
  after: string,
  conditions: Conditions,
): Answer {
  const etag = `"${digestOfText([before, after, ...pieces.map(({ digest }) => digest)].join('\n'))}"`;
  const parts = [
    utf8(before),
    ...pieces.flatMap(({ bytes }, index) => (index === 0 ? [bytes] : [COMMA, bytes])),
    utf8(after),
  ];
  return taggedAnswer(Buffer.concat(parts), etag, 'application/json; charset=utf-8', conditions);
}

const COMMA = utf8(',');

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return Buffer.from(text);
}

/** A page of a list. */
interface ListPage {
  readonly items: readonly unknown[];
  readonly next: string | null;
  readonly changed: boolean;
}

/** The parts of a list beside its items: `{count, total, revision, changed, next, <name>: […]}` on the wire. */
interface ListFacts {
  /** The key of the items. */
  readonly name: string;
  /** The path and the query of the request; the address of the next page has them, too. */
  readonly path: string;
  readonly query: string;
  readonly total: number;
  readonly revision: number;
  readonly page: ListPage;
}

/** The JSON of a list up to its first item; `LIST_END` follows the last. */
export function listStart({
  name,
  path,
  query,
  total,
  revision,
  page: { items, next, changed },
}: ListFacts): string {
  const address = next === null ? 'null' : JSON.stringify(`${path}?${withCursor(query, next)}`);
  return `{"count":${items.length},"total":${total},"revision":${revision},"changed":${changed},"next":${address},"${name}":[`;
}

export const LIST_END = ']}';

function withCursor(query: string, cursor: string): string {
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return parameters.toString();
}

/** The key of the response of Node's server among a request's bindings, which `serve` sets. */
export const OUTGOING = Symbol('tooldex/outgoing');

/**
 * Sends an answer.
 *
 * Under `serve` it is written to Node's response at once: through a `Response` every answer is copied into a stream and
 * out of it again. Anywhere else it is a `Response`, as middleware around the app expects.
 */
export function sendAnswer({ status, headers, body }: Answer, bindings: unknown): Response {
  const outgoing = (bindings as { readonly [OUTGOING]?: ServerResponse } | undefined)?.[OUTGOING];
  if (outgoing === undefined || body instanceof ReadableStream)
    return new Response(body, { status, headers });
  outgoing.writeHead(status, headers);
  outgoing.end(body);
  return RESPONSE_ALREADY_SENT;
}
