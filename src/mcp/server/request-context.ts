import type { AuthInfo, Implementation, ServerContext } from '@modelcontextprotocol/server';
import { digestOf, without } from '../../core/plain-data.js';
import type {
  CheckedServerOptions,
  McpAuthInfo,
  McpRequestInfo,
  RequestContext,
} from './server-options.js';
import type { ServerSdk } from './tool-calls.js';

/**
 * Returns the context for a request: the caller, and the values for the tool.
 *
 * @param initialized The name that a 2025-protocol client gave when it connected. Later clients
 * identify themselves in each request.
 */
export function contextOf(
  sdk: ServerSdk,
  options: CheckedServerOptions,
  { http, sessionId, mcpReq: { envelope } }: ServerContext,
  initialized?: Implementation,
): RequestContext {
  const said = (envelope as Readonly<Record<string, unknown>> | undefined)?.[
    sdk.CLIENT_INFO_META_KEY
  ];
  const { name, version } = (said ?? initialized ?? {}) as Readonly<Record<string, unknown>>;
  const client =
    typeof name === 'string' && typeof version === 'string' ? { name, version } : undefined;
  return givenContext(options, http?.authInfo, {
    ...without({ sessionId, client }),
  });
}

/**
 * Returns the context that the program provides. The program's `context` function overrides facts
 * from `verify`.
 */
function givenContext(
  { context = {}, verify }: CheckedServerOptions,
  ofRequest: AuthInfo | undefined,
  request: McpRequestInfo,
): RequestContext {
  const authInfo = ofRequest as McpAuthInfo | undefined;
  const verified = verify && authInfo && { principal: authInfo.clientId, scopes: authInfo.scopes };
  return typeof context === 'function'
    ? { ...verified, ...context({ ...request, ...(authInfo && { authInfo }) }) }
    : { ...context, ...verified };
}

/**
 * Returns the key that identifies a caller as the owner of sessions and questions: the principal,
 * or the token if the program specifies no principal.
 */
export function ownerOf(options: CheckedServerOptions, authInfo: AuthInfo | undefined): string {
  const { principal } = givenContext(options, authInfo, {});
  if (principal !== undefined) return `principal ${principal}`;
  return authInfo === undefined ? '' : `token ${digestOf([authInfo.clientId, authInfo.token])}`;
}
