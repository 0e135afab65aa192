import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { ToolError } from '../core/errors.js';
import { hostsFor } from '../host/addresses.js';
import { listen, type RunningServer } from '../host/listen.js';
import { aName, requireOptions, wholeBetween } from '../providers/check-options.js';
import { errorAnswer } from './answers/answer.js';
import { OUTGOING, sendAnswer } from './answers/send-answer.js';
import { createDiscoveryApp } from './create-discovery-app.js';
import type { DiscoveryOptions } from './discovery-options.js';

/** Twice the heartbeat of `/events`: a client that is silent for so long has stopped reading. */
const SILENCE_MS = 30_000;

export interface ServeOptions extends Omit<DiscoveryOptions, 'auth'> {
  /** 0 takes any that is free. @default 4780 */
  readonly port?: number;
  /** The address to listen on. Any but this machine's own needs a token. @default '127.0.0.1' */
  readonly host?: string;
  /** Of 16 or more characters; asked for as `Authorization: Bearer <token>`. */
  readonly token?: string;
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
export async function serve(capabilities: CapabilityRegistry, options: ServeOptions = {}): Promise<RunningServer> {
  const { port = 4780, host = '127.0.0.1', token, ...discovery } = options;
  requireOptions({ port, host }, { port: wholeBetween(0, 65_535), host: aName });
  if (Object.hasOwn(discovery, 'auth')) throw new ToolError('INVALID_ARGUMENT', 'Expected the token as the option token, got the option auth. Give serve(capabilities, { token }).');
  const app = createDiscoveryApp(capabilities, { allowedHosts: hostsFor(host), ...discovery, ...(token === undefined ? {} : { auth: { token } }) });
  return listen({
    port,
    host,
    needsToken: token !== undefined,
    silenceMs: SILENCE_MS,
    answer: (request, outgoing) => app.fetch(request, { [OUTGOING]: outgoing }),
    refuse: ({ status, headers, code, message }) => sendAnswer(errorAnswer(status, { code, message }, headers), undefined),
  });
}
