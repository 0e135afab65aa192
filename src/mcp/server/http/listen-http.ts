import { getRequestListener } from '@hono/node-server';
import { createServer, type ServerOptions } from 'node:http';
import { hostname, networkInterfaces } from 'node:os';
import { ToolError } from '../../../core/errors.js';
import { describeValue } from '../../../core/plain-data.js';
import { refusal } from './refusal.js';

/** Bounds of a connection. Answers may take as long as a tool does, so silence is not bounded; Node's other limits are minutes, or none. */
const LIMITS = Object.freeze({
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  /** Also where the program was started with --insecure-http-parser: lenient parsing is what request smuggling needs. */
  insecureHTTPParser: false,
}) satisfies ServerOptions;
const CONNECTIONS = 1_024;
/** Where clients connect to; other paths are free for what may come. */
const PATH = '/mcp';

/** A server that listens. */
export interface RunningMcpServer {
  /** Where clients connect to. */
  readonly url: string;
  /** Ends it at once, with every connection. */
  close(): Promise<void>;
}

/** @throws ToolError `INVALID_ARGUMENT` for a port that is taken or not allowed, and an address that is not of this machine. */
export async function listenHttp(fetch: (request: Request) => Promise<Response>, port: number, host: string): Promise<RunningMcpServer> {
  const answer = (request: Request) => (new URL(request.url).pathname === PATH ? fetch(request) : refusal(`Expected the path ${PATH}, found another`, 404));
  const listener = getRequestListener(answer, { overrideGlobalObjects: false, errorHandler: () => refusal('Expected a request that can be read, found another', 400) });
  const server = createServer(LIMITS, (incoming, outgoing) => {
    // Names of hosts have no case; the adapter compares them as if they had.
    if (incoming.headers.host !== undefined) incoming.headers.host = incoming.headers.host.toLowerCase();
    void listener(incoming, outgoing);
  });
  server.maxConnections = CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code = 'an error' }: NodeJS.ErrnoException) => reject(new ToolError('INVALID_ARGUMENT', `Expected a free address of this machine to listen on, found ${describeValue(`${authorityHost(host)}:${port}`)} (${code}); choose another port, or 0 for any that is free`)));
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
  const address = server.address();
  const actualPort = typeof address === 'object' && address !== null ? address.port : port;
  return Object.freeze({
    url: `http://${authorityHost(isWildcard(host) ? '127.0.0.1' : host)}:${actualPort}${PATH}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** The names under which others ask for what listens on an address; for one that stands for all, every name and address of this machine. */
export function hostsFor(host: string): readonly string[] {
  const others = isWildcard(host) ? [hostname(), ...Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address))] : [host];
  // An address with a zone (`fe80::1%eth0`) is no host of a URL.
  return ['localhost', '127.0.0.1', '[::1]', ...others.filter((each) => !each.includes('%')).map((each) => authorityHost(each).toLowerCase())];
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** An address as it stands in a URL: IPv6 in brackets. */
function authorityHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
