import { ToolError } from '../core/errors.js';
import { isPlainObject } from '../core/plain-data.js';
import { withoutSecrets } from '../core/public-message.js';
import { audio, image, text } from '../tool/content.js';
import { fail, ok, type ToolResult } from '../tool/outcome.js';
import type { Parameter } from './operations.js';
import { boundedBytes } from './read-document.js';

/** The maximum number of bytes of a response that are read: 4 MiB. */
const MOST_BYTES = 4 * 2 ** 20;
/** The maximum number of characters of an error response that models see. */
const LONGEST_ERROR = 2_000;
/** The status codes of failures that may be temporary. */
const TRANSIENT = new Set([408, 425, 429, 502, 503, 504]);

/** A call whose answer is read. */
interface AnsweredCall {
  readonly isReadonly: boolean;
  readonly needsCredentials: boolean;
  /** The credentials that were sent. Some APIs repeat them. */
  readonly secrets: readonly string[];
  readonly parameters: readonly Parameter[];
}

/**
 * Converts an HTTP response to a tool's result: JSON becomes the value, text becomes text, and
 * images and audio become content.
 *
 * If the response's `Link` header names a next page (RFC 8288), the result tells the model which
 * arguments request that page. A failed request becomes a `fail` with status and body. If a
 * readonly call may succeed later, throws instead, so that the executor retries it.
 *
 * @throws ToolError `PROVIDER_UNAVAILABLE` for such a response.
 */
export async function readResponse(response: Response, call: AnsweredCall): Promise<ToolResult> {
  const { bytes, isCut } = await boundedBytes(response, MOST_BYTES);
  const mediaType = (response.headers.get('content-type') ?? '')
    .split(';')[0]!
    .trim()
    .toLowerCase();
  const body = call.secrets.reduce(
    (all, secret) => all.replaceAll(secret, '[secret]'),
    new TextDecoder().decode(bytes),
  );
  const value = mediaType === '' || isJson(mediaType) ? jsonOr(body) : body;
  if (!response.ok) return failed(response, value, call);
  if (bytes.length === 0) return ok({ status: response.status });
  if (/^(?:image|audio)\//.test(mediaType) && !isCut) {
    const content = mediaType.startsWith('image')
      ? image(bytes, mediaType)
      : audio(bytes, mediaType);
    return ok({ mediaType, bytes: bytes.length }, { content: [content] });
  }
  if (body.includes('\u0000')) return ok({ mediaType, bytes: bytes.length });
  const next = nextPage(response, call.parameters);
  const notes = [
    isCut &&
      'The response is larger than 4 MiB, and only the start was read. Request less at a time.',
    next !== undefined && `There are more results. Call again with ${next}.`,
  ].filter((note) => typeof note === 'string');
  if (notes.length === 0) return ok(value);
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  return ok(value, { content: [shown, ...notes].map((each) => text(each)) });
}

function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json');
}

function jsonOr(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}

function failed(
  { status, statusText, headers }: Response,
  body: unknown,
  { isReadonly, needsCredentials }: AnsweredCall,
): ToolResult {
  const said = isPlainObject(body)
    ? [body['message'], body['error'], body['detail'], body['title']].find(
        (each) => typeof each === 'string',
      )
    : undefined;
  const reason = [
    `The API answered ${status}${statusText && ` ${statusText}`}`,
    typeof said === 'string' && `: ${withoutSecrets(said.slice(0, 500))}`,
    '.',
    status === 401 && needsCredentials && ' The call had no credentials: set them with "auth".',
    status >= 300 && status < 400 && ' It redirects to another address, which is not followed.',
  ].filter((part) => typeof part === 'string');
  const message = reason.join('');
  if (isReadonly && TRANSIENT.has(status))
    throw new ToolError('PROVIDER_UNAVAILABLE', message, {
      details: { status },
      cause: { headers },
    });
  const shown = typeof body === 'string' ? body : JSON.stringify(body);
  return fail(message, {
    status,
    body: shown.length > LONGEST_ERROR ? `${shown.slice(0, LONGEST_ERROR)}…` : body,
  });
}

/**
 * Returns the arguments that request the next page, such as `page=2`. They come from the query of
 * the next URL in the `Link` header, which can also contain a credential. So only parameters that
 * models fill in are shown.
 */
function nextPage(
  { headers, url }: Response,
  parameters: readonly Parameter[],
): string | undefined {
  const link = /<([^<>]{1,4096})>\s*;[^,<]*\brel="?next\b/.exec(headers.get('link') ?? '')?.[1];
  if (link === undefined || !URL.canParse(link, url || 'http://localhost')) return undefined;
  const { searchParams } = new URL(link, url || 'http://localhost');
  const shown = parameters
    .filter((each) => each.in === 'query' && searchParams.has(each.name))
    .map(({ argument, name }) => `${argument}=${searchParams.getAll(name).join(',')}`);
  return shown.join('&').slice(0, 500) || undefined;
}
