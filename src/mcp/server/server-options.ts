import { z } from 'zod';
import type { Clock } from '../../core/clock.js';
import {
  aFunction,
  checkOptions,
  text,
  withMethods,
  wholeBetween,
  type FieldsOf,
} from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import { allowedHosts, hostOrOrigin, listenFields } from '../../host/addresses.js';
import { tokenField } from '../../host/request-guard.js';
import {
  verifyFields,
  type ProtectedResource,
  type VerifyToken,
} from '../../host/verified-tokens.js';
import type { ToolFilter } from '../../registry/tool-filter.js';
import { approvalKey } from '../../safety/signer.js';
import type { CallContext, Policy } from '../../safety/calls.js';
import type { StateStore } from '../../state/state-store.js';
import type { McpDiscovery } from '../discovery/mcp-discovery.js';

/** Facts about a bearer token, in the shape of the official SDK's `AuthInfo`. */
export interface McpAuthInfo {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Facts about a request that are known before its tool is called. */
export interface McpRequestInfo {
  /** The facts about the token, for requests over HTTP whose token was checked. */
  readonly authInfo?: McpAuthInfo;
  /** The session's id, if a 2025-protocol client uses HTTP. */
  readonly sessionId?: string;
  /** The client program, as it identifies itself. Show or log it, but don't trust it. */
  readonly client?: { readonly name: string; readonly version: string };
}

/** The caller of a request, and the value that tools receive as `context.context`. */
export type RequestContext = CallContext & { readonly context?: unknown };

/** The servers behind a server, as an `McpDiscovery` provides them. */
export type ServersBehind = Pick<
  McpDiscovery,
  'alwaysListed' | 'awaits' | 'instructions' | 'onMessage' | 'request' | 'setLogLevel'
>;

/** Options for `createMcpServer`. */
export interface McpServerOptions {
  /**
   * Runs the calls. @default an executor for the registry, with `policy`, `store` and `approvalKey`
   */
  readonly executor?: ToolExecutor;
  /** The policy that decides on every call. @default new SafetyPolicy({ registry }) */
  readonly policy?: Policy;
  /**
   * The state that processes share. See `ToolExecutor`.
   * @default in-memory, for this process only
   */
  readonly store?: StateStore;
  /**
   * The key that signs the data that clients keep between a question and its answer. At least 32
   * bytes, and the same in all processes that serve one client.
   * @default random
   */
  readonly approvalKey?: Uint8Array;
  /**
   * The caller, and the value that tools receive as `context.context`: an object for all requests,
   * or a function of the request. Budgets, approvals and personas depend on the caller. The
   * function may be called several times for one request.
   * @default no caller
   */
  readonly context?: RequestContext | ((request: McpRequestInfo) => RequestContext);
  /**
   * The discovery of the servers whose tools are served. Clients also get these servers'
   * instructions, log messages, completions and updates of resources.
   * @default only tools, resources and prompts are forwarded
   */
  readonly discovery?: ServersBehind;
  /** The name that the server reports. @default 'tooldex' */
  readonly name?: string;
  /** The version that the server reports. @default '1.0.0' */
  readonly version?: string;
  /** Instructions about this server that clients may pass to their models. @default none */
  readonly instructions?: string;
  /**
   * Selects the tools that are served. Other tools are neither listed nor callable. @default all
   */
  readonly filter?: ToolFilter;
  /**
   * The form of tool names on the wire: `safe` for model APIs (at most 64 letters, digits, `_` and
   * `-`; `files.read` is `files__read`), or `original`.
   * @default 'safe'
   */
  readonly names?: 'safe' | 'original';
  /** Maximum number of tools listed. With more tools, clients find them by search. @default 128 */
  readonly maxTools?: number;
  /**
   * The names or categories of tools that are listed even if clients find tools by search.
   * @default those in the settings of `discovery`
   */
  readonly include?: readonly string[];
  /** Maximum number of tools in one result of `find_tools`. @default 10 */
  readonly maxResults?: number;
  /**
   * The token that web clients must send as `Authorization: Bearer <token>`: at least 16 visible
   * characters.
   * @default no token is needed
   */
  readonly token?: string;
  /**
   * Checks web clients' tokens. Replaces `token`. Returns a call's principal and scopes, or
   * `undefined` to refuse it.
   * @default no token is needed
   */
  readonly verify?: VerifyToken;
  /**
   * Tells web clients where to get a token (RFC 9728). Used with `verify`.
   * @default only the server's address
   */
  readonly resource?: ProtectedResource;
  /** The host names that `fetch` accepts, without ports. @default this machine's own names */
  readonly allowedHosts?: readonly string[];
  /**
   * The web pages whose scripts may send requests and read the responses, by host name or origin.
   * @default pages of `allowedHosts` may send requests but not read responses
   */
  readonly allowedOrigins?: readonly string[];
  /**
   * Maximum number of HTTP sessions with clients that use the 2025 protocol. The least recently
   * used session makes room for a new one.
   * @default 256
   */
  readonly maxSessions?: number;
  /** Receives errors that no client sees. @default they are dropped */
  readonly onError?: (error: unknown) => void;
  /** The clock. @default the system clock */
  readonly clock?: Clock;
}

/** The schema of the options of `serveHttp`. */
export const serveHttpOptions = z.strictObject({
  port: listenFields.port.default(4781),
  host: listenFields.host.default('127.0.0.1'),
});

const schema = z
  .strictObject({
    executor: withMethods<ToolExecutor>('a ToolExecutor', 'execute').optional(),
    policy: withMethods<Policy>('a policy with a decide method', 'decide').optional(),
    store: withMethods<StateStore>('a StateStore', 'compareAndSet').optional(),
    approvalKey: approvalKey().optional(),
    context: z
      .custom<NonNullable<McpServerOptions['context']>>(
        (value) => typeof value === 'function' || isPlainObject(value),
        'a context of calls, or a function that returns one',
      )
      .optional(),
    discovery: withMethods<ServersBehind>('a McpDiscovery', 'onMessage', 'request').optional(),
    name: text().default('tooldex'),
    version: text().default('1.0.0'),
    instructions: z.string().optional(),
    filter: z.custom<ToolFilter>(isPlainObject, 'a filter of tools').default({}),
    names: z.enum(['safe', 'original']).default('safe'),
    maxTools: wholeBetween(1).default(128),
    include: z.array(text()).readonly().optional(),
    maxResults: wholeBetween(1).default(10),
    token: tokenField.optional(),
    ...verifyFields,
    allowedHosts: allowedHosts.optional(),
    allowedOrigins: z.array(hostOrOrigin).readonly().optional(),
    maxSessions: wholeBetween(1).default(256),
    onError: aFunction<(error: unknown) => void>().optional(),
    clock: withMethods<Clock>('a clock', 'after').optional(),
  } satisfies FieldsOf<McpServerOptions>)
  .refine(
    ({ token, verify }) => token === undefined || verify === undefined,
    'either a token or verify',
  )
  .refine(
    ({ executor, policy, store }) => executor === undefined || (policy ?? store) === undefined,
    'no policy or store together with an executor, which has its own',
  );
export type CheckedServerOptions = Readonly<z.output<typeof schema>> & {
  readonly include: readonly string[];
};

/**
 * Checks the options.
 * @throws ToolError `INVALID_ARGUMENT`, which lists every invalid option without repeating a token.
 */
export function checkServerOptions(options: McpServerOptions): CheckedServerOptions {
  const checked = checkOptions(schema, options, 'options of the MCP server');
  return { ...checked, include: checked.include ?? checked.discovery?.alwaysListed ?? [] };
}
