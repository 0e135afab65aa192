import { isListed, type GuardedRequest } from './request-guard.js';

type Headers = Readonly<Record<string, string>>;

interface CorsOptions {
  /**
   * The origins whose scripts can read responses, or host names that allow all origins of a host.
   */
  readonly allowedOrigins: readonly string[];
  readonly methods: string;
  readonly requestHeaders: string;
  /** The response headers that scripts can read. */
  readonly exposedHeaders: string;
}

/** Creates the CORS headers that let scripts on other sites send requests and read responses. */
interface Cors {
  /** Returns the headers for every response to a request, or no headers if no site is allowed. */
  headersOf(request: GuardedRequest): Headers;
  /**
   * Returns the headers for the response to a preflight request, or `undefined` for any other
   * request.
   */
  preflightOf(request: GuardedRequest): Headers | undefined;
}

const NONE: Headers = Object.freeze({});
const VARY: Headers = Object.freeze({ vary: 'origin' });

export function createCors({
  allowedOrigins,
  methods,
  requestHeaders,
  exposedHeaders,
}: CorsOptions): Cors {
  const allowed = new Set(allowedOrigins);
  const headersOf = ({ headers }: GuardedRequest): Headers => {
    if (allowed.size === 0) return NONE;
    const origin = headers.get('origin');
    return origin !== null && isListed(origin, allowed)
      ? {
          ...VARY,
          'access-control-allow-origin': origin,
          'access-control-expose-headers': exposedHeaders,
        }
      : VARY;
  };
  return {
    headersOf,
    preflightOf: (request) => {
      const headers = headersOf(request);
      if (
        request.method !== 'OPTIONS' ||
        !('access-control-allow-origin' in headers) ||
        request.headers.get('access-control-request-method') === null
      )
        return undefined;
      return {
        ...headers,
        'access-control-allow-methods': methods,
        'access-control-allow-headers': requestHeaders,
        'access-control-max-age': '600',
      };
    },
  };
}
