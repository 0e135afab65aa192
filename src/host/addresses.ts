import { hostname, networkInterfaces } from 'node:os';
import { z } from 'zod';
import { text, wholeBetween } from '../core/options.js';

/** The names of this machine for itself. */
export const LOOPBACK_HOSTS: readonly string[] = Object.freeze(['localhost', '127.0.0.1', '[::1]']);

/** A host and perhaps a port. Users, paths and further colons outside brackets don't match. */
const AUTHORITY = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,252}))(?::\d{1,5})?$/;

/**
 * Returns the host of an authority, ready to compare: in lower case, without port and final dot. `undefined` for
 * anything else.
 */
export function hostOf(authority: string): string | undefined {
  return AUTHORITY.exec(authority.toLowerCase())?.[1]!.replace(/\.$/, '');
}

/** The option fields of an address to listen on. */
export const listenFields = { port: wholeBetween(0, 65_535), host: text() };

/** An option field for the host names that clients may use. */
export const allowedHosts = z
  .array(z.custom<string>(isHost, 'a host name or address without a port, IPv6 in brackets'))
  .readonly();

/** An option field for a web site's origin. `*` and `null` are refused, because they stand for unknown pages. */
export const origin = z.custom<string>(isOrigin, 'an origin such as "https://tools.example"');

/** An option field for other sites that may ask, as origins or host names. */
export const hostOrOrigin = z.custom<string>(
  (value) => isHost(value) || isOrigin(value),
  'a host name without a port, or an origin such as "https://tools.example"',
);

function isHost(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    !/:\d+$/.test(value.replace(/^\[.*\]$/, '')) &&
    hostOf(value) !== undefined
  );
}

function isOrigin(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^https?:\/\/[^/]+$/.test(value) &&
    URL.canParse(value) &&
    new URL(value).origin === value
  );
}

/** Returns true for an address that only this machine can connect to. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Returns true for an address that stands for all addresses of this machine. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * Returns the host names that clients use for an address. For a wildcard, these include this machine's name and
 * addresses.
 */
export function hostsFor(host: string): readonly string[] {
  const others = isWildcard(host)
    ? [
        hostname(),
        ...Object.values(networkInterfaces()).flatMap((each) =>
          (each ?? []).map(({ address }) => address),
        ),
      ]
    : [host];
  // An address with a zone (`fe80::1%eth0`) can't be the host of a URL.
  return [...LOOPBACK_HOSTS, ...others.filter((each) => !each.includes('%')).map(authorityHost)];
}

/** Returns an address as URLs write it: IPv6 in brackets. */
export function authorityHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
