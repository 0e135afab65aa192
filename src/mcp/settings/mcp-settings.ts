import type { AccessMode, DangerLevel, SideEffect } from '../../core/enums.js';

/** How a server is reached. `${NAME}` in a value stands for a variable of the environment, see `expandVariables`. */
export type McpTransportSettings =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      /** What the server's process gets beside a short list of harmless variables. */
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | {
      readonly kind: 'http' | 'sse' | 'websocket';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** What the operator says of all tools of a server; it goes before what the server says. */
export interface McpToolOverrides {
  readonly sideEffects?: SideEffect | readonly SideEffect[];
  readonly accessMode?: AccessMode;
  readonly dangerLevel?: DangerLevel;
  readonly allowParallel?: boolean;
  readonly requiresConsent?: boolean;
  readonly idempotencyKey?: boolean;
  /** The version of tools that have none of their own. */
  readonly version?: string;
  readonly category?: string;
}

/** What a server needs to be allowed to call. */
export interface McpServerAuth {
  /** Missing: required when there are scopes. */
  readonly required?: boolean;
  readonly type?: string;
  readonly scopes: readonly string[];
  /** What a credential is for, and the variable of the environment that holds it. */
  readonly env: Readonly<Record<string, string>>;
}

/** One configured server, complete: the global settings are worked in. */
export interface McpServerSettings {
  /** Empty for the one server whose tools are named `mcp.<tool>`. */
  readonly name: string;
  readonly transport: McpTransportSettings;
  /** How long a call may take. @default 30,000 */
  readonly timeoutMs: number;
  /** How long a listing counts as fresh. @default 300,000 */
  readonly healthCheckIntervalMs: number;
  /** The only tools that are used, by their names at the server; all when missing, none when empty. */
  readonly allowTools?: readonly string[];
  readonly denyTools: readonly string[];
  /** The only persona that gets the tools. */
  readonly persona?: string;
  /** The only personas whose calls may use the tools; a tool's own list can only shorten it. */
  readonly personaAllowlist?: readonly string[];
  /** Whether its tools' hints are believed when they loosen something. @default false */
  readonly trusted: boolean;
  readonly overrides: McpToolOverrides;
  readonly auth?: McpServerAuth;
  /** A digest of all the above, the templates and not the values of secrets: other settings, other signature. */
  readonly signature: string;
}

/** The checked settings of MCP, frozen. */
export interface McpSettings {
  /** Whether servers are asked at all. @default false; true for a file of the `mcpServers` form */
  readonly enabled: boolean;
  /** In order of their names. */
  readonly servers: readonly McpServerSettings[];
  /** For all servers, beside their own lists. */
  readonly allowTools?: readonly string[];
  readonly denyTools: readonly string[];
  /** The server meant where a manifest names none. */
  readonly defaultServer?: string;
}
