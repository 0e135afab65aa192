import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { ToolError } from '../../src/index.js';
import { classifyAddress } from './ip-ranges.js';

/** Resolves a host name to its addresses. */
type Resolve = (hostname: string) => Promise<readonly string[]>;

interface UrlWallOptions {
  /**
   * Allows the user's own machine and network, on any port. Metadata services are still refused.
   * @default false
   */
  readonly allowPrivate?: boolean;
  /** The allowed ports, unless `allowPrivate` allows all. @default 80, 443, 8080, 8443 */
  readonly ports?: readonly number[];
  /**
   * The resolver. The resolver is called once per URL. Connections use only the addresses that it
   * returned and that passed the check.
   * @default the system's resolver
   */
  readonly resolve?: Resolve;
}

/** A URL that passed the check, with its addresses. Connect only to these addresses. */
export type CheckedUrl = {
  readonly url: URL;
  /** The host name without brackets. */
  readonly hostname: string;
  readonly addresses: readonly string[];
};

/**
 * The usual ports of web servers. Other ports belong to databases, mail servers and admin
 * interfaces.
 */
const WEB_PORTS = [80, 443, 8080, 8443];

/** Host names that by definition belong to the user's own network. */
const PRIVATE_SUFFIXES = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa'];

/** Host names of services that hand out a machine's credentials. */
const METADATA_NAMES = new Set([
  'metadata',
  'metadata.goog',
  'metadata.google.internal',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.azure.internal',
]);

/**
 * Decides which URLs a tool may call, so that nobody can talk a model into calling services that
 * only this machine can reach.
 */
export class UrlWall {
  readonly #allowPrivate: boolean;
  readonly #ports: ReadonlySet<number>;
  readonly #resolve: Resolve;

  constructor({
    allowPrivate = false,
    ports = WEB_PORTS,
    resolve = resolveAll,
  }: UrlWallOptions = {}) {
    this.#allowPrivate = allowPrivate;
    this.#ports = new Set(ports);
    this.#resolve = resolve;
  }

  /**
   * Checks the URL as Node parses it, and then every address of its host.
   *
   * @throws ToolError `FORBIDDEN_URL` if any part is refused, `EXECUTION_FAILED` if the host has no
   * address.
   */
  async check(text: string | URL): Promise<CheckedUrl> {
    const { url, hostname } = this.#checkText(text);
    if (isIP(hostname) !== 0) {
      this.#checkAddress(url, hostname);
      return { url, hostname, addresses: [hostname] };
    }
    const addresses = await this.#addressesOf(hostname);
    // All addresses are checked, because an attacker may hide a private address among public ones.
    for (const address of addresses) this.#checkAddress(url, address);
    return { url, hostname, addresses };
  }

  #checkText(text: string | URL): { url: URL; hostname: string } {
    if (!URL.canParse(String(text)))
      throw new ToolError(
        'FORBIDDEN_URL',
        "This isn't an absolute http or https URL. Write it as https://host/path.",
      );
    const url = new URL(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw refused(url, `Only http and https URLs are allowed, not ${url.protocol.slice(0, -1)}.`);
    // Credentials before the host would be sent to the server, and can make the URL look as if it
    // had a different host.
    if (url.username !== '' || url.password !== '')
      throw refused(url, 'The URL contains a user name or password. Remove it.');
    url.hostname = withoutTrailingDots(url.hostname);
    const hostname = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
    if (isIP(hostname) === 0) this.#checkName(url, hostname);
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
    if (!this.#allowPrivate && !this.#ports.has(port))
      throw refused(url, `Port ${port} isn't allowed, only ${[...this.#ports].join(', ')}.`);
    return { url, hostname };
  }

  #checkName(url: URL, name: string): void {
    if (name.split('.').includes('')) throw refused(url, 'The host name has an empty part.');
    if (METADATA_NAMES.has(name)) throw refused(url, 'The host is a metadata service.');
    if (this.#allowPrivate) return;
    const isPrivate = PRIVATE_SUFFIXES.some(
      (suffix) => name === suffix || name.endsWith(`.${suffix}`),
    );
    // For a name without a dot, the system also looks in the search domains of the user's network.
    if (isPrivate || !name.includes('.'))
      throw refused(url, 'The host name belongs to a private network.');
  }

  #checkAddress(url: URL, address: string): void {
    const found = classifyAddress(address);
    if (found === 'public' || (found === 'private' && this.#allowPrivate)) return;
    throw refused(url, `The host has a ${found} address, and only public addresses are allowed.`);
  }

  async #addressesOf(hostname: string): Promise<readonly string[]> {
    let addresses: readonly string[];
    try {
      addresses = await this.#resolve(hostname);
    } catch (cause) {
      throw new ToolError(
        'EXECUTION_FAILED',
        `The host name ${hostname} has no address. Check its spelling.`,
        { cause },
      );
    }
    if (addresses.length === 0)
      throw new ToolError(
        'EXECUTION_FAILED',
        `The host name ${hostname} has no address. Check its spelling.`,
      );
    return addresses;
  }
}

async function resolveAll(hostname: string): Promise<readonly string[]> {
  const answers = await lookup(hostname, { all: true });
  return answers.map(({ address }) => address);
}

/**
 * Removes trailing dots: `localhost.` is the same as `localhost`, and certificates never include
 * the dot.
 */
function withoutTrailingDots(hostname: string): string {
  let end = hostname.length;
  while (end > 1 && hostname[end - 1] === '.') end -= 1;
  return hostname.slice(0, end);
}

/**
 * Returns the error for a refused URL. The message contains only the URL's origin, because paths
 * and queries may contain secrets.
 */
function refused(url: URL, why: string): ToolError {
  const origin = url.origin === 'null' ? url.protocol : url.origin;
  return new ToolError('FORBIDDEN_URL', `${why} This URL can't be called: ${origin}`, {
    details: { url: origin },
  });
}
