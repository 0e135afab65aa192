import { isToolError, issuesOf, type Issue } from '../../core/errors.js';
import { refusal } from '../../core/issues.js';
import { checkOptions } from '../../core/options.js';
import {
  cloneFrozen,
  compareText,
  digestOf,
  isPlainObject,
  mapValues,
  without,
} from '../../core/plain-data.js';
import { asWritten, closest, misspelt, spelled, spellingOf } from './setting-names.js';
import { serversIn, type InputValues } from './settings-files.js';
import {
  authSchema,
  fileSchema,
  loginFields,
  OVERRIDES,
  serverSchema,
  SHARED,
  type FileValues,
  type ServerValues,
  type ToolValues,
} from './settings-schema.js';
import type { McpToolOverrides, McpToolSetting } from './tool-settings.js';
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
  /**
   * False if tools and prompts keep the names that they have at the server. Possible for a single
   * server. @default true: names begin with `mcp.<server>.`
   */
  readonly prefix: boolean;
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
   * @default false; true for the files of other programs
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
  /** The names and categories of tools that a gateway always lists. Empty by default. */
  readonly include: readonly string[];
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
 * Other programs' files are enabled unless they say otherwise: those with `mcpServers`,
 * `context_servers` or `mcp`, and VS Code's `servers` without any setting of ours. `${NAME}` in
 * commands, environment variables, URLs and headers is filled in when a connection is made. Overrides (`side_effects`, `access_mode`, `danger_level`, …) may be set for
 * all servers and for individual servers.
 *
 * A server with invalid settings isn't loaded, and `warnings` explains why. The other servers are
 * loaded. Settings that other programs use and this library doesn't are warnings. If one of our
 * settings for all servers is invalid, the whole file is refused, because a misspelt filter must not
 * allow anything.
 *
 * @param input The settings as parsed from a file or written in code. Settings that were already
 * read are returned unchanged.
 * @throws ToolError `INVALID_ARGUMENT`, which lists everything wrong in the settings for all
 * servers. Values that may be secret aren't repeated.
 */
export function readMcpSettings(input: unknown): McpSettings {
  if (typeof input === 'object' && input !== null && Object.hasOwn(input, READ))
    return input as McpSettings;
  const warnings: Issue[] = [];
  const { values: global, file, isForeign } = readFile(input);
  const { enabled = isForeign, defaultServer, allowTools, denyTools, include } = file;
  const filters = { ...without({ allowTools }), denyTools };
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
      const server = readServer(name, values, global, warn);
      if (server !== undefined)
        servers.set(name, { ...server, signature: digestOf({ ...server, global: filters }) });
    } catch (error) {
      if (!isToolError(error)) throw error;
      for (const { path, message } of issuesOf(error)) warn(message, ...asWritten(values, path));
    }
  }
  for (const [name, { prefix }] of servers.size > 1 ? servers : [])
    if (!prefix) {
      servers.delete(name);
      const message =
        '"prefix": false works for a single server only, because two servers may have tools with the same name. Remove it.';
      warnings.push({ path: ['servers', name, 'prefix'], message });
    }
  const settings = cloneFrozen({
    enabled,
    servers: [...servers.values()].sort((a, b) => compareText(a.name, b.name)),
    ...filters,
    include,
    ...without({ defaultServer }),
    warnings,
  });
  return Object.freeze(Object.defineProperty({ ...settings }, READ, { value: true }));
}

/** Adds a warning about a server's settings, or about the setting at `path`. */
type Warn = (message: string, ...path: Issue['path']) => void;

/** Settings for all servers that exclude tools or tighten their permissions. */
const RESTRICTING = ['allowTools', 'denyTools', 'requiresConsent', 'accessMode', 'dangerLevel'];
/** Settings whose wrong values refuse every file. */
const STRICT = [...RESTRICTING, 'enabled', 'servers'];

/**
 * Returns the settings for all servers. In a file of another program, a wrong value that isn't for
 * a filter of ours belongs to that program.
 *
 * @throws ToolError `INVALID_ARGUMENT`, which lists everything wrong.
 */
function readFile(input: unknown): {
  readonly values: InputValues;
  readonly file: FileValues;
  readonly isForeign: boolean;
} {
  const { shape } = fileSchema();
  const isOwn = (key: string) => Object.hasOwn(shape, spellingOf(key));
  const { written, isForeign } = serversIn(input, isOwn);
  const issues = Object.keys(written).flatMap((name) => {
    const meant = closest(spellingOf(name), RESTRICTING, isForeign ? 1 : 2);
    return meant === undefined || isOwn(name) ? [] : [misspelt(name, meant)];
  });
  if (issues.length > 0) throw refusal('Invalid MCP settings', issues);
  const values = { ...(spelled(written) as Record<string, unknown>) };
  for (const [key, field] of Object.entries(shape))
    if (isForeign && !STRICT.includes(key) && !field.safeParse(values[key]).success)
      delete values[key];
  try {
    return { values, file: checkOptions(fileSchema, values, 'MCP settings'), isForeign };
  } catch (error) {
    if (!isToolError(error)) throw error;
    const shown = issuesOf(error).map(({ path, message }) => ({
      path: asWritten(written, path),
      message,
    }));
    throw refusal('Invalid MCP settings', shown);
  }
}

/** Fields of a server's settings that other clients use and this library ignores. */
const UNUSED = [
  ...['$schema', 'description', 'title', 'name', 'icon', 'note', 'gallery', 'dev', 'watchPaths'],
  ...['alwaysLoad', 'startOnLaunch', 'sandbox', 'sandboxEnabled'],
];

/**
 * Returns the settings that this library uses, under their camelCase names. Warns about the others.
 * @throws ToolError `INVALID_ARGUMENT` for a name that is probably misspelt, because it may be that
 * of a command, a URL or a filter.
 */
function used(
  written: InputValues,
  { shape }: { readonly shape: object },
  warn: Warn,
  ...path: readonly string[]
): InputValues {
  const values = spelled(written) as InputValues;
  const fields = Object.keys(shape);
  for (const name of Object.keys(written)) {
    const key = spellingOf(name);
    if (fields.includes(key) || !Object.hasOwn(values, key)) continue;
    // A secret in the settings would otherwise only be missed at login.
    const meant = key === 'clientSecret' ? 'clientSecretEnv' : closest(key, fields, 2);
    if (meant !== undefined)
      throw refusal('Invalid settings of the server', [{ ...misspelt(name, meant), path }]);
    if (path.length > 0 || !UNUSED.includes(key))
      warn(`${JSON.stringify(name)} isn't used here.`, ...path);
  }
  return Object.fromEntries(Object.entries(values).filter(([key]) => fields.includes(key)));
}

/** Returns a server's settings in the form of the schema. */
function schemaValues(written: unknown, warn: Warn): unknown {
  if (!isPlainObject(written)) return written;
  const { tools, command, auth, oauth, ...values } = used(written, serverSchema(), warn);
  const { allowTools, args = [] } = values;
  const [program, ...first] = [command].flat();
  const login = isPlainObject(oauth) ? used(oauth, loginFields(), warn, 'oauth') : oauth;
  const own = isPlainObject(auth) ? used(auth, authSchema(), warn, 'auth') : auth;
  // With other keys, it's another program's login, whose scopes mean something else.
  const isOurs =
    !isPlainObject(auth) || Object.keys(own as InputValues).length >= Object.keys(auth).length;
  const perTool = isPlainObject(tools) ? mapValues(tools, ([, tool]) => spelled(tool)) : tools;
  return {
    ...values,
    ...without({ command: program, oauth: login, auth: isOurs ? own : undefined }),
    ...(first.length > 0 && { args: [...first, ...[args].flat()] }),
    // Some clients use `tools` for the list of allowed tools.
    ...(Array.isArray(tools) ? { allowTools: allowTools ?? tools } : without({ tools: perTool })),
  };
}

/**
 * Returns a server's settings, or `undefined` if it's disabled.
 * @throws ToolError `INVALID_ARGUMENT`, which lists everything wrong in the settings.
 */
function readServer(
  name: string,
  written: unknown,
  global: InputValues,
  warn: Warn,
): Omit<McpServerSettings, 'signature'> | undefined {
  const own = schemaValues(written, warn);
  const isSet = (key: string) => isPlainObject(own) && (own[key] ?? 0) !== 0;
  const shared = SHARED().flatMap((key) => (isSet(key) ? [] : [[key, global[key]] as const]));
  const values = isPlainObject(own) ? { ...own, ...Object.fromEntries(shared) } : own;
  const data: ServerValues = checkOptions(serverSchema, values, 'settings of the server');
  if (data.enabled === false || data.disabled === true) return undefined;
  warnAbout(data, warn);
  const { maxTools, denyTools, trusted, resources, prompts, prefix, allowTools } = data;
  const { persona, personaAllowlist, tools = {} } = data;
  return {
    name,
    timeoutMs: data.timeout ?? 30_000,
    startupTimeoutMs: data.startupTimeout ?? 30_000,
    healthCheckIntervalMs: data.healthCheckInterval ?? 300_000,
    ...{ maxTools, denyTools, trusted, resources, prompts, prefix },
    transport: transportOf(data),
    ...without({ allowTools, persona, personaAllowlist, auth: authOf(data) }),
    overrides: without(Object.fromEntries(OVERRIDES().map((key) => [key, data[key]]))),
    tools: Object.entries(tools).map(([pattern, tool]) => toolSettingOf(pattern, tool)),
  };
}

/** Warns about settings that other programs read in another way. */
function warnAbout({ autoApprove, env = {}, headers = {} }: ServerValues, warn: Warn): void {
  if ([autoApprove].flat().some(Boolean))
    warn(
      'Approvals for tools (autoApprove, alwaysAllow, trust) are ignored, because any repository may contain such a file. Set access and consent for the tools under "tools".',
    );
  for (const [part, texts] of Object.entries({ env, headers }))
    for (const [key, text] of Object.entries(texts))
      if (/^\$[A-Za-z_]\w*$/.test(text))
        warn('A variable without braces is passed on as written. Write ${NAME}.', part, key);
}

function toolSettingOf(pattern: string, data: ToolValues): McpToolSetting {
  const { disabled, timeout: timeoutMs, personaAllowlist, name, description, ...overrides } = data;
  if (name !== undefined && pattern.includes('*'))
    throw refusal('Invalid settings of the server', [
      {
        path: ['tools', pattern, 'name'],
        message:
          'Only a single tool can get a new name. Replace the pattern with the name of a tool.',
      },
    ]);
  return {
    pattern,
    ...without({ disabled, timeoutMs, personaAllowlist, rename: name, describe: description }),
    overrides: without(overrides),
  };
}

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
