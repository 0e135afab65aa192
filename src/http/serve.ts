import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { checkOptions } from '../core/options.js';
import { hostsFor } from '../host/addresses.js';
import { listen, type RunningServer } from '../host/listen.js';
import { errorAnswer } from './answers/answer.js';
import { OUTGOING, sendAnswer } from './answers/send-answer.js';
import { createDiscoveryApp } from './create-discovery-app.js';
import { serveOptions, type ServeOptions } from './discovery-options.js';

/** The silence after which a connection is closed: twice the heartbeat of `/events`, whose client has then stopped reading. */
const SILENCE_MS = 30_000;

/**
 * Serves a catalogue of tools: `createDiscoveryApp` behind a Node server with bounds on everything that a client can
 * hold.
 *
 * Without other `allowedHosts` it answers under the names of this machine for itself and under `host`; for an address
 * that stands for all (`0.0.0.0`, `::`) also under this machine's name and addresses.
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong options, a public address without a token, and a port that is taken or
 * not allowed.
 */
export async function serve(capabilities: CapabilityRegistry, options: ServeOptions = {}): Promise<RunningServer> {
  const { port, host, token, ...discovery } = checkOptions(serveOptions, options, 'options of serve');
  const app = createDiscoveryApp(capabilities, { ...discovery, allowedHosts: discovery.allowedHosts ?? hostsFor(host), ...(token === undefined ? {} : { auth: { token } }) });
  return listen({
    port,
    host,
    needsToken: token !== undefined,
    silenceMs: SILENCE_MS,
    answer: (request, outgoing) => app.fetch(request, { [OUTGOING]: outgoing }),
    refuse: ({ status, headers, code, message }) => sendAnswer(errorAnswer(status, { code, message }, headers), undefined),
  });
}
