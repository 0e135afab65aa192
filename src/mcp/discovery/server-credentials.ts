import type { Clock } from '../../core/clock.js';
import { boundedFetch, type McpPackages } from '../connection/transports.js';
import type { LoginStore } from '../login/login-store.js';
import { serverLabel, serverUnavailable } from '../login/server-errors.js';
import { ServerLogin } from '../login/server-login.js';
import type { McpServerSettings } from '../settings/read-mcp-settings.js';
import type { EnvVariables } from '../settings/transport-settings.js';
import type { HeadersFor } from './discovery-options.js';

interface LoginParts {
  readonly clock: Clock;
  readonly env: EnvVariables;
  readonly logins: LoginStore;
  readonly packages: McpPackages;
}

/** Returns the login for an HTTP server whose settings contain no token. */
export function loginAt(
  { name, transport }: McpServerSettings,
  { clock, env, logins, packages }: LoginParts,
): ServerLogin | undefined {
  if (transport.kind !== 'http' && transport.kind !== 'sse') return undefined;
  const hasToken = Object.keys(transport.headers).some((key) => /^authorization$/i.test(key));
  return hasToken && transport.oauth === undefined
    ? undefined
    : new ServerLogin({
        ...{ server: name, transport, clock, env, store: logins },
        sdk: packages.client,
        fetch: boundedFetch(),
      });
}

/**
 * Asks the program for a request's headers.
 * @throws ToolError `PROVIDER_UNAVAILABLE`, without the program's error text.
 */
export async function headersOf(headersFor: HeadersFor, server: string): Promise<Headers> {
  try {
    return new Headers(await headersFor(server));
  } catch (error) {
    throw serverUnavailable(`The \`headers\` function failed for ${serverLabel(server)}.`, error);
  }
}
