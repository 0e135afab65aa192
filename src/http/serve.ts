import { getRequestListener } from '@hono/node-server';
import { createServer, type Server, type ServerOptions } from 'node:http';
import { hostname, networkInterfaces } from 'node:os';
import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import { aName, requireOptions, wholeBetween } from '../providers/check-options.js';
import { errorAnswer } from './answers/answer.js';
import { OUTGOING, sendAnswer } from './answers/send-answer.js';
import { createDiscoveryApp } from './create-discovery-app.js';
import { limitConnections } from './connection-limit.js';
import type { DiscoveryOptions } from './discovery-options.js';
import { LOOPBACK_HOSTS } from './guard/allowed-hosts.js';

/** Bounds of a connection. Node's own are minutes, or none. */
const LIMITS = Object.freeze({
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 5_000,
  /** How often the two above are looked at; Node's default of 30 s would make them 40 and 45. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  /** Also where the program was started with --insecure-http-parser: lenient parsing is what request smuggling needs. */
  insecureHTTPParser: false,
}) satisfies ServerOptions;
/** Requests of one connection before it is closed: nobody keeps a place for ever. */
const REQUESTS_PER_CONNECTION = 100;
const CONNECTIONS = 256;
/** After so many milliseconds without a byte either way a connection is closed: its reader has stopped reading. Twice the heartbeat of `/events`. */
const SILENCE_MS = 30_000;

export interface ServeOptions extends Omit<DiscoveryOptions, 'auth'> {
  /** 0 takes any that is free. @default 4780 */
  readonly port?: number;
  /** The address to listen on. Any but this machine's own needs a token. @default '127.0.0.1' */
  readonly host?: string;
  /** Of 16 or more characters; asked for as `Authorization: Bearer <token>`. */
  readonly token?: string;
}

/** A catalogue that is being served. */
export interface RunningCatalogue {
  /** Where it answers, without a slash at the end. */
  readonly url: string;
  /** Ends it at once, with every connection. */
  close(): Promise<void>;
}

/**
 * Serves a catalogue of tools: `createDiscoveryApp` behind a Node server with bounds on everything that a client can hold.
 *
 * Without other `allowedHosts` it answers under the names of this machine for itself and under `host`; for an address
 * that stands for all (`0.0.0.0`, `::`) also under this machine's name and addresses.
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong options, an address of others without a token, and a port that is taken
 * or not allowed.
 */
export async function serve(capabilities: CapabilityRegistry, options: ServeOptions = {}): Promise<RunningCatalogue> {
  const { port = 4780, host = '127.0.0.1', token, ...discovery } = options;
  requireOptions({ port, host }, { port: wholeBetween(0, 65_535), host: aName });
  if (Object.hasOwn(discovery, 'auth')) throw new ToolError('INVALID_ARGUMENT', 'Expected the token as the option token, found the option auth');
  if (token === undefined && !isLoopback(host)) {
    throw new ToolError('INVALID_ARGUMENT', `Expected a token to listen on ${describeValue(host)}, where others can connect, found none; give one, or listen on 127.0.0.1`);
  }
  const app = createDiscoveryApp(capabilities, { allowedHosts: hostsFor(host), ...discovery, ...(token === undefined ? {} : { auth: { token } }) });
  const listener = getRequestListener((request, bindings) => app.fetch(request, { [OUTGOING]: bindings.outgoing }), {
    overrideGlobalObjects: false,
    errorHandler: () => sendAnswer(errorAnswer(400, { code: 'INVALID_ARGUMENT', message: 'Expected a request whose address and host can be read, found another' }), undefined),
  });
  const server = createServer(LIMITS, (incoming, outgoing) => {
    // Names of hosts have no case; the adapter compares them as if they had.
    if (incoming.headers.host !== undefined) incoming.headers.host = incoming.headers.host.toLowerCase();
    void listener(incoming, outgoing);
  });
  server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION;
  server.timeout = SILENCE_MS;
  limitConnections(server, CONNECTIONS);
  await listen(server, port, host);
  const address = server.address();
  const actualPort = typeof address === 'object' && address !== null ? address.port : port;
  return Object.freeze({
    url: `http://${authorityHost(isWildcard(host) ? '127.0.0.1' : host)}:${actualPort}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, port, host)));
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}

function listenError({ code = 'an error' }: NodeJS.ErrnoException, port: number, host: string): ToolError {
  const place = `${authorityHost(host)}:${port}`;
  const reasons = new Map([
    ['EADDRINUSE', `Expected a free port, found ${place} in use; choose another port, or 0 for any that is free`],
    ['EACCES', `Expected a port that this user may listen on, found ${place}; choose one from 1024 up`],
  ]);
  return new ToolError('INVALID_ARGUMENT', reasons.get(code) ?? `Expected an address of this machine to listen on, found ${describeValue(place)} (${code})`);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function hostsFor(host: string): readonly string[] {
  const others = isWildcard(host) ? [hostname(), ...Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address))] : [host];
  // An address with a zone (`fe80::1%eth0`) is no host of a URL.
  return [...LOOPBACK_HOSTS, ...others.filter((each) => !each.includes('%')).map(authorityHost)];
}

/** An address as it stands in a URL: IPv6 in brackets. */
function authorityHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
