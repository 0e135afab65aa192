import { describeValue } from '../../core/plain-data.js';
import { errorAnswer, type Answer, type AnswerHeaders } from '../answers/answer.js';
import { hostOf } from './allowed-hosts.js';

/** Bytes of a request's address. */
const LONGEST_URL = 8_192;
const ALLOW = 'GET, HEAD';

export interface GuardOptions {
  readonly allowedHosts: ReadonlySet<string>;
  /** Exact origins of other sites whose scripts may read answers. */
  readonly allowedOrigins: ReadonlySet<string>;
  readonly mayEnter: ((authorization: string | undefined) => boolean) | undefined;
}

export interface GuardedRequest {
  readonly method: string;
  readonly url: string;
  /** Whether it is for everybody, also without the token: the page, which has no data in it. */
  readonly isOpen: boolean;
  readonly header: (name: string) => string | undefined;
}

/** Lets a request pass, with headers that its answer needs; or refuses it. */
export type Passage = { readonly passes: true; readonly headers: AnswerHeaders } | { readonly passes: false; readonly answer: Answer };

/**
 * A check of requests before anything looks at them: method, host, origin, size, body, token.
 *
 * The host keeps pages out whose name was pointed at this machine after they were loaded (DNS rebinding), the origin
 * those that ask from elsewhere.
 */
export function createGuard({ allowedHosts, allowedOrigins, mayEnter }: GuardOptions): (request: GuardedRequest) => Passage {
  const isAllowed = (authority: string) => {
    const host = hostOf(authority);
    return host !== undefined && allowedHosts.has(host);
  };
  return ({ method, url, isOpen, header }) => {
    const urlHost = authorityOf(url);
    const host = header('host') ?? urlHost;
    // Where two readers of a request disagree about its host or its end, one of them can be fooled (request smuggling).
    if (host.includes(',') || (header('transfer-encoding') ?? 'chunked').toLowerCase() !== 'chunked') {
      return refuse(400, { code: 'INVALID_ARGUMENT', message: 'Expected one Host and no Transfer-Encoding but chunked, found another request' }, CLOSE);
    }
    // A request line with a whole address names a host, too.
    if (!isAllowed(host) || !isAllowed(urlHost)) return refuse(403, { code: 'HOST_NOT_ALLOWED', message: `Expected a host that is allowed, found ${describeValue(host)}; add it to allowedHosts (on the command line: --allowed-host)` });

    const origin = header('origin');
    const own = origin !== undefined && (origin === `http://${host}` || origin === `https://${host}`);
    const foreign = origin !== undefined && !own;
    if (foreign && !allowedOrigins.has(origin)) return refuse(403, { code: 'ORIGIN_NOT_ALLOWED', message: `Expected a request of the same site, found the origin ${describeValue(origin)}; add it to allowedOrigins` });
    const headers: AnswerHeaders = allowedOrigins.size === 0 ? NONE : foreign ? { vary: 'origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': 'etag' } : VARY;

    if (method === 'OPTIONS' && foreign && header('access-control-request-method') !== undefined) {
      const allowed = { ...headers, 'access-control-allow-methods': ALLOW, 'access-control-allow-headers': 'authorization, if-none-match', 'access-control-max-age': '600' };
      return { passes: false, answer: { status: 204, headers: allowed, body: null } };
    }
    if (method !== 'GET' && method !== 'HEAD') return refuse(405, { code: 'METHOD_NOT_ALLOWED', message: `Expected ${ALLOW}, found ${describeValue(method)}; the catalogue is read only` }, { ...headers, allow: ALLOW });
    if (url.length - schemeLength(url) - urlHost.length > LONGEST_URL) return refuse(414, { code: 'URL_TOO_LONG', message: `Expected an address of at most ${LONGEST_URL} bytes, found a longer one` }, headers);
    // A body that is not read could be taken for the next request by someone between.
    if (header('transfer-encoding') !== undefined || !/^0*$/.test(header('content-length') ?? '')) return refuse(400, { code: 'BODY_NOT_ALLOWED', message: 'Expected a request without a body, found one with' }, { ...headers, ...CLOSE });
    if (mayEnter !== undefined && !isOpen && !mayEnter(header('authorization'))) {
      return refuse(401, { code: 'UNAUTHORIZED', message: 'Expected `Authorization: Bearer` with the token of this catalogue, found none or another' }, { ...headers, 'www-authenticate': 'Bearer realm="tooldex"' });
    }
    return { passes: true, headers };
  };
}

const NONE: AnswerHeaders = Object.freeze({});
const CLOSE: AnswerHeaders = Object.freeze({ connection: 'close' });
const VARY: AnswerHeaders = Object.freeze({ vary: 'origin' });

function refuse(...answer: Parameters<typeof errorAnswer>): Passage {
  return { passes: false, answer: errorAnswer(...answer) };
}

function schemeLength(url: string): number {
  return url.indexOf('://') + 3;
}

function authorityOf(url: string): string {
  const start = schemeLength(url);
  const end = url.indexOf('/', start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}
