import { systemClock, type Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { isHost, isOrigin, LOOPBACK_HOSTS } from '../host/addresses.js';
import { bearerToken, isToken, TOKEN_ADVICE, TOKEN_RULE, type Authenticate } from '../host/request-guard.js';
import { anObject, requireOptions, wholeBetween, type OptionRule } from '../providers/check-options.js';

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
  readonly authenticate: Authenticate | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly page: boolean;
  readonly maxListeners: number;
  readonly clock: Clock;
}

const aBoolean: OptionRule = { expected: 'true or false', allows: (value) => typeof value === 'boolean' };
const hosts: OptionRule = { expected: 'a list of host names or addresses without a port, IPv6 in brackets', allows: (value) => Array.isArray(value) && value.every(isHost) };
const origins: OptionRule = { expected: 'a list of origins such as "https://tools.example"', allows: (value) => Array.isArray(value) && value.every(isOrigin) };
const auth: OptionRule = { expected: 'an object { token }', allows: (value) => typeof value === 'object' && value !== null && Object.keys(value).length === 1 && Object.hasOwn(value, 'token') };

const RULES = { auth, allowedHosts: hosts, allowedOrigins: origins, page: aBoolean, maxListeners: wholeBetween(0, 10_000), clock: anObject };

/** @throws ToolError `INVALID_ARGUMENT` for options that are unknown or wrong; it never shows the token. */
export function checkDiscoveryOptions(options: DiscoveryOptions): CheckedDiscoveryOptions {
  requireOptions(options, RULES);
  const { auth, allowedHosts = LOOPBACK_HOSTS, allowedOrigins = [], page = true, maxListeners = 32, clock = systemClock } = options;
  if (auth !== undefined && !isToken(auth.token)) throw new ToolError('INVALID_ARGUMENT', `Expected a token of ${TOKEN_RULE}, got another. ${TOKEN_ADVICE}`);
  return { authenticate: auth && bearerToken(auth.token), allowedHosts, allowedOrigins, page, maxListeners, clock };
}
