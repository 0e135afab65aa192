import type { AuthInfo, Server } from '@modelcontextprotocol/server';
import { createHash, timingSafeEqual } from 'node:crypto';
import { systemClock } from '../../../core/clock.js';
import type { ServerSdk } from '../import-sdk.js';
import type { CheckedServerOptions } from '../server-options.js';
import { LegacySessions } from './legacy-sessions.js';
import { refusal } from './refusal.js';

/** Streamable HTTP, for clients of both eras. */
export interface HttpFace {
  fetch(request: Request, authInfo: AuthInfo | undefined): Promise<Response>;
  /** Tells clients of 2026, which listen on a stream of their own; those of 2025 are told through their sessions. */
  tellChange(): void;
  close(): Promise<void>;
}

/**
 * Requests of 2026 are each served on their own; those of 2025 have sessions, without which they could neither be asked
 * for a yes nor be told of changes.
 *
 * @param connect makes the server of a request, or of a session if it lasts.
 */
export function createHttpFace(sdk: ServerSdk, options: CheckedServerOptions, connect: (lasts: boolean) => Server): HttpFace {
  const onerror = (error: Error) => options.onError?.(error);
  const modern = sdk.createMcpHandler(() => connect(false), { legacy: 'reject', onerror });
  const { maxSessions, sessionIdleMs, clock = systemClock } = options;
  const sessions = new LegacySessions({ sdk, connect: () => connect(true), maxSessions, idleMs: sessionIdleMs, clock });
  const guard = createGuard(sdk, options);
  return {
    async fetch(request, authInfo) {
      const passed = await guard(request, authInfo);
      if (passed instanceof Response) return passed;
      if (!(await sdk.isLegacyRequest(request))) return modern.fetch(request, passed);
      return sessions.answer(request, passed);
    },
    tellChange: () => modern.notify.toolsChanged(),
    async close() {
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}

type Passed = { authInfo?: AuthInfo };

/**
 * Lets requests through: by host, against pages whose name was pointed at this machine (DNS rebinding); by origin, against
 * pages that ask from elsewhere; by token.
 */
function createGuard(sdk: ServerSdk, options: CheckedServerOptions): (request: Request, authInfo: AuthInfo | undefined) => Promise<Passed | Response> {
  const hosts = [...(options.allowedHosts ?? sdk.localhostAllowedHostnames())];
  const origins = [...(options.allowedOrigins ?? hosts)];
  const { token } = options;
  const authorize = token === undefined ? undefined : sdk.requireBearerAuth({ verifier: { verifyAccessToken: (given) => Promise.resolve(checked(sdk, given, token)) } });
  return async (request, authInfo) => {
    // A request that was made in the program has no Host header.
    const host = sdk.validateHostHeader(request.headers.get('host') ?? new URL(request.url).host, hosts);
    if (!host.ok) return refusal(host.message);
    const origin = sdk.originValidationResponse(request, origins);
    if (origin !== undefined) return origin;
    if (authorize === undefined) return authInfo === undefined ? {} : { authInfo };
    const found = await authorize(request);
    return found instanceof Response ? found : { authInfo: authInfo ?? found };
  };
}

/** In constant time, over digests: neither the token's length nor how much of it was right can be measured. */
function checked(sdk: ServerSdk, given: string, token: string): AuthInfo {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  if (!timingSafeEqual(digest(given), digest(token))) throw new sdk.OAuthError(sdk.OAuthErrorCode.InvalidToken, 'Expected the token of this server, found another');
  // The SDK refuses tokens without an end; this one ends with the process.
  return { token: given, clientId: 'bearer', scopes: [], expiresAt: Number.MAX_SAFE_INTEGER };
}
