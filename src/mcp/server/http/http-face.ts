import type { AuthInfo, Server } from '@modelcontextprotocol/server';
import { systemClock } from '../../../core/clock.js';
import { LOOPBACK_HOSTS } from '../../../host/addresses.js';
import { listen, type RunningServer } from '../../../host/listen.js';
import { bearerToken, createGuard } from '../../../host/request-guard.js';
import type { ServerSdk } from '../import-sdk.js';
import type { CheckedServerOptions } from '../server-options.js';
import { LegacySessions, rpcRefusal } from './legacy-sessions.js';

/** Where clients connect to; other paths are free for what may come. */
const PATH = '/mcp';

/** Streamable HTTP, for clients of both eras. */
export interface HttpFace {
  fetch(request: Request, authInfo: AuthInfo | undefined): Promise<Response>;
  /** Tells clients of 2026, which listen on a stream of their own; those of 2025 are told through their sessions. */
  tellChange(): void;
  close(): Promise<void>;
}

/**
 * Requests of 2026 are each served on their own; those of 2025 have sessions, without which they could neither be asked
 * for an approval nor be told of changes.
 *
 * @param connect makes the server of a request, or of a session if it lasts.
 */
export function createHttpFace(sdk: ServerSdk, options: CheckedServerOptions, connect: (lasts: boolean) => Server): HttpFace {
  const onerror = (error: Error) => options.onError?.(error);
  const modern = sdk.createMcpHandler(() => connect(false), { legacy: 'reject', onerror });
  const { maxSessions, sessionIdleMs, clock = systemClock, token, allowedHosts = LOOPBACK_HOSTS, allowedOrigins = allowedHosts } = options;
  const sessions = new LegacySessions({ sdk, connect: () => connect(true), maxSessions, idleMs: sessionIdleMs, clock });
  const guard = createGuard({ allowedHosts, allowedOrigins, authenticate: token === undefined ? undefined : bearerToken(token) });
  return {
    async fetch(request, given) {
      const admission = await guard(request);
      if (!admission.ok) return rpcRefusal(admission.message, admission.status, admission.headers);
      const authInfo = given ?? (token === undefined ? undefined : { token, clientId: admission.principal ?? 'bearer', scopes: [] });
      const passed = authInfo === undefined ? {} : { authInfo };
      const response = await ((await sdk.isLegacyRequest(request)) ? sessions.answer(request, passed) : modern.fetch(request, passed));
      // The SDK asks to keep connections; that is for the client and the listener to say.
      response.headers.delete('connection');
      return response;
    },
    tellChange: () => modern.notify.toolsChanged(),
    async close() {
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}

/** @throws ToolError as `listen`. */
export async function listenHttp(face: HttpFace, place: { readonly port: number; readonly host: string; readonly needsToken: boolean }): Promise<RunningServer> {
  const listening = await listen({
    ...place,
    answer: (request) => (new URL(request.url).pathname === PATH ? face.fetch(request, undefined) : rpcRefusal(`Expected the path ${PATH}, got another.`, 404)),
    refuse: ({ message, status, headers }) => rpcRefusal(message, status, headers),
  });
  return { ...listening, url: `${listening.url}${PATH}` };
}
