import type { AccessMode, DangerLevel, SideEffect } from '../../core/enums.js';

/** The way in which a server is reached. `${NAME}` in a value stands for a variable of the environment, see `expandVariables`. */
export type McpTransportSettings =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      /** The variables that the server's process gets beside a short list of harmless ones. */
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | {
      readonly kind: 'http' | 'sse' | 'websocket';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** The operator's word on all tools of a server; it goes before what the server says. */
export interface McpToolOverrides {
  readonly sideEffects?: readonly SideEffect[];
  readonly accessMode?: AccessMode;
  readonly dangerLevel?: DangerLevel;
  readonly allowParallel?: boolean;
  readonly requiresConsent?: boolean;
  readonly idempotencyKey?: boolean;
  /** The version of tools that have none of their own. */
  readonly version?: string;
  readonly category?: string;
}

/** The credentials that a server needs for its calls. */
export interface McpServerAuth {
  /** Required when there are scopes, if missing. */
  readonly required?: boolean;
  readonly type?: string;
  readonly scopes: readonly string[];
  /** The variables of the environment that hold credentials, by what they are for. */
  readonly env: Readonly<Record<string, string>>;
}

/** One configured server, complete: the global settings are worked in. */
export interface McpServerSettings {
  /** Empty for the one server whose tools are named `mcp.<tool>`. */
  readonly name: string;
  readonly transport: McpTransportSettings;
  /** The milliseconds that a call may take. @default 30,000 */
  readonly timeoutMs: number;
  /** The milliseconds for which a listing counts as fresh. @default 300,000 */
  readonly healthCheckIntervalMs: number;
  /** The only tools that are used, by their names at the server; all when missing, none when empty. */
  readonly allowTools?: readonly string[];
  readonly denyTools: readonly string[];
  /** The only persona that gets the tools. */
  readonly persona?: string;
  /** The only personas whose calls may use the tools; a tool's own list can only shorten it. */
  readonly personaAllowlist?: readonly string[];
  /** True when its tools' hints are believed also where they loosen something. @default false */
  readonly trusted: boolean;
  readonly overrides: McpToolOverrides;
  readonly auth?: McpServerAuth;
  /** A digest of all the above, the templates and not the values of secrets: other settings, other signature. */
  readonly signature: string;
}

/** The checked settings of MCP, frozen. */
export interface McpSettings {
  /** True when servers are asked at all. @default false; true for a file of the `mcpServers` form */
  readonly enabled: boolean;
  /** The servers in order of their names. */
  readonly servers: readonly McpServerSettings[];
  /** The list for all servers, beside their own. */
  readonly allowTools?: readonly string[];
  readonly denyTools: readonly string[];
  /** The server meant where a manifest names none. */
  readonly defaultServer?: string;
}
