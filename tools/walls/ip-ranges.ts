import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** The kind of an address: public, in the user's own network, or forbidden for every tool. */
type AddressClass = 'public' | 'private' | 'forbidden';

type Range = readonly [address: string, prefix: number];

/**
 * Addresses of the user's machine and network. Tools may reach these addresses only if the caller
 * allows it.
 */
const PRIVATE_V4 = ranges('ipv4', [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8], // loopback
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
]);
const PRIVATE_V6 = ranges('ipv6', [
  ['::1', 128], // loopback
  ['fc00::', 7], // unique-local
]);

/**
 * Ranges without ordinary web servers. Some of these ranges are reserved, and some belong to
 * services that hand out a machine's credentials.
 */
const FORBIDDEN_V4 = ranges('ipv4', [
  ['0.0.0.0', 8], // "this host": connects to loopback on most systems
  ['100.100.100.200', 32], // cloud instance metadata, inside the carrier-grade NAT range
  ['168.63.129.16', 32], // host agent of a cloud provider, inside a public range
  ['169.254.0.0', 16], // link-local, including the metadata address 169.254.169.254
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved and broadcast
]);
const FORBIDDEN_V6 = ranges('ipv6', [
  ['2001::', 23], // protocol assignments, including Teredo, which embeds an IPv4 address
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which embeds an IPv4 address
  ['3fff::', 20], // documentation
  ['fd00:ec2::', 32], // cloud instance metadata, inside the unique-local range
  ['fd20:ce::', 32], // cloud instance metadata, inside the unique-local range
]);

/**
 * The IPv6 block for global unicast addresses. IPv4-mapped, IPv4-compatible and NAT64 addresses are
 * all outside it.
 */
const GLOBAL_V6 = ranges('ipv6', [['2000::', 3]]);

/**
 * Returns the kind of an address. Anything that isn't an address, or isn't known to be harmless, is
 * forbidden.
 */
export function classifyAddress(address: string): AddressClass {
  if (isIPv4(address)) {
    if (FORBIDDEN_V4.check(address, 'ipv4')) return 'forbidden';
    return PRIVATE_V4.check(address, 'ipv4') ? 'private' : 'public';
  }
  if (!isIPv6(address) || address.includes('%') || FORBIDDEN_V6.check(address, 'ipv6'))
    return 'forbidden';
  if (PRIVATE_V6.check(address, 'ipv6')) return 'private';
  return GLOBAL_V6.check(address, 'ipv6') ? 'public' : 'forbidden';
}

function ranges(family: 'ipv4' | 'ipv6', list: readonly Range[]): BlockList {
  const blocks = new BlockList();
  for (const [address, prefix] of list) blocks.addSubnet(address, prefix, family);
  return blocks;
}
