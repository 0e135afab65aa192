import { isToolError, issuesOf, type Issue } from '../../core/errors.js';
import { refusal, suggestNames, unknownOption } from '../../core/issues.js';
import { checkOptions } from '../../core/options.js';
import { cloneFrozen, compareText, digestOf, isPlainObject } from '../../core/plain-data.js';
import {
  fileSchema,
  OVERRIDES,
  serverSchema,
  type FileValues,
  type ServerValues,
  type ToolValues,
} from './settings-schema.js';
import { picked, without, type McpToolOverrides, type McpToolSetting } from './tool-settings.js';
import { transportOf, type McpTransportSettings } from './transport-settings.js';

/** The credentials that a server needs for its calls. */
export interface McpServerAuth {
  /** True if calls need credentials. @default true if there are scopes */
  readonly required?: boolean;
  readonly type?: string;
  readonly scopes: readonly string[];
  /** The environment variables that contain credentials, by purpose. */
  readonly env: Readonly<Record<string, string>>;
}

/** The complete settings for one server. Settings for all servers are included. */
export interface McpServerSettings {
  /** Empty for the unnamed server, whose tools are named `mcp.<tool>`. */
  readonly name: string;
  /** The transport for reaching the server. */
  readonly transport: McpTransportSettings;
  /** Timeout for a call, in milliseconds. @default 30,000 */
  readonly timeoutMs: number;
  /**
   * Maximum time for the server to start and respond, in milliseconds.
   * @default 30,000
   */
  readonly startupTimeoutMs: number;
  /** Time during which a listing counts as fresh, in milliseconds. @default 300,000 */
  readonly healthCheckIntervalMs: number;
  /**
   * The only tools that are used, by their names at the server. An empty list allows no tools.
   * @default all
   */
  readonly allowTools?: readonly string[];
  /** Tools that are never used, by their names at the server. Empty by default. */
  readonly denyTools: readonly string[];
  /** The only persona that gets the tools. @default every persona */
  readonly persona?: string;
  /**
   * The only personas that may call the tools. A tool's own list can only restrict this further.
   * @default every persona
   */
  readonly personaAllowlist?: readonly string[];
  /**
   * True if the server's hints about its tools are trusted even where they relax restrictions.
   * @default false
   */
  readonly trusted: boolean;
  /** True if models get tools for listing and reading its resources. @default false */
  readonly resources: boolean;
  /** True if models get tools for listing and getting its prompts. @default false */
  readonly prompts: boolean;
  /** The operator's settings for all of its tools. Empty by default. */
  readonly overrides: McpToolOverrides;
  /** The operator's settings for individual tools, by name pattern. Empty by default. */
  readonly tools: readonly McpToolSetting[];
  /** Maximum number of tools that the server may list. @default 1,000 */
  readonly maxTools: number;
  /** The credentials that calls need. @default none */
  readonly auth?: McpServerAuth;
  /**
   * A digest of all the server's settings. It covers the names of environment variables, not their
   * values.
   */
  readonly signature: string;
}

/** The validated MCP settings, frozen. */
export interface McpSettings {
  /**
   * True if servers are contacted at all.
   * @default false; true for a file in the `mcpServers` format
   */
  readonly enabled: boolean;
  /** The servers, by name. */
  readonly servers: readonly McpServerSettings[];
  /**
   * Uses only these tools, on all servers. A server's own list restricts them further.
   * @default all
   */
  readonly allowTools?: readonly string[];
  /** Tools that are never used, for all servers. Empty by default. */
  readonly denyTools: readonly string[];
  /** The server used if a manifest specifies none. @default none */
  readonly defaultServer?: string;
  /**
   * Every problem in the settings of servers that weren't loaded, and settings that need attention.
   */
  readonly warnings: readonly Issue[];
}

/** Marks settings that were already read. All loaded copies of this package use the same symbol. */
const READ = Symbol.for('tooldex/mcp-settings/v1');

/**
 * Reads and validates the MCP settings, and returns them complete and frozen.
 *
 * ```json
 * {
 *   "enabled": true,
 *   "servers": {
 *     "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."], "allow_tools": ["read_file"] },
 *     "tickets": { "url": "https://tickets.example/mcp", "headers": { "Authorization": "Bearer ${TICKETS_TOKEN}" }, "timeout_seconds": 60 }
 *   },
 *   "deny_tools": ["delete_everything"]
 * }
 * ```
 *
 * Names may be in snake_case or camelCase. Times are in seconds (`timeout_seconds`,
 * `startup_timeout_seconds`, `health_check_interval`). 0 and `null` mean that a value isn't set.
 * Files in the `mcpServers` format, and VS Code's `servers` with `inputs`, are enabled unless they
 * say otherwise. `${NAME}` in commands, environment variables, URLs and headers is filled in when a
 * connection is made. Overrides (`side_effects`, `access_mode`, `danger_level`, …) may be set for
 * all servers and for individual servers.
 *
 * A server with invalid settings isn't loaded, and `warnings` explains why. The other servers are
 * loaded. If a setting for all servers is invalid, the whole file is refused, because a misspelt
 * filter must not allow anything.
 *
 * @param input The settings as parsed from a file or written in code. Settings that were already
 * read are returned unchanged.
 * @throws ToolError `INVALID_ARGUMENT`, which lists everything wrong in the settings for all
 * servers. Values that may be secret aren't repeated.
 */
export function readMcpSettings(input: unknown): McpSettings {
  if (typeof input === 'object' && input !== null && Object.hasOwn(input, READ))
    return input as McpSettings;
  const file = checkOptions(fileSchema, spelled(input), 'MCP settings');
  const unknown = misspelt(file);
  if (unknown.length > 0) throw refusal('Invalid MCP settings', unknown);
  const { inputs, enabled, defaultServer, allowTools, denyTools } = file;
  const filters = { ...without({ allowTools }), denyTools };
  const warnings: Issue[] = [];
  const servers = new Map<string, McpServerSettings>();
  for (const [written, values] of Object.entries(file.servers)) {
    const name = serverNameOf(written);
    const warn: Warn = (message, ...path) =>
      void warnings.push({ path: ['servers', written, ...path], message });
    if (name !== written.trim())
      warn(
        `A server name has 1 to 64 letters, digits, underscores and hyphens (no dots). This server is called ${name}.`,
      );
    if (servers.has(name)) {
      warn(`Another server is already called ${name}, so this one isn't loaded. Rename it.`);
      continue;
    }
    try {
      const server = readServer(name, values, file, warn);
      if (server !== undefined)
        servers.set(name, { ...server, signature: digestOf({ ...server, global: filters }) });
    } catch (error) {
      if (!isToolError(error)) throw error;
      for (const { path, message } of issuesOf(error)) warn(message, ...path);
    }
  }
  const settings = cloneFrozen({
    enabled: enabled ?? (inputs !== undefined || 'mcpServers' in (input as object)),
    servers: [...servers.values()].sort((a, b) => compareText(a.name, b.name)),
    ...filters,
    ...without({ defaultServer }),
    warnings,
  });
  return Object.freeze(Object.defineProperty({ ...settings }, READ, { value: true }));
}

/** Adds a warning about a server's settings, or about the setting at `path`. */
type Warn = (message: string, ...path: Issue['path']) => void;

/** Settings for all servers that exclude tools or tighten their permissions. */
const RESTRICTING = ['allowTools', 'denyTools', 'requiresConsent', 'accessMode', 'dangerLevel'];

/** Returns an issue for each unknown setting that may be a misspelt name from `RESTRICTING`. */
function misspelt(file: FileValues): readonly Issue[] {
  const known = Object.keys(fileSchema().shape);
  return Object.keys(file)
    .filter((key) => !known.includes(key) && suggestNames(key, RESTRICTING).length > 0)
    .map((key) => ({ path: [key], message: unknownOption(key, RESTRICTING) }));
}

/** Fields of a server's settings that other clients use and this library ignores. */
const UNUSED = [
  ...['$schema', 'description', 'title', 'name', 'icon', 'note', 'gallery', 'dev', 'watchPaths'],
  ...['alwaysLoad', 'startOnLaunch', 'sandbox', 'sandboxEnabled'],
];

/** Returns a server's settings that this library uses, under their camelCase names. */
function usedSettings(written: unknown): unknown {
  const given = spelledServer(written);
  if (!isPlainObject(given)) return given;
  const { tools, ...values } = Object.fromEntries(
    Object.entries(given).filter(([name]) => !UNUSED.includes(name)),
  );
  // Some clients use `tools` for the list of allowed tools.
  return Array.isArray(tools) ? { allowTools: tools, ...values } : { tools, ...values };
}

/**
 * Returns a server's settings, or `undefined` if it's disabled.
 * @throws ToolError `INVALID_ARGUMENT`, which lists everything wrong in the settings.
 */
function readServer(
  name: string,
  written: unknown,
  global: FileValues,
  warn: Warn,
): Omit<McpServerSettings, 'signature'> | undefined {
  const data = checkOptions(serverSchema, usedSettings(written), 'settings of the server');
  if (data.enabled === false || data.disabled === true) return undefined;
  const {
    timeout: timeoutMs = 30_000,
    startupTimeout: startupTimeoutMs = 30_000,
    healthCheckInterval: healthCheckIntervalMs = 300_000,
    maxTools = 1_000,
  } = { ...without(global), ...without(data) };
  if ([data.autoApprove].flat().some(Boolean))
    warn(
      'Approvals for tools (autoApprove, alwaysAllow, trust) are ignored, because any repository may contain such a file. Set access and consent for the tools under "tools".',
    );
  const { allowTools, persona, personaAllowlist } = data;
  return {
    ...{ name, timeoutMs, startupTimeoutMs, healthCheckIntervalMs, maxTools },
    transport: transportOf(data),
    ...picked(data, ['denyTools', 'trusted', 'resources', 'prompts']),
    ...without({ allowTools, persona, personaAllowlist, auth: authOf(data) }),
    overrides: { ...overridesOf(global), ...overridesOf(data) },
    tools: Object.entries(data.tools ?? {}).map(([pattern, tool]) => toolSettingOf(pattern, tool)),
  };
}

function toolSettingOf(pattern: string, data: ToolValues): McpToolSetting {
  const { disabled, timeout: timeoutMs, personaAllowlist, ...overrides } = data;
  return {
    pattern,
    ...without({ disabled, timeoutMs, personaAllowlist }),
    overrides: without(overrides),
  };
}

const overridesOf = (data: Pick<ToolValues, ReturnType<typeof OVERRIDES>[number]>) =>
  picked(data, OVERRIDES());

/**
 * Returns the credentials that calls need, from `auth` and from settings such as `authType` next to
 * it. The scopes of both are combined.
 */
function authOf(data: ServerValues): McpServerAuth | undefined {
  const { auth = {} } = data;
  const { required = data.authRequired, type = data.authType, env = data.authEnv ?? {} } = auth;
  const scopes = [...new Set([...(auth.scopes ?? []), ...(data.scopes ?? [])])];
  const isNone = (required ?? type) === undefined && scopes.length + Object.keys(env).length === 0;
  return isNone ? undefined : { ...without({ required, type }), scopes, env };
}

/**
 * Returns a server name with forbidden characters replaced by `-`. Dots are forbidden because
 * `mcp.a.b.c` could then be a tool of `a` or of `a.b`.
 */
export function serverNameOf(written: string): string {
  return written
    .trim()
    .replace(/[^A-Za-z0-9_-]+/gu, '-')
    .slice(0, 64);
}

/** Other names for settings, from ATLAS files and from MCP clients. */
const ALIASES: Readonly<Record<string, string>> = {
  access: 'accessMode',
  alwaysAllow: 'autoApprove',
  authentication: 'auth',
  cmd: 'command',
  commandArgs: 'args',
  consent: 'requiresConsent',
  danger: 'dangerLevel',
  disabledTools: 'denyTools',
  environment: 'env',
  excludeTools: 'denyTools',
  httpUrl: 'url',
  includeTools: 'allowTools',
  mcpServers: 'servers',
  parallel: 'allowParallel',
  personas: 'personaAllowlist',
  scheme: 'type',
  scope: 'scopes',
  serverUrl: 'url',
  transportType: 'transport',
  trust: 'autoApprove',
  uri: 'url',
  workingDirectory: 'cwd',
};

function spellingOf(name: string): string {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const unit = camel.replace(/Seconds$/, '');
  return Object.hasOwn(ALIASES, unit) ? ALIASES[unit]! : unit;
}

/**
 * Returns settings under their camelCase names. snake_case and the names of other programs are
 * converted. Settings that are `undefined` or `null` are dropped. A value that isn't an object is
 * returned unchanged.
 *
 * @param readers Functions that convert the values of some settings, by camelCase name.
 * @throws ToolError `INVALID_ARGUMENT` for two spellings of the same setting.
 */
function spelled(
  given: unknown,
  readers: Readonly<Record<string, (value: unknown) => unknown>> = {},
): unknown {
  if (!isPlainObject(given)) return given;
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    const spelling = spellingOf(name);
    if (values.has(spelling))
      throw refusal('Ambiguous settings', [
        { path: [name], message: `${spelling} is set twice. Remove one spelling.` },
      ]);
    const read = Object.hasOwn(readers, spelling) ? readers[spelling] : undefined;
    values.set(spelling, read === undefined ? value : read(value));
  }
  return Object.fromEntries(values);
}

/** Returns a server's settings under their camelCase names. Names of tools stay unchanged. */
function spelledServer(given: unknown): unknown {
  const inner = (value: unknown) => spelled(value);
  const tools = (value: unknown) =>
    isPlainObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, tool]) => [name, spelled(tool)]))
      : value;
  return spelled(given, { auth: inner, oauth: inner, tools });
}
