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
  /** Bytes of the body that are kept, counted after decompression. @default 5 MiB */
  readonly maxBytes?: number;
  /** Milliseconds for everything together: names, redirects and body. @default 15 000 */
  readonly timeoutMs?: number;
  /** @default 5 */
  readonly maxRedirects?: number;
}

export interface FetchAnswer {
  /** The URL that answered, after redirects. */
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Marks a body that was longer than what was kept. */
  readonly truncated: boolean;
  /** The addresses to which redirects led. */
  readonly redirects: readonly string[];
}

/** Bytes: 5 MiB hold any page that is meant to be read, and a few of them at once do not hurt a process. */
const MAX_BYTES = 5 * 1024 * 1024;
/** Milliseconds: slower servers are of no use to a waiting model. */
const TIMEOUT_MS = 15_000;
/** Honest chains are shorter; more is a loop or a maze. */
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Headers that decide where a request goes or how it is framed: with them a request could be smuggled past the wall. */
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
 * Sends a request through the wall, to the very addresses the wall checked.
 *
 * Redirects of GET and HEAD are followed and each is checked again; the caller's headers stay behind when the origin
 * changes. Redirects of other methods are returned as they are: what was meant for one server is not sent to another.
 *
 * @throws ToolError `FORBIDDEN_URL`, `INVALID_INPUT`, `TIMEOUT`, `ABORTED`, `LIMIT_EXCEEDED` for too many redirects, and
 *   `EXECUTION_FAILED` when the server cannot be reached or understood.
 */
export async function guardedFetch(url: string, options: FetchOptions = {}): Promise<FetchAnswer> {
  const { signal, timeoutMs = TIMEOUT_MS } = options;
  checkHeaders(options.headers ?? {});
  if (signal?.aborted) throw aborted();
  const stop = new AbortController();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    stop.abort();
  }, timeoutMs);
  const onAbort = () => stop.abort();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await follow(url, options, stop.signal);
  } catch (error) {
    if (timedOut)
      throw new ToolError(
        'TIMEOUT',
        `Expected an answer within ${timeoutMs} ms, got none. Try later or another address.`,
      );
    if (signal?.aborted) throw aborted();
    if (isToolError(error)) throw error;
    throw new ToolError(
      'EXECUTION_FAILED',
      `Expected an answer from the server, got ${reasonOf(error)}. Check the address or try later.`,
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
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
    // Tokens and cookies were meant for the first origin; once left behind they are not picked up again.
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
          `Expected at most ${maxRedirects} redirects, got more. Call the final address itself.`,
        );
      if (!URL.canParse(location, checked.url.href))
        throw new ToolError(
          'EXECUTION_FAILED',
          'Expected the redirect to name a URL, got text that is none. Call the final address itself.',
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
    // The name is not asked for again: a second answer could be another one than the answer that was checked.
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
          'Expected an HTTP answer, got a switch to another protocol. Call another address.',
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

/** Reads up to `maxBytes` and then lets go: a bomb is never unpacked further than that. */
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
    `Expected a body in gzip, br or none, got ${encoding.slice(0, 40)}. Call another address.`,
  );
}

/** The reader of the stream sees its errors; the pipeline only needs to be told that someone does. */
function ignore(): void {}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower) || lower.startsWith('proxy-'))
      throw new ToolError(
        'INVALID_INPUT',
        `Expected headers that leave the way of the request alone, got ${lower}. Leave it out.`,
      );
    try {
      http.validateHeaderName(name);
      http.validateHeaderValue(name, value);
    } catch {
      throw new ToolError(
        'INVALID_INPUT',
        'Expected header names and values without line breaks and other control characters, got one with them. Leave it out.',
      );
    }
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** Waits for work that cannot be stopped itself, but no longer than until the signal. */
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
  return new ToolError(
    'ABORTED',
    'Expected to finish, got a caller that no longer wants the answer.',
  );
}

/** The system's short code only: its sentences name addresses. */
function reasonOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'an error';
}
