import { ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';

/** The names of this machine for itself. */
export const LOOPBACK_HOSTS: readonly string[] = Object.freeze(['localhost', '127.0.0.1', '[::1]']);

/** A host and, at most, a port: no user, no path, no second colon outside of brackets. */
const AUTHORITY = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,252}))(?::\d{1,5})?$/;

/** The host of an authority as it is compared: in lower case, without port and the dot of the root; `undefined` for what is none. */
export function hostOf(authority: string): string | undefined {
  return AUTHORITY.exec(authority.toLowerCase())?.[1]!.replace(/\.$/, '');
}

/** @throws ToolError `INVALID_ARGUMENT` for what is no host. */
export function requireHosts(hosts: unknown): ReadonlySet<string> {
  if (!Array.isArray(hosts)) throw refused(hosts);
  return new Set(
    hosts.map((host: unknown) => {
      const name = typeof host === 'string' && !/:\d+$/.test(host.replace(/^\[.*\]$/, '')) ? hostOf(host) : undefined;
      if (name === undefined) throw refused(host);
      return name;
    }),
  );
}

function refused(found: unknown): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Expected allowedHosts as a list of host names or addresses without a port, IPv6 in brackets, found ${describeValue(found)}`);
}
