import { hostname, networkInterfaces } from 'node:os';
import { z } from 'zod';
import { text, wholeBetween } from '../core/options.js';

/** The host names by which this machine refers to itself. */
export const LOOPBACK_HOSTS: readonly string[] = Object.freeze(['localhost', '127.0.0.1', '[::1]']);

/**
 * Matches a host and an optional port, without a user, a path, or a second colon outside brackets.
 */
const AUTHORITY = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,252}))(?::\d{1,5})?$/;

/**
 * Returns the host of an authority in a comparable form (lowercase, without port and trailing dot).
 * Returns `undefined` if the authority is invalid.
 */
export function hostOf(authority: string): string | undefined {
  return AUTHORITY.exec(authority.toLowerCase())?.[1]!.replace(/\.$/, '');
}

/** The schema fields for the address to listen on. */
export const listenFields = { port: wholeBetween(0, 65_535), host: text() };

/** The schema for the hosts under which clients reach a server. */
export const allowedHosts = z
  .array(z.custom<string>(isHost, 'a host name or address without a port, IPv6 in brackets'))
  .readonly();

/**
 * The schema for the origin of a website. Refuses the origins `*` and `null`, because they match
 * unknown pages.
 */
export const origin = z.custom<string>(isOrigin, 'an origin such as "https://tools.example"');

/** The schema for pages that can send requests, by origin or by host. */
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

/** Returns true for an address that covers all addresses of this machine. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * Returns the hosts under which clients can reach a server that listens on this address. For a
 * wildcard address, includes this machine's name and addresses.
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
  // An address with a zone (`fe80::1%eth0`) isn't valid as the host in a URL.
  return [...LOOPBACK_HOSTS, ...others.filter((each) => !each.includes('%')).map(authorityHost)];
}

/** Formats an address as in URLs: IPv6 in brackets. */
export function authorityHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
