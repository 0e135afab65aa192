import { isToolError, issuesOf, type Issue } from '../../core/errors.js';
import { expectedGot, refusal } from '../../core/issues.js';
import { checkOptions } from '../../core/options.js';
import { cloneFrozen, compareText, digestOf, isPlainObject } from '../../core/plain-data.js';
import { CONTAINERS, settingsFile } from './settings-files.js';
import {
  authSchema,
  fileSchema,
  loginFields,
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
 * `context_servers` or `mcp`, and VS Code's `servers` without any setting of ours. `${NAME}` in commands, environment variables, URLs and headers is filled in when a
 * connection is made. Overrides (`side_effects`, `access_mode`, `danger_level`, …) may be set for
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
  const { file, isForeign } = readFile(input, warnings);
  const { enabled, defaultServer, allowTools, denyTools, include } = file;
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
      const server = readServer(name, values, file, warn);
      if (server !== undefined)
        servers.set(name, { ...server, signature: digestOf({ ...server, global: filters }) });
    } catch (error) {
      if (!isToolError(error)) throw error;
      for (const { path, message } of issuesOf(error)) warn(message, ...path);
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
    enabled: enabled ?? isForeign,
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

/**
 * Returns the settings for all servers. In a file of another program, a setting that isn't ours is
 * never an error.
 * @throws ToolError `INVALID_ARGUMENT`, which lists everything wrong.
 */
function readFile(
  input: unknown,
  warnings: Issue[],
): { readonly file: FileValues; readonly isForeign: boolean } {
  const known = Object.keys(fileSchema().shape);
  const isOwn = (key: string) =>
    !['servers', 'inputs'].includes(key) && known.includes(spellingOf(key));
  const given = isPlainObject(input) ? settingsFile(input, isOwn) : undefined;
  if (given === undefined && isPlainObject(input)) refuseWithoutServers(input, isOwn);
  const { isForeign = false } = given ?? {};
  const values = spelled(given?.values ?? input);
  const misspelt = keysOf(values).filter(
    (key) => !known.includes(key) && closest(key, RESTRICTING, isForeign ? 1 : 2) !== undefined,
  );
  if (misspelt.length > 0)
    throw refusal(
      'Invalid MCP settings',
      misspelt.map((key) =>
        unknownSetting(asWritten(values, [key])[0]!, closest(key, RESTRICTING, 2)!),
      ),
    );
  try {
    return { file: checkOptions(fileSchema, values, 'MCP settings'), isForeign };
  } catch (error) {
    const issues = isToolError(error)
      ? issuesOf(error).map((issue) => ({ ...issue, path: asWritten(values, issue.path) }))
      : [];
    const wrong = isToolError(error) ? issuesOf(error).map(({ path }) => String(path[0])) : [];
    const isOurs = wrong.some((key) => [...RESTRICTING, 'enabled', 'servers', ''].includes(key));
    if (issues.length === 0 || !isForeign || isOurs)
      throw issues.length === 0 ? error : refusal('Invalid MCP settings', issues);
    warnings.push(...issues);
    const left = Object.entries(values as object).filter(([key]) => !wrong.includes(key));
    return { file: checkOptions(fileSchema, Object.fromEntries(left), 'MCP settings'), isForeign };
  }
}

const keysOf = (values: unknown) => (isPlainObject(values) ? Object.keys(values) : []);

/** Says what a file without servers contains, unless it only has settings of ours. */
function refuseWithoutServers(input: object, isOwn: (key: string) => boolean): void {
  const foreign = Object.keys(input).filter((key) => !isOwn(key));
  if (foreign.length === 0) return;
  const quoted = (keys: readonly string[]) => keys.map((key) => JSON.stringify(key)).join(', ');
  throw refusal('Invalid MCP settings', [
    {
      path: [],
      message: `No servers are named here. Expected one of ${quoted(CONTAINERS)}, found ${quoted(foreign.slice(0, 10))}.`,
    },
  ]);
}

/** Returns the issue for a setting that is probably misspelt. Its name is quoted as written. */
function unknownSetting(written: PropertyKey, meant: string): Issue {
  const shown = String(written).includes('_')
    ? meant.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    : meant;
  const advice = `Did you mean ${JSON.stringify(shown)}?`;
  return {
    path: [String(written)],
    message: expectedGot('a known option', JSON.stringify(written), advice),
  };
}

/** Settings for all servers that exclude tools or tighten their permissions. */
const RESTRICTING = ['allowTools', 'denyTools', 'requiresConsent', 'accessMode', 'dangerLevel'];

/**
 * Returns the known name that differs from `key` in at most `most` letters, where two swapped letters
 * count as one. Short names must be closer, because many words are close to them.
 */
function closest(key: string, known: readonly string[], most: number): string | undefined {
  const limit = key.length < 6 ? Math.min(most, 1) : most;
  return known.find((name) => isWithin(key, name, limit));
}

function isWithin(one: string, other: string, most: number): boolean {
  if (one === other) return true;
  if (most === 0 || Math.abs(one.length - other.length) > most) return false;
  let at = 0;
  while (one[at] === other[at]) at += 1;
  const [a, b] = [one.slice(at), other.slice(at)];
  return (
    isWithin(a.slice(1), b.slice(1), most - 1) ||
    isWithin(a.slice(1), b, most - 1) ||
    isWithin(a, b.slice(1), most - 1) ||
    (a[0] === b[1] && a[1] === b[0] && isWithin(a.slice(2), b.slice(2), most - 1))
  );
}

/** Fields of a server's settings that other clients use and this library ignores. */
const UNUSED = [
  ...['$schema', 'description', 'title', 'name', 'icon', 'note', 'gallery', 'dev', 'watchPaths'],
  ...['alwaysLoad', 'startOnLaunch', 'sandbox', 'sandboxEnabled'],
];

/**
 * Returns a server's settings that this library uses, under their camelCase names. Warns about the
 * others.
 * @throws ToolError `INVALID_ARGUMENT` for a name that is probably misspelt, because it may be that
 * of a command, a URL or a filter.
 */
function usedSettings(written: unknown, warn: Warn): unknown {
  const given = spelledServer(written);
  if (!isPlainObject(given)) return given;
  const { tools, command, ...values } = withoutUnknown(
    given,
    Object.keys(serverSchema().shape),
    warn,
  );
  const { auth, oauth } = values;
  if (isPlainObject(oauth))
    values['oauth'] = withoutUnknown(oauth, Object.keys(loginFields().shape), warn, 'oauth');
  if (isPlainObject(auth)) {
    const own = withoutUnknown(auth, Object.keys(authSchema().shape), warn, 'auth');
    // With other keys, it's another program's login, whose scopes mean something else.
    if (Object.keys(own).length < Object.keys(auth).length) delete values['auth'];
    else values['auth'] = own;
  }
  const [program, ...args] = Array.isArray(command) ? (command as unknown[]) : [command];
  const used = {
    ...values,
    ...without({ command: program }),
    // Some clients use `tools` for the list of allowed tools.
    ...(Array.isArray(tools)
      ? { allowTools: tools, ...without({ allowTools: values['allowTools'] }) }
      : without({ tools })),
    ...(args.length > 0 && { args: [...args, ...[values['args'] ?? []].flat()] }),
  };
  return likeWritten(used, given);
}

/** Returns the settings with known names, and warns about the others. */
function withoutUnknown(
  given: Readonly<Record<string, unknown>>,
  known: readonly string[],
  warn: Warn,
  ...path: readonly string[]
): Record<string, unknown> {
  const names = [...known, ...Object.keys(ALIASES)];
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  for (const key of unknown) {
    // A secret in the settings would otherwise only be missed at login.
    const meant = key === 'clientSecret' ? 'clientSecretEnv' : closest(key, names, 2);
    const [shown] = asWritten(given, [key]);
    if (meant !== undefined)
      throw refusal('Invalid settings of the server', [{ ...unknownSetting(shown!, meant), path }]);
    if (path.length > 0 || !UNUSED.includes(key))
      warn(`${JSON.stringify(shown)} isn't used here.`, ...path);
  }
  const used = Object.fromEntries(Object.entries(given).filter(([key]) => known.includes(key)));
  return likeWritten(used, given);
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
  const values = usedSettings(written, warn);
  const data = checked(serverSchema, values);
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
  for (const [part, texts] of [
    ['env', data.env],
    ['headers', data.headers],
  ] as const)
    for (const [key, text] of Object.entries(texts ?? {}))
      if (/^\$[A-Za-z_]\w*$/.test(text))
        warn('A variable without braces is passed on as written. Write ${NAME}.', part, key);
  const { allowTools, persona, personaAllowlist } = data;
  return {
    ...{ name, timeoutMs, startupTimeoutMs, healthCheckIntervalMs, maxTools },
    transport: transportOf(data),
    ...picked(data, ['denyTools', 'trusted', 'resources', 'prompts', 'prefix']),
    ...without({ allowTools, persona, personaAllowlist, auth: authOf(data) }),
    overrides: { ...overridesOf(global), ...overridesOf(data) },
    tools: Object.entries(data.tools ?? {}).map(([pattern, tool]) => toolSettingOf(pattern, tool)),
  };
}

/** Checks a server's settings. The paths of issues are as written. */
function checked(schema: typeof serverSchema, values: unknown): ServerValues {
  try {
    return checkOptions(schema, values, 'settings of the server');
  } catch (error) {
    if (!isToolError(error)) throw error;
    throw refusal(
      'Invalid settings of the server',
      issuesOf(error).map((issue) => ({ ...issue, path: asWritten(values, issue.path) })),
    );
  }
}

function toolSettingOf(pattern: string, data: ToolValues): McpToolSetting {
  const { disabled, timeout: timeoutMs, personaAllowlist, name, description, ...overrides } = data;
  if (name !== undefined && pattern.includes('*'))
    throw refusal('Invalid settings of the server', [
      {
        path: ['tools', pattern, 'name'],
        message: 'A name is for one tool. Replace the pattern with the name of a tool.',
      },
    ]);
  return {
    pattern,
    ...without({ disabled, timeoutMs, personaAllowlist, rename: name, describe: description }),
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
  enabledTools: 'allowTools',
  environment: 'env',
  excludeTools: 'denyTools',
  httpUrl: 'url',
  includeTools: 'allowTools',
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

/** The names as written, by camelCase name, for each object of converted settings. */
const writtenNames = new WeakMap<object, ReadonlyMap<string, string>>();

/** Returns a path in converted settings with the names as written. */
function asWritten(values: unknown, path: Issue['path']): Issue['path'] {
  let at = values;
  return path.map((step) => {
    const names = typeof at === 'object' && at !== null ? writtenNames.get(at) : undefined;
    at = isPlainObject(at) ? at[String(step)] : undefined;
    return names?.get(String(step)) ?? step;
  });
}

function likeWritten<T extends object>(values: T, given: object): T {
  writtenNames.set(values, writtenNames.get(given) ?? new Map());
  return values;
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
  const values: Record<string, unknown> = {};
  const names = new Map<string, string>();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    const spelling = spellingOf(name);
    // Approvals in settings are ignored, so two of them don't contradict each other.
    if (names.has(spelling) && spelling !== 'autoApprove')
      throw refusal('Ambiguous settings', [
        {
          path: [name],
          message: `${JSON.stringify(names.get(spelling))} and ${JSON.stringify(name)} are the same setting. Remove one.`,
        },
      ]);
    const read = Object.hasOwn(readers, spelling) ? readers[spelling] : undefined;
    names.set(spelling, name);
    Object.defineProperty(values, spelling, {
      ...{ value: read === undefined ? value : read(value) },
      ...{ enumerable: true, configurable: true, writable: true },
    });
  }
  writtenNames.set(values, names);
  return values;
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
