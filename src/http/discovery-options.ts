import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { clock, secret, wholeBetween, type FieldsOf } from '../core/options.js';
import { allowedHosts, listenFields, LOOPBACK_HOSTS, origin } from '../host/addresses.js';
import { tokenField } from '../host/request-guard.js';

export interface DiscoveryOptions {
  /**
   * The credentials of clients: they send `Authorization: Bearer <token>`. The page itself, which has no data in it, is
   * open. @default open to all
   */
  readonly auth?: { readonly token: string };
  /** The host names under which the catalogue is asked for, without port. @default localhost, 127.0.0.1, [::1] */
  readonly allowedHosts?: readonly string[];
  /** The origins of other sites whose scripts may read answers, such as `https://tools.example`. @default none */
  readonly allowedOrigins?: readonly string[];
  /** Serves the page for users under `/`. @default true */
  readonly page?: boolean;
  /** The number of clients that may listen to `/events` at a time. @default 32 */
  readonly maxListeners?: number;
  readonly clock?: Clock;
}

export interface ServeOptions extends Omit<DiscoveryOptions, 'auth'> {
  /** The port; 0 takes any that is free. @default 4780 */
  readonly port?: number;
  /** The address to listen on. Any but this machine's own needs a token. @default '127.0.0.1' */
  readonly host?: string;
  /** The token of 16 or more characters that clients send as `Authorization: Bearer <token>`. */
  readonly token?: string;
}

const shared = {
  allowedOrigins: z.array(origin).readonly().default([]),
  page: z.boolean().default(true),
  maxListeners: wholeBetween(0, 10_000).default(32),
  clock: clock().default(systemClock),
};

export const discoveryOptions = z.strictObject({
  ...shared,
  allowedHosts: allowedHosts.default(LOOPBACK_HOSTS),
  // The whole value may be a token given in the wrong place, so no message shows it.
  auth: secret<{ readonly token: string }>('an object { token } with 16 to 4096 visible ASCII characters', (value) => z.strictObject({ token: tokenField }).safeParse(value).success, 'Make them with `openssl rand -hex 32`.').optional(),
} satisfies FieldsOf<DiscoveryOptions>);

export const serveOptions = z.strictObject({
  ...shared,
  allowedHosts: allowedHosts.optional(),
  port: listenFields.port.default(4780),
  host: listenFields.host.default('127.0.0.1'),
  token: tokenField.optional(),
} satisfies FieldsOf<ServeOptions>);
