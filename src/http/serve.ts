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
import { OperatorDesk } from '../safety/operator-desk.js';
import { HttpError } from './http-error.js';
import { sendError } from './send.js';
import { Webhook, webhookField, type WebhookOptions } from './webhook.js';

/** Options for the catalogue server. */
export interface ServeOptions extends Omit<DiscoveryOptions, 'auth'> {
  /** The port. 0 picks a free port. @default 4780 */
  readonly port?: number;
  /**
   * The address to listen on. Any address other than this machine's own requires a token. @default
   * '127.0.0.1'
   */
  readonly host?: string;
  /**
   * The token, of at least 16 characters, that clients send as `Authorization: Bearer <token>`.
   * @default none, so everyone on this machine has access
   */
  readonly token?: string;
  /** Tokens with names, roles and expiry, instead of `token`. @default none */
  readonly tokens?: readonly NamedToken[];
  /**
   * Posts a signed message to an address when a call waits for a person, once for all servers that
   * share the store. Needs `operator` with the approval key. (Experimental.) @default none
   */
  readonly webhook?: WebhookOptions;
}

const serveOptions = z
  .strictObject({
    ...sharedFields,
    allowedHosts: allowedHosts.optional(),
    port: listenFields.port.default(4780),
    host: listenFields.host.default('127.0.0.1'),
    token: tokenField.optional(),
    tokens: namedTokens.optional(),
    webhook: webhookField,
  } satisfies FieldsOf<ServeOptions>)
  .refine(
    ({ token, tokens }) => token === undefined || tokens === undefined,
    'either token or tokens',
  )
  .refine(
    ({ webhook, operator }) => webhook === undefined || operator?.approvalKey !== undefined,
    'operator.approvalKey beside webhook',
  );

/**
 * Milliseconds after which a silent connection is closed: twice the heartbeat interval of
 * `/events`. A client of `/events` that is silent for so long must have stopped reading.
 */
const SILENCE_MS = 30_000;

/**
 * Serves a catalogue of tools with `createDiscoveryApp` and a Node server that limits the resources
 * each client can use.
 *
 * Without `allowedHosts`, requests may use the machine's loopback names and `host`. If `host` means
 * all addresses (`0.0.0.0`, `::`), requests may also use the machine's name and addresses.
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid options, a public address without a token, and a
 * port that is taken or forbidden.
 */
export async function serve(
  capabilities: CapabilityRegistry,
  options: ServeOptions = {},
): Promise<RunningServer> {
  const { port, host, token, tokens, webhook, ...discovery } = checkOptions(
    serveOptions,
    options,
    'options of serve',
  );
  const app = createDiscoveryApp(capabilities, {
    ...discovery,
    allowedHosts: discovery.allowedHosts ?? hostsFor(host),
    ...(token !== undefined && { auth: { token } }),
    ...(tokens !== undefined && { auth: { tokens } }),
  });
  const running = await listen({
    port,
    host,
    needsToken: token !== undefined || tokens !== undefined,
    silenceMs: SILENCE_MS,
    answer: (request) => app.fetch(request),
    refuse: ({ status, headers, code, message }) =>
      sendError(new HttpError(status, { code, message }, headers)),
  });
  const { operator, clock } = discovery;
  if (webhook === undefined || operator?.approvalKey === undefined) return running;
  const { url } = running;
  const desk = new OperatorDesk(operator.store, operator.approvalKey);
  const hook = new Webhook(desk, operator.store, clock, {
    ...webhook,
    page: webhook.page ?? url,
  });
  return { url, close: () => Promise.all([hook.close(), running.close()]).then(() => undefined) };
}
