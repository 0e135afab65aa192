import { z } from 'zod';
import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { checkOptions, type FieldsOf } from '../core/options.js';
import { allowedHosts, hostsFor, listenFields } from '../host/addresses.js';
import { listen, type RunningServer } from '../host/listen.js';
import { tokenField, type NamedToken } from '../host/request-guard.js';
import {
  createDiscoveryApp,
  namedTokens,
  sharedFields,
  type DiscoveryOptions,
} from './create-discovery-app.js';
import { HttpError } from './http-error.js';
import { OUTGOING, sendError } from './send.js';

/** The options of the catalogue server. */
export interface ServeOptions extends Omit<DiscoveryOptions, 'auth'> {
  /** The port; 0 takes any that is free. @default 4780 */
  readonly port?: number;
  /** The address to listen on. Any but this machine's own needs a token. @default '127.0.0.1' */
  readonly host?: string;
  /** The token of 16 or more characters that clients send as `Authorization: Bearer <token>`. @default open to all on this machine */
  readonly token?: string;
  /** Tokens with names, roles and ends, in place of `token`. @default none */
  readonly tokens?: readonly NamedToken[];
}

const serveOptions = z
  .strictObject({
    ...sharedFields,
    allowedHosts: allowedHosts.optional(),
    port: listenFields.port.default(4780),
    host: listenFields.host.default('127.0.0.1'),
    token: tokenField.optional(),
    tokens: namedTokens.optional(),
  } satisfies FieldsOf<ServeOptions>)
  .refine(
    ({ token, tokens, verify }) =>
      [token, tokens, verify].filter((each) => each !== undefined).length <= 1,
    'one of token, tokens and verify',
  );

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
export async function serve(
  capabilities: CapabilityRegistry,
  options: ServeOptions = {},
): Promise<RunningServer> {
  const { port, host, token, tokens, verify, resource, ...discovery } = checkOptions(
    serveOptions,
    options,
    'options of serve',
  );
  const app = createDiscoveryApp(capabilities, {
    ...discovery,
    allowedHosts: discovery.allowedHosts ?? hostsFor(host),
    ...(token !== undefined && { auth: { token } }),
    ...(tokens !== undefined && { auth: { tokens } }),
    ...(verify && { verify }),
    ...(resource && { resource }),
  });
  return listen({
    port,
    host,
    needsToken: [token, tokens, verify].some((each) => each !== undefined),
    silenceMs: SILENCE_MS,
    // Hono adds headers of CORS to a `Response` only.
    answer: (request, outgoing) =>
      app.fetch(request, discovery.allowedOrigins.length > 0 ? {} : { [OUTGOING]: outgoing }),
    refuse: ({ status, headers, code, message }) =>
      sendError({ env: {} }, new HttpError(status, { code, message }, headers)),
  });
}
