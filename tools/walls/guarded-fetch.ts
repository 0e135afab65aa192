import http, {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import https from 'node:https';
import { isIPv6, type LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { isToolError, ToolError } from '../../src/index.js';
import { UrlWall, type CheckedUrl } from './url-wall.js';

interface FetchOptions {
  readonly wall?: UrlWall;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Maximum number of bytes of the body that are kept, counted after decompression.
   * @default 5 MiB
   */
  readonly maxBytes?: number;
  /**
   * Timeout in milliseconds for the whole request: name lookup, redirects and body. @default 15,000
   */
  readonly timeoutMs?: number;
  /** Maximum number of redirects that are followed. @default 5 */
  readonly maxRedirects?: number;
}

export interface FetchAnswer {
  /** The URL that responded, after redirects. */
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** True if the body was longer than the part that was kept. */
  readonly truncated: boolean;
  /** The URLs of the redirects. */
  readonly redirects: readonly string[];
}

/**
 * Maximum body size: 5 MiB. Any readable page is smaller than this, and several such bodies fit in
 * memory.
 */
const MAX_BYTES = 5 * 1024 * 1024;
/** Default timeout in milliseconds. A model shouldn't wait longer for a slow server. */
const TIMEOUT_MS = 15_000;
/** Maximum number of redirects. Real sites need fewer. */
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Headers that determine where a request goes or how it's framed. Callers mustn't set these
 * headers, because they could redirect the request to an unchecked server.
 */
const OWN_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'keep-alive',
  'accept-encoding',
  'http2-settings',
]);

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/**
 * Sends a request, but only to addresses that the `UrlWall` has checked.
 *
 * Redirects of GET and HEAD requests are followed, and the address of each redirect is checked. If
 * the origin changes, the caller's headers are dropped. For other methods, the redirect itself is
 * returned, because such a request mustn't be sent to a different server.
 *
 * @throws ToolError `FORBIDDEN_URL`, `INVALID_INPUT`, `TIMEOUT`, `ABORTED`, `LIMIT_EXCEEDED` for
 * too many redirects, and `EXECUTION_FAILED` if the server can't be reached or understood.
 */
export async function guardedFetch(url: string, options: FetchOptions = {}): Promise<FetchAnswer> {
  const { signal, timeoutMs = TIMEOUT_MS } = options;
  checkHeaders(options.headers ?? {});
  if (signal?.aborted) throw aborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  const stop = AbortSignal.any([timeout, ...(signal === undefined ? [] : [signal])]);
  try {
    return await follow(url, options, stop);
  } catch (error) {
    if (signal?.aborted) throw aborted();
    if (timeout.aborted)
      throw new ToolError(
        'TIMEOUT',
        `The server didn't respond within ${timeoutMs} ms. Try again later or use another address.`,
      );
    if (isToolError(error)) throw error;
    throw new ToolError(
      'EXECUTION_FAILED',
      `The server couldn't be reached: ${reasonOf(error)}. Check the address or try again later.`,
      { cause: error },
    );
  }
}

async function follow(
  first: string,
  options: FetchOptions,
  stop: AbortSignal,
): Promise<FetchAnswer> {
  const {
    wall = new UrlWall(),
    method = 'GET',
    body,
    maxBytes = MAX_BYTES,
    maxRedirects = MAX_REDIRECTS,
  } = options;
  const followed = method === 'GET' || method === 'HEAD';
  const redirects: string[] = [];
  let headers = options.headers ?? {};
  let target: string | URL = first;
  let origin: string | undefined;
  for (;;) {
    const checked: CheckedUrl = await untilStopped(() => wall.check(target), stop);
    // Tokens and cookies are meant only for the first origin. Once dropped, they're never sent
    // again.
    if (origin !== undefined && checked.url.origin !== origin) headers = {};
    origin = checked.url.origin;
    const response = await send(checked, { method, headers, body }, stop);
    try {
      const status = response.statusCode ?? 0;
      const location = response.headers.location;
      if (!followed || location === undefined || !REDIRECTS.has(status)) {
        const kept = await readBody(response, method, maxBytes);
        return { url: checked.url.href, status, headers: response.headers, ...kept, redirects };
      }
      if (redirects.length >= maxRedirects)
        throw new ToolError(
          'LIMIT_EXCEEDED',
          `There were more than ${maxRedirects} redirects. Call the final address directly.`,
        );
      if (!URL.canParse(location, checked.url.href))
        throw new ToolError(
          'EXECUTION_FAILED',
          "The redirect doesn't contain a valid URL. Call the final address directly.",
        );
      target = new URL(location, checked.url);
      redirects.push(target.href);
    } finally {
      response.destroy();
    }
  }
}

function send(
  { url, hostname, addresses }: CheckedUrl,
  { method, headers, body }: Sent,
  stop: AbortSignal,
): Promise<IncomingMessage> {
  const request: RequestOptions = {
    protocol: url.protocol,
    hostname,
    port: url.port === '' ? null : url.port,
    path: url.pathname + url.search,
    method,
    headers: {
      'user-agent': 'tooldex',
      accept: '*/*',
      ...lowerCased(headers),
      'accept-encoding': 'gzip, br',
      ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
    },
    // The name isn't resolved again, because a second lookup could return an unchecked address.
    lookup: pinnedTo(addresses),
    agent: false,
    signal: stop,
  };
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === 'https:' ? https : http).request(request, resolve);
    sent.on('error', reject);
    sent.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(
        new ToolError(
          'EXECUTION_FAILED',
          'The server switched to a protocol other than HTTP. Call another address.',
        ),
      );
    });
    sent.end(body);
  });
}

function pinnedTo(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_hostname, { all }, callback) => {
    const [first] = answers;
    if (all === true) callback(null, answers);
    else callback(null, first?.address ?? '', first?.family);
  };
}

/** Reads up to `maxBytes` and then stops. A compression bomb isn't unpacked any further. */
async function readBody(
  response: IncomingMessage,
  method: string,
  maxBytes: number,
): Promise<{ body: Buffer; truncated: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  if (method === 'HEAD') return { body: Buffer.alloc(0), truncated: false };
  for await (const chunk of decoded(response) as AsyncIterable<Buffer>) {
    chunks.push(chunk.subarray(0, maxBytes - size));
    size += chunk.length;
    if (size > maxBytes) break;
  }
  return { body: Buffer.concat(chunks), truncated: size > maxBytes };
}

function decoded(response: IncomingMessage): Readable {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return response;
  if (encoding === 'gzip' || encoding === 'x-gzip')
    return pipeline(response, createGunzip(), ignore);
  if (encoding === 'br') return pipeline(response, createBrotliDecompress(), ignore);
  throw new ToolError(
    'EXECUTION_FAILED',
    `The body is encoded as ${encoding.slice(0, 40)}, which isn't supported. Use a different URL.`,
  );
}

/** Does nothing. The pipeline needs a callback, but errors are handled by the stream's reader. */
function ignore(): void {}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower) || lower.startsWith('proxy-'))
      throw new ToolError(
        'INVALID_INPUT',
        `The header ${lower} would change where the request goes, so it isn't allowed. Omit it.`,
      );
    try {
      http.validateHeaderName(name);
      http.validateHeaderValue(name, value);
    } catch {
      throw new ToolError(
        'INVALID_INPUT',
        "Header names and values can't contain line breaks or other control characters. Remove them.",
      );
    }
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** Waits for work that can't be stopped, but only until the signal fires. */
async function untilStopped<T>(work: () => Promise<T>, stop: AbortSignal): Promise<T> {
  stop.throwIfAborted();
  let onAbort = ignore;
  const stopped = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(aborted());
    stop.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work(), stopped]);
  } finally {
    stop.removeEventListener('abort', onAbort);
  }
}

function aborted(): ToolError {
  return new ToolError('ABORTED', 'The call was aborted by the caller.');
}

/**
 * Returns the system's short error code. The system's messages aren't used, because they contain
 * addresses.
 */
function reasonOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'an error';
}
