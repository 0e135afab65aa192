import { BlockList, isIP } from 'node:net';
import { ToolError } from '../../core/errors.js';

/**
 * The addresses of this machine itself, including `0.0.0.0` and `::`, which mean all of its
 * addresses.
 */
const here = new BlockList();
here.addSubnet('127.0.0.0', 8, 'ipv4'); // Also matches its IPv6 form, ::ffff:127.0.0.1.
here.addSubnet('0.0.0.0', 8, 'ipv4');
here.addSubnet('::7f00:0', 104, 'ipv6');
here.addAddress('::1', 'ipv6');
here.addAddress('::', 'ipv6');

function isHere({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const family = isIP(host);
  return family === 0
    ? /(?:^|\.)localhost$/.test(host)
    : here.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/**
 * Returns an address that a server specified, if the program may use it. It must use https, or be
 * on this machine if the server is too.
 *
 * @throws ToolError `FORBIDDEN_URL`: a remote server mustn't direct this program to programs on
 * this machine.
 */
export function checkedAddress(address: URL, server: URL): string {
  const fits = isHere(address)
    ? isHere(server) && ['http:', 'https:'].includes(address.protocol)
    : address.protocol === 'https:';
  // A server that is reached without https, in a private network, may specify its own address.
  if (!fits && address.origin !== server.origin)
    throw new ToolError(
      'FORBIDDEN_URL',
      "The server specified a login address that doesn't start with https://. Only https is allowed.",
    );
  return address.href;
}
