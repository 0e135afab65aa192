import { z } from 'zod';
import { systemClock, type Clock } from '../../core/clock.js';
import {
  aFunction,
  anObject,
  milliseconds,
  text,
  withMethods,
  type FieldsOf,
} from '../../core/options.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import type { OnElicit } from '../connection/elicitation.js';
import type { McpConnectionOptions, ProtocolEra } from '../connection/mcp-connection.js';
import { MCP_PACKAGES, type McpPackages } from '../connection/transports.js';
import type { LoginStore } from '../login/login-store.js';
import type { Environment } from '../settings/transport-settings.js';
import type { McpFinding } from '../translate/foreign-text.js';

/** The longest wait for a server: a slow one must not delay the tools of the others. */
export const WAIT_MS = 10_000;

/** The state of one server. */
export type McpServerStatus = {
  readonly server: string;
  /** The number of its tools that can be used: those listed last, also while the server is away. */
  readonly tools: number;
  readonly findings: readonly McpFinding[];
  /** Milliseconds since 1970; `null` when it has never listed its tools. */
  readonly lastDiscoveredAt: number | null;
  /** The protocol that it speaks: `modern` from 2026-07-28 on; `null` when it has never been reached. */
  readonly era: ProtocolEra | null;
  /** The last 4 KiB that its process has written to stderr, without what looks like a secret; missing when it has written nothing. */
  readonly stderr?: string;
} & (
  | {
      /**
       * - idle: not asked yet, or not to be asked as the settings are not enabled
       * - discovering: asked for the first time, and not answered yet
       * - stale: its listing is older than the interval, or said to have changed; it stays in use until there is a new one
       */
      readonly state: 'idle' | 'discovering' | 'ready' | 'stale' | 'closed';
    }
  | {
      /** The last listing failed: the server is left alone for a while, or asked again by the next refresh. */
      readonly state: 'backing-off' | 'failed';
      /** The reason. */
      readonly reason: string;
      /** The number of failures in a row. */
      readonly failures: number;
      /** The time when a refresh asks again, in milliseconds since 1970. */
      readonly nextAttemptAt: number;
    }
);

/** The tools of a server that are different, by their names here. */
export interface McpChange {
  readonly server: string;
  readonly added: readonly string[];
  readonly edited: readonly string[];
  readonly removed: readonly string[];
}

/** An event while servers are asked; `at` in milliseconds since 1970. */
export type McpDiscoveryEvent = { readonly at: number; readonly server: string } & (
  | { readonly type: 'listed'; readonly tools: number }
  | { readonly type: 'failed'; readonly reason: string; readonly nextAttemptAt: number }
  | ({ readonly type: 'changed' } & McpChange)
  /** The server says that its tools have changed; it is asked again. */
  | { readonly type: 'list-changed' }
);

/** Says if a definition may be used; `DefinitionPins` is one. */
export interface PinGuard {
  check(server: string, tool: unknown): PinAnswer | Promise<PinAnswer>;
}
export type PinAnswer = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Returns the headers of a request to a server. */
export type HeadersFor = (
  server: string,
) =>
  | Readonly<Record<string, string>>
  | undefined
  | Promise<Readonly<Record<string, string>> | undefined>;

/** The options of discovery. */
export interface McpDiscoveryOptions {
  /** Withholds tools whose definitions have changed: a `DefinitionPins`. @default every definition is used */
  readonly pins?: PinGuard;
  /** Checks the patterns in the schemas of servers, as `(pattern) => new RE2(pattern, 'u')`; it must take linear time. @default they are left to the servers */
  readonly patternEngine?: PatternEngine;
  /** Lets `autoApprove`, `alwaysAllow` and `trust` of the settings loosen tools: only for a file that is yours, as a repository may bring its own. @default false: they are findings */
  readonly trustAutoApprove?: boolean;
  /** The longest that `discoverMcpTools`, and a registry, wait for a server in milliseconds; its tools follow. @default 10,000 */
  readonly waitMs?: number;
  /** The name under which this program presents itself to servers. @default tooldex */
  readonly clientInfo?: McpConnectionOptions['clientInfo'];
  /** Hears of everything that happens while servers are asked; its errors are ignored. @default none */
  readonly onEvent?: (event: McpDiscoveryEvent) => void;
  /** Answers the questions that servers ask the user in the middle of a call. Without it such calls fail. */
  readonly onElicit?: OnElicit;
  /** True when `onElicit` also answers questions of the mode `url`, for which the user must open an address. @default false */
  readonly elicitUrls?: boolean;
  /** Returns the headers of each request to a server that isn't a local process, in place of those of the settings of the same name, such as a token that changes. Users with credentials of their own need a discovery each. @default those of the settings */
  readonly headers?: HeadersFor;
  /** The place where logins at servers are kept: a folder, or a `StateStore`. @default tooldex/logins in XDG_DATA_HOME */
  readonly logins?: string | LoginStore;
  /** The variables in which `${NAME}` in the settings is looked up. Servers get of it only what their settings name. @default process.env */
  readonly env?: Environment;
  /** The clock. @default the system's */
  readonly clock?: Clock;
  /** A number from 0 up to 1, for the jitter of pauses. @default Math.random */
  readonly random?: () => number;
  /** Loads the optional packages, as modules: the SDK's client, its part for stdio, and `ws`. @default import */
  readonly packages?: { readonly [Name in keyof McpPackages]: () => Promise<unknown> };
}

/** The check of the options. */
export const discoveryOptions = z.strictObject({
  pins: withMethods<PinGuard>('pins with a check method', 'check').optional(),
  patternEngine: aFunction<PatternEngine>().optional(),
  trustAutoApprove: z.boolean().default(false),
  waitMs: milliseconds().default(WAIT_MS),
  clientInfo: z
    .object({ name: z.string().min(1), version: z.string().min(1) })
    .loose()
    .default({ name: 'tooldex', version: '1' }),
  onEvent: aFunction<NonNullable<McpDiscoveryOptions['onEvent']>>().optional(),
  onElicit: aFunction<OnElicit>().optional(),
  elicitUrls: z.boolean().default(false),
  headers: aFunction<HeadersFor>().optional(),
  logins: z.union([text(), withMethods<LoginStore>('a store', 'get', 'compareAndSet')]).optional(),
  env: anObject<Environment>('variables by name').optional(),
  clock: withMethods<Clock>('a clock', 'now', 'elapsed', 'after').default(systemClock),
  random: aFunction<() => number>().default(() => Math.random),
  packages: withMethods<McpPackages>(
    'functions that load packages',
    'client',
    'stdio',
    'ws',
  ).default(MCP_PACKAGES),
} satisfies FieldsOf<McpDiscoveryOptions>);
export type CheckedDiscoveryOptions = z.output<typeof discoveryOptions>;
