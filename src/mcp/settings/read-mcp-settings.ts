import type { Issue } from '../../core/errors.js';
import {
  expectedGot,
  kindOf,
  knownKeys,
  refusal,
  suggestNames,
  toIssues,
  unknownOption,
} from '../../core/issues.js';
import { cloneFrozen, compareText, digestOf, isPlainObject } from '../../core/plain-data.js';
import { contradictionsIn } from '../../tool/infer-metadata.js';
import { asWritten, SERVER_PLACES, spelled } from './setting-spellings.js';
import {
  fileSchema,
  OVERRIDES,
  serverSchema,
  type FileValues,
  type ServerValues,
  type ToolValues,
} from './settings-schema.js';
import {
  picked,
  withOverrides,
  without,
  type McpToolOverrides,
  type McpToolSetting,
} from './tool-settings.js';
import { inputVariable, transportOf, type McpTransportSettings } from './transport-settings.js';

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
  const { values: file, issues: ambiguous } = spelled(input);
  const place = (...path: Issue['path']) => asWritten(path, input);
  const read = fileSchema().safeParse(file);
  const faults = [
    ...ambiguous,
    ...(read.success ? misspelt(read.data) : toIssues(read.error, file)),
  ];
  if (faults.length > 0 || !read.success)
    throw refusal(
      'The MCP settings are invalid',
      faults.map(({ path, message }) => ({ path: place(...path), message })),
    );

  const { servers: given, inputs, enabled, defaultServer, allowTools, denyTools } = read.data;
  const filters = { ...without({ allowTools }), denyTools };
  const warnings: Issue[] = [...inputsOf(inputs)];
  const servers = new Map<string, McpServerSettings>();
  for (const [written, values] of Object.entries(given)) {
    const name = serverNameOf(written);
    const warn = (...issues: readonly Issue[]) => {
      for (const { path, message } of issues)
        warnings.push({ path: place('servers', written, ...path), message });
    };
    if (name !== written.trim())
      warn({
        path: [],
        message: `A server name has 1 to 64 letters, digits, underscores and hyphens (no dots). This server is called ${name}.`,
      });
    if (servers.has(name)) {
      warn({
        path: [],
        message: `Another server is already called ${name}, so this one isn't loaded. Rename it.`,
      });
      continue;
    }
    const result = readServer(name, values, read.data, warn);
    if (result !== undefined)
      servers.set(name, { ...result, signature: digestOf({ ...result, global: filters }) });
  }
  const isDefault = defaultServer !== undefined && servers.has(defaultServer);
  if (defaultServer && !isDefault)
    warnings.push({
      path: place('defaultServer'),
      message: `No loaded server is called ${JSON.stringify(defaultServer)}, so manifests must specify their server.`,
    });
  const settings = cloneFrozen({
    enabled: enabled ?? (inputs !== undefined || place('servers')[0] === 'mcpServers'),
    servers: [...servers.values()].sort((a, b) => compareText(a.name, b.name)),
    ...filters,
    ...(isDefault && { defaultServer }),
    warnings,
  });
  return Object.freeze(Object.defineProperty({ ...settings }, READ, { value: true }));
}

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

/**
 * Returns a server's settings, or `undefined` if it's disabled or has issues that keep it from
 * being loaded.
 */
function readServer(
  name: string,
  written: unknown,
  global: FileValues,
  warn: (...issues: readonly Issue[]) => void,
): Omit<McpServerSettings, 'signature'> | undefined {
  const { values: given, issues: ambiguous } = spelled(written, SERVER_PLACES);
  if (ambiguous.length > 0) return void warn(...ambiguous);
  if (!isPlainObject(given))
    return void warn({ path: [], message: expectedGot('an object of settings', kindOf(given)) });
  const values = Object.fromEntries(Object.entries(given).filter(([key]) => !UNUSED.includes(key)));
  // Some clients use `tools` for the list of allowed tools.
  if (Array.isArray(values['tools'])) {
    values['allowTools'] ??= values['tools'];
    delete values['tools'];
  }
  const parsed = serverSchema().safeParse(values, { error: knownKeys });
  if (!parsed.success) return void warn(...toIssues(parsed.error, values));
  const { data } = parsed;
  if (data.enabled === false || data.disabled === true) return undefined;
  const {
    timeout: timeoutMs = 30_000,
    startupTimeout: startupTimeoutMs = 30_000,
    healthCheckInterval: healthCheckIntervalMs = 300_000,
    maxTools = 1_000,
  } = { ...without(global), ...without(data) };
  const overrides = { ...overridesOf(global), ...overridesOf(data) };
  const tools = Object.entries(data.tools ?? {}).map(([pattern, tool]) =>
    toolSettingOf(pattern, tool),
  );
  const transport = transportOf(data);
  const issues = [
    ...('message' in transport ? [transport] : []),
    ...contradictions(overrides),
    ...tools.flatMap((tool) =>
      contradictions(withOverrides(overrides, tool.overrides), 'tools', tool.pattern),
    ),
  ];
  if ('message' in transport || issues.length > 0) return void warn(...issues);
  if ([data.autoApprove].flat().some(Boolean))
    warn({
      path: ['autoApprove'],
      message: `Approvals for tools are ignored, because any repository may contain such a file. Set access and consent for the tools under "tools".`,
    });
  const { allowTools, persona, personaAllowlist } = data;
  return {
    ...{ name, transport, timeoutMs, startupTimeoutMs, healthCheckIntervalMs, maxTools },
    ...picked(data, ['denyTools', 'trusted', 'resources', 'prompts']),
    ...without({ allowTools, persona, personaAllowlist, auth: authOf(data) }),
    ...{ overrides, tools },
  };
}

function toolSettingOf(pattern: string, data: ToolValues): McpToolSetting {
  const { enabled, disabled = enabled === undefined ? undefined : !enabled } = data;
  return {
    pattern,
    ...without({ disabled, timeoutMs: data.timeout, personaAllowlist: data.personaAllowlist }),
    overrides: overridesOf(data),
    extras: picked(data, ['keywords', 'stages', 'taskTypes', 'priority', 'costTier']),
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

function contradictions(overrides: McpToolOverrides, ...path: Issue['path']): readonly Issue[] {
  const sideEffects = [...(overrides.sideEffects ?? [])];
  return contradictionsIn({ name: '', description: '', ...overrides, sideEffects }).map(
    (message) => ({ path, message }),
  );
}

/**
 * Returns an issue for each VS Code input. The issue names the environment variable for the value,
 * because this library doesn't ask the user for inputs.
 */
function inputsOf(inputs: unknown): readonly Issue[] {
  return (Array.isArray(inputs) ? (inputs as unknown[]) : [])
    .map((each) => (isPlainObject(each) ? each['id'] : undefined))
    .filter((id) => typeof id === 'string')
    .map((id) => ({
      path: ['inputs'],
      message: `The input ${JSON.stringify(id)} is read from the environment. Set the variable ${inputVariable(id)}.`,
    }));
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
