import { z } from 'zod';
import type { Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import {
  aFunction,
  checkOptions,
  secret,
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
import { compileFilter, type ToolFilter } from '../../registry/tool-filter.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { CallContext, Policy } from '../../safety/calls.js';
import type { StateStore } from '../../state/state-store.js';

import { promptField, resourceField, type McpPrompt, type McpResource } from './own-offers.js';

/** The meaning of a bearer token, as its checker says; of the same shape as the official SDK's `AuthInfo`. */
export interface McpAuthInfo {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The facts that are known of a request before its tool is called. */
export interface McpRequestInfo {
  /** The meaning of the token, for requests over HTTP whose token was checked. */
  readonly authInfo?: McpAuthInfo;
  /** The id of the session, for 2025 clients over HTTP. */
  readonly sessionId?: string;
  /** The id of the request, unique within its connection; the client chooses it. It is empty where it is only asked whose session a request may use. */
  readonly requestId: string | number;
  /** The program that asks, as it names itself: to show and to log, not to trust. */
  readonly client?: { readonly name: string; readonly version: string };
}

/** The caller of a request, and what the tools' work gets as `context.context`. */
export type RequestContext = CallContext & { readonly context?: unknown };

/** The options of a server. */
export interface McpServerOptions {
  /** Runs the calls. @default one over the registry, with `policy`, `store` and `approvalKey` */
  readonly executor?: ToolExecutor;
  /** The policy that is asked before every call. @default new SafetyPolicy({ registry }) */
  readonly policy?: Policy;
  /** The state that processes share; see `ToolExecutor`. @default this process's memory */
  readonly store?: StateStore;
  /** Signs what travels through clients between a question and its answer: at least 32 bytes, the same in all processes that serve one client. @default random */
  readonly approvalKey?: Uint8Array;
  /**
   * The caller, and what tools get as `context.context`: for all requests, or asked for each. Budgets, approvals and personas
   * go by it. A function may be asked several times for one request. @default no caller in particular
   */
  readonly context?: RequestContext | ((request: McpRequestInfo) => RequestContext);
  /** The persona of clients for whom `context` names none: they see its tools, and those of all. @default none */
  readonly persona?: string;
  /** The resources that can be read here beside the tools, for everyone who may connect. @default that of the servers behind this one alone */
  readonly resources?: readonly McpResource[];
  /** Prompts for everyone who may connect. @default those of the servers behind this one alone */
  readonly prompts?: readonly McpPrompt[];
  /** The name under which the server presents itself. @default 'tooldex' */
  readonly name?: string;
  /** The version that the server reports. @default '1.0.0' */
  readonly version?: string;
  /** The text that clients may give to their models about this server. @default none */
  readonly instructions?: string;
  /** The tools that are served; others are neither listed nor callable. @default all */
  readonly filter?: ToolFilter;
  /** The names of tools on the wire: such as model APIs take (letters, digits, `_` and `-`, 64 at most; `files.read` is `files__read`), or the tools' own. @default 'safe' */
  readonly names?: 'safe' | 'original';
  /** True when tools are found by search instead of being listed; `auto` does so when there are more than `maxTools`. @default 'auto' */
  readonly search?: 'auto' | boolean;
  /** The maximum number of tools that are listed before search takes over. @default 128 */
  readonly maxTools?: number;
  /** The token that web clients must send as `Authorization: Bearer <token>`; 16 or more visible characters. @default none is asked for */
  readonly token?: string;
  /** Checks the tokens of web clients, in place of `token`: gives the principal and scopes of the call, or `undefined` to refuse it. @default none is asked for */
  readonly verify?: VerifyToken;
  /** Tells web clients where to get a token (RFC 9728), beside `verify`. @default its address alone */
  readonly resource?: ProtectedResource;
  /** The host names under which `fetch` answers, without ports. @default those of this machine for itself */
  readonly allowedHosts?: readonly string[];
  /** The pages whose scripts may ask, and read the answers: by host name, or by origin. @default those of `allowedHosts`, which cannot read */
  readonly allowedOrigins?: readonly string[];
  /** Sessions of 2025 clients over HTTP at the same time; the longest unused makes room. @default 256 */
  readonly maxSessions?: number;
  /** The milliseconds without a request or an open stream after which a session may be forgotten. @default 1,800,000 (half an hour) */
  readonly sessionIdleMs?: number;
  /** Hears of errors that no client is told of. @default they are dropped */
  readonly onError?: (error: unknown) => void;
  /** The clock. @default the system's */
  readonly clock?: Clock;
}

/** The options of `serveHttp`: where to listen. */
export const serveHttpOptions = z.strictObject({
  port: listenFields.port.default(4781),
  host: listenFields.host.default('127.0.0.1'),
});

const schema = z
  .strictObject({
    executor: withMethods<ToolExecutor>('a ToolExecutor', 'execute').optional(),
    policy: withMethods<Policy>('a policy with a decide method', 'decide').optional(),
    store: withMethods<StateStore>('a StateStore', 'compareAndSet').optional(),
    approvalKey: secret<Uint8Array>(
      'at least 32 bytes',
      (value) => value instanceof Uint8Array && value.length >= 32,
      'Make them with crypto.randomBytes(32).',
    ).optional(),
    context: z
      .custom<NonNullable<McpServerOptions['context']>>(
        (value) => typeof value === 'function' || isPlainObject(value),
        'a context of calls, or a function that gives one',
      )
      .optional(),
    persona: text().optional(),
    resources: z.array(resourceField).readonly().default([]),
    prompts: z.array(promptField).readonly().default([]),
    name: text().default('tooldex'),
    version: text().default('1.0.0'),
    instructions: z.string().optional(),
    filter: z.custom<ToolFilter>(isPlainObject, 'a filter of tools').default({}),
    names: z.enum(['safe', 'original']).default('safe'),
    search: z.union([z.literal('auto'), z.boolean()], "'auto', true or false").default('auto'),
    maxTools: wholeBetween(1).default(128),
    token: tokenField.optional(),
    ...verifyFields,
    allowedHosts: allowedHosts.optional(),
    allowedOrigins: z.array(hostOrOrigin).readonly().optional(),
    maxSessions: wholeBetween(1).default(256),
    sessionIdleMs: z.number().min(1).default(1_800_000),
    onError: aFunction<(error: unknown) => void>().optional(),
    clock: withMethods<Clock>('a clock', 'after').optional(),
  } satisfies FieldsOf<McpServerOptions>)
  .refine(
    ({ token, verify }) => token === undefined || verify === undefined,
    'either a token or verify',
  )
  .superRefine((options, context) => {
    if (options.executor === undefined) return;
    for (const option of ['policy', 'store'] as const) {
      if (options[option] !== undefined)
        context.addIssue({
          code: 'custom',
          path: [option],
          message: `expected no ${option} beside an executor, which has its own`,
        });
    }
  });
export type CheckedServerOptions = Readonly<z.output<typeof schema>>;

/** Checks the options. @throws ToolError `INVALID_ARGUMENT` with every wrong one; a token is never repeated. */
export function checkServerOptions(
  registry: ToolMetadataRegistry,
  options: McpServerOptions,
): CheckedServerOptions {
  if (
    typeof (registry as Partial<ToolMetadataRegistry> | null | undefined)?.onChange !== 'function'
  )
    throw new ToolError(
      'INVALID_ARGUMENT',
      'Expected a ToolMetadataRegistry to serve, got something else. Give createMcpServer the registry first.',
    );
  const checked = checkOptions(schema, options, 'options of the MCP server');
  // The filter and the list look at the tools of one, the calls would run those of the other.
  const { registry: runs } = (checked.executor ?? {}) as Partial<ToolExecutor>;
  if (runs !== undefined && runs !== registry)
    throw new ToolError(
      'INVALID_ARGUMENT',
      'Expected an executor over the registry that is served, got one over another. Give both the same, and a filter for what is not to be served.',
    );
  compileFilter(checked.filter); // A wrong one is refused now, and not when a client asks.
  return checked;
}
