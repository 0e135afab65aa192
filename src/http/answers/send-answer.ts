import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { ServerResponse } from 'node:http';
import type { Answer } from './answer.js';

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
  if (outgoing === undefined || body instanceof ReadableStream) return new Response(body, { status, headers });
  outgoing.writeHead(status, headers);
  outgoing.end(body);
  return RESPONSE_ALREADY_SENT;
}
