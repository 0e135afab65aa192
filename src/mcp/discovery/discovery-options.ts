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
import type { ServerConnectionOptions, ProtocolEra } from '../connection/mcp-connection.js';
import { MCP_PACKAGES, type McpPackages } from '../connection/transports.js';
import type { LoginStore } from '../login/login-store.js';
import type { EnvVariables } from '../settings/transport-settings.js';
import type { McpFinding } from '../translate/foreign-text.js';

/**
 * Maximum time to wait for a server, in milliseconds. A slow server mustn't delay the tools of
 * other servers.
 */
export const WAIT_MS = 10_000;

/** The state of one server. */
export interface McpServerStatus {
  readonly server: string;
  /**
   * - idle: not contacted yet, or the settings aren't enabled
   * - discovering: contacted for the first time, without a response yet
   * - stale: the last listing is older than the interval, or the server has announced changes; it
   *   stays in use until the next listing
   * - backing-off: the last listing failed, and the server isn't contacted before `nextAttemptAt`
   * - failed: the last listing failed, and the next refresh tries again
   */
  readonly state: 'idle' | 'discovering' | 'ready' | 'stale' | 'backing-off' | 'failed' | 'closed';
  /** The number of the server's usable tools. Tools stay usable while the server is unreachable. */
  readonly tools: number;
  readonly findings: readonly McpFinding[];
  /**
   * Time at which the tools were last listed, in milliseconds since 1970. `null` before the first
   * listing.
   */
  readonly lastDiscoveredAt: number | null;
  /** The server's protocol: `modern` from 2026-07-28 on, or `null` before it was first reached. */
  readonly era: ProtocolEra | null;
  /**
   * The last 4 KiB that the server's process wrote to stderr, without secrets and paths. Missing if
   * it wrote nothing.
   */
  readonly stderr?: string;
  /**
   * The reason for the last failure. Like the next two fields, this is absent if the last listing
   * succeeded.
   */
  readonly reason?: string;
  /** The number of failures in a row. */
  readonly failures?: number;
  /** Time of the next attempt, in milliseconds since 1970. */
  readonly nextAttemptAt?: number;
}

/** The tools of a server that are new, changed or removed, by their registered names. */
export interface McpChange {
  readonly server: string;
  readonly added: readonly string[];
  readonly edited: readonly string[];
  readonly removed: readonly string[];
}

/** A notification of a server that isn't about its tools: of log messages, resources or prompts. */
export interface ServerMessage {
  readonly server: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Decides if a definition may be used. `DefinitionPins` is one implementation. */
export interface PinGuard {
  check(server: string, tool: unknown): PinAnswer | Promise<PinAnswer>;
}
export type PinAnswer = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Returns the headers for a request to a server. */
export type HeadersFor = (
  server: string,
) =>
  | Readonly<Record<string, string>>
  | undefined
  | Promise<Readonly<Record<string, string>> | undefined>;

/** Options for discovery. */
export interface McpDiscoveryOptions {
  /**
   * Withholds tools whose definitions have changed. Usually a `DefinitionPins`.
   * @default every definition is used
   */
  readonly pins?: PinGuard;
  /**
   * Compiles the patterns in servers' schemas, for example `(pattern) => new RE2(pattern, 'u')`.
   * Matching must take linear time.
   * @default the servers check their patterns
   */
  readonly patternEngine?: PatternEngine;
  /**
   * Maximum time that `discoverMcpTools` and a registry wait for a server, in milliseconds. A
   * slower server's tools are added later.
   * @default 10,000
   */
  readonly waitMs?: number;
  /** The client name and version that servers see. @default tooldex */
  readonly clientInfo?: ServerConnectionOptions['clientInfo'];
  /** Answers questions that servers ask the user during a call. Without it, such calls fail. */
  readonly onElicit?: OnElicit;
  /**
   * True if `onElicit` also handles questions for which the user must open a URL (mode `url`).
   * @default false
   */
  readonly elicitUrls?: boolean;
  /**
   * Returns headers for each request to a server over the network, for example a token that
   * changes. They override headers with the same name in the settings. Users with different
   * credentials need separate discoveries.
   * @default only the headers in the settings
   */
  readonly headers?: HeadersFor;
  /** The folder or `StateStore` for logins at servers. @default tooldex/logins in XDG_DATA_HOME */
  readonly logins?: string | LoginStore;
  /**
   * The environment variables for `${NAME}` in the settings. Servers get only the variables listed
   * in their settings.
   * @default process.env
   */
  readonly env?: EnvVariables;
  /** The clock. @default the system clock */
  readonly clock?: Clock;
  /** Returns a number from 0 up to 1, for the jitter of backoffs. @default Math.random */
  readonly random?: () => number;
  /** Loads the optional packages: the SDK's client, its stdio part, and `ws`. @default import */
  readonly packages?: Readonly<Record<'client' | 'stdio' | 'ws', () => Promise<unknown>>>;
}

/** The schema of the options. */
export const discoveryOptions = z.strictObject({
  pins: withMethods<PinGuard>('pins with a check method', 'check').optional(),
  patternEngine: aFunction<PatternEngine>().optional(),
  waitMs: milliseconds().default(WAIT_MS),
  clientInfo: z
    .object({ name: z.string().min(1), version: z.string().min(1) })
    .loose()
    .default({ name: 'tooldex', version: '1' }),
  onElicit: aFunction<OnElicit>().optional(),
  elicitUrls: z.boolean().default(false),
  headers: aFunction<HeadersFor>().optional(),
  logins: z.union([text(), withMethods<LoginStore>('a store', 'get', 'compareAndSet')]).optional(),
  env: anObject<EnvVariables>('variables by name').optional(),
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
