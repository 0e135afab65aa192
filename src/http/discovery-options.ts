import { systemClock, type Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import { anObject, requireOptions, wholeBetween, type OptionRule } from '../providers/check-options.js';
import { LOOPBACK_HOSTS, requireHosts } from './guard/allowed-hosts.js';
import { bearerCheck } from './guard/bearer-token.js';

export interface DiscoveryOptions {
  /** Who may ask: those who send `Authorization: Bearer <token>`. The page itself, which has no data in it, is open. @default everybody */
  readonly auth?: { readonly token: string };
  /** Host names under which the catalogue is asked for, without port. @default localhost, 127.0.0.1, [::1] */
  readonly allowedHosts?: readonly string[];
  /** Origins of other sites whose scripts may read answers, such as `https://tools.example`. @default none */
  readonly allowedOrigins?: readonly string[];
  /** Whether the page for people is served under `/`. @default true */
  readonly page?: boolean;
  /** How many may listen to `/events` at a time. @default 32 */
  readonly maxListeners?: number;
  readonly clock?: Clock;
}

export interface CheckedDiscoveryOptions {
  readonly mayEnter: ((authorization: string | undefined) => boolean) | undefined;
  readonly allowedHosts: ReadonlySet<string>;
  readonly allowedOrigins: ReadonlySet<string>;
  readonly page: boolean;
  readonly maxListeners: number;
  readonly clock: Clock;
}

const aList: OptionRule = { expected: 'a list', allows: Array.isArray };
const aBoolean: OptionRule = { expected: 'true or false', allows: (value) => typeof value === 'boolean' };
const aToken: OptionRule = { expected: 'an object { token }', allows: (value) => typeof value === 'object' && value !== null && Object.keys(value).length === 1 && Object.hasOwn(value, 'token') };

const RULES = { auth: aToken, allowedHosts: aList, allowedOrigins: aList, page: aBoolean, maxListeners: wholeBetween(0, 10_000), clock: anObject };

/** @throws ToolError `INVALID_ARGUMENT` for options that are unknown or wrong; it never shows the token. */
export function checkDiscoveryOptions(options: DiscoveryOptions): CheckedDiscoveryOptions {
  requireOptions(options, RULES);
  const { auth, allowedHosts = LOOPBACK_HOSTS, allowedOrigins = [], page = true, maxListeners = 32, clock = systemClock } = options;
  return {
    mayEnter: auth === undefined ? undefined : bearerCheck(auth.token),
    allowedHosts: requireHosts(allowedHosts),
    allowedOrigins: new Set(allowedOrigins.map(requireOrigin)),
    page,
    maxListeners,
    clock,
  };
}

/** `*` and `null` stand for pages that nobody knows. */
function requireOrigin(origin: unknown): string {
  if (typeof origin === 'string' && /^https?:\/\/[^/]+$/.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin) return origin;
  throw new ToolError('INVALID_ARGUMENT', `Expected allowedOrigins as a list of origins such as "https://tools.example", found ${describeValue(origin)}`);
}
