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
import {
  cloneFrozen,
  compareText,
  describeValue,
  digestOf,
  isPlainObject,
} from '../../core/plain-data.js';
import { contradictionsIn } from '../../tool/infer-metadata.js';
import { asWritten, spelled } from './setting-spellings.js';
import {
  globalSchema,
  OVERRIDES,
  serverSchema,
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
import { addressFault, inputVariable, type McpTransportSettings } from './transport-settings.js';

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
  /** The way in which the server is reached. */
  readonly transport: McpTransportSettings;
  /** The milliseconds that a call may take. @default 30,000 */
  readonly timeoutMs: number;
  /** The milliseconds that the server may take to start and answer for the first time. @default 30,000 */
  readonly startupTimeoutMs: number;
  /** The milliseconds for which a listing counts as fresh. @default 300,000 */
  readonly healthCheckIntervalMs: number;
  /** The only tools that are used, by their names at the server; all when missing, none when empty. */
  readonly allowTools?: readonly string[];
  /** The tools that are never used, by their names at the server; empty by default. */
  readonly denyTools: readonly string[];
  /** The only persona that gets the tools. @default every persona */
  readonly persona?: string;
  /** The only personas whose calls may use the tools; a tool's own list can only shorten it. @default every persona */
  readonly personaAllowlist?: readonly string[];
  /** True when its tools' hints are believed also where they loosen something. @default false */
  readonly trusted: boolean;
  /** True when models get tools to list and read its resources. @default false */
  readonly resources: boolean;
  /** True when models get tools to list and get its prompts. @default false */
  readonly prompts: boolean;
  /** The operator's word on the tools; empty by default. */
  readonly overrides: McpToolOverrides;
  /** The operator's word on single tools, by patterns of their names; empty by default. */
  readonly tools: readonly McpToolSetting[];
  /** The most tools that it may list. @default 1,000 */
  readonly maxTools: number;
  /** The patterns of tools that the file approves in the way of other programs, which counts only with `trustAutoApprove`; empty by default. */
  readonly autoApprove: readonly string[];
  /** The credentials that calls need. @default none */
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
  /** The list for all servers, beside their own. @default all */
  readonly allowTools?: readonly string[];
  /** The tools of all servers that are never used; empty by default. */
  readonly denyTools: readonly string[];
  /** The server meant where a manifest names none. @default none */
  readonly defaultServer?: string;
  /** The servers that are not loaded, with everything that is wrong in them, and settings that are read in another way than they look. */
  readonly warnings: readonly Issue[];
}

/** Marks settings that were read; shared between loaded copies of the package. */
const READ = Symbol.for('tooldex/mcp-settings/v1');

/**
 * Reads the settings of MCP: checked, complete and frozen.
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
 * Names may be written in snake_case or camelCase. Times are seconds (`timeout_seconds`, `startup_timeout_seconds`,
 * `health_check_interval`), or milliseconds where the name says so; 0 and `null` count as not set. Files of the
 * `mcpServers` form, and VS Code's `servers` with `inputs`, are read too and are enabled unless they say otherwise.
 * `${NAME}` in commands, variables, addresses and headers stays as it is written until a connection is made. Overrides
 * (`side_effects`, `access_mode`, `danger_level`, …) may be given for all servers and for each.
 *
 * A server with anything wrong in it is not loaded, and `warnings` says why; the others are. What is wrong beside the
 * servers refuses the whole file, so that a misspelt filter opens nothing.
 *
 * @param input the settings as parsed from a file or written in code; settings already read are returned as they are.
 * @throws ToolError `INVALID_ARGUMENT` with everything that is wrong beside the servers. Values that may hold secrets
 * are not repeated.
 */
export function readMcpSettings(input: unknown): McpSettings {
  if (typeof input === 'object' && input !== null && Object.hasOwn(input, READ))
    return input as McpSettings;
  const { file, issues } = spelled(input);
  const read = globalSchema().safeParse(file);
  const place = (...path: Issue['path']) => asWritten(path, input);
  const faults = [
    ...issues.filter(({ path }) => path.length === 1),
    ...(read.success ? [] : toIssues(read.error, file)),
    ...(isPlainObject(file) ? misspelt(file) : []),
  ].map(({ path, message }) => ({ path: place(...path), message }));
  if (faults.length > 0 || !read.success) throw refusal('The settings of MCP are refused', faults);

  const { servers: given = {}, inputs, enabled, defaultServer, ...global } = read.data;
  const filters = filtersOf(global);
  const defaults = { ...DEFAULTS, ...limitsOf(global), overrides: picked(global, OVERRIDES()) };
  const warnings: Issue[] = [...inputsOf(inputs)];
  const servers = new Map<string, McpServerSettings>();
  for (const [written, values] of Object.entries(given)) {
    const name = serverNameOf(written);
    const ambiguous = issues.filter(({ path }) => path.length > 1 && path[1] === written);
    const result = servers.has(name)
      ? { issues: [{ path: [], message: sameName(name) }] }
      : ambiguous.length > 0
        ? { issues: ambiguous.map(({ path, message }) => ({ path: path.slice(2), message })) }
        : readServer(name, values, defaults);
    if (result.server !== undefined)
      servers.set(name, {
        ...result.server,
        signature: digestOf({ ...result.server, global: filters }),
      });
    if (name !== written.trim())
      warnings.push({ path: place('servers', written), message: renamed(name) });
    for (const { path, message } of result.issues)
      warnings.push({ path: place('servers', written, ...path), message });
  }
  const isDefault = defaultServer !== undefined && servers.has(defaultServer);
  if (defaultServer && !isDefault)
    warnings.push({
      path: place('defaultServer'),
      message: `Expected the name of a server that is loaded, got ${JSON.stringify(defaultServer)}. No server is meant where a manifest names none.`,
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

/** The settings that a server falls back to. */
type ServerDefaults = Pick<
  McpServerSettings,
  'timeoutMs' | 'startupTimeoutMs' | 'healthCheckIntervalMs' | 'maxTools' | 'overrides'
>;
const DEFAULTS = {
  timeoutMs: 30_000,
  startupTimeoutMs: 30_000,
  healthCheckIntervalMs: 300_000,
  maxTools: 1_000,
} as const;

/** Members that clients keep beside a server's settings, and on which nothing here depends. */
const UNUSED = [
  ...['$schema', 'description', 'title', 'name', 'icon', 'note', 'gallery', 'dev', 'watchPaths'],
  ...['alwaysLoad', 'startOnLaunch', 'sandbox', 'sandboxEnabled'],
];

/** Reads one server. One that is switched off is not there; one with anything wrong is not loaded, and its issues say why. */
function readServer(
  name: string,
  given: unknown,
  defaults: ServerDefaults,
): {
  readonly server?: Omit<McpServerSettings, 'signature'>;
  readonly issues: readonly Issue[];
} {
  if (!isPlainObject(given))
    return {
      issues: [{ path: [], message: expectedGot('an object of settings', kindOf(given)) }],
    };
  const values = Object.fromEntries(Object.entries(given).filter(([key]) => !UNUSED.includes(key)));
  // A list of names switches all others off.
  const { tools: names } = values;
  const isList = Array.isArray(names) && names.every((each) => typeof each === 'string');
  if (isList) delete values['tools'];
  const parsed = serverSchema().safeParse(values, { error: knownKeys });
  if (!parsed.success) return { issues: toIssues(parsed.error, values) };
  const { data } = parsed;
  if (data.enabled === false || data.disabled === true) return { issues: [] };
  const overrides = { ...defaults.overrides, ...picked(data, OVERRIDES()) };
  const tools = isList
    ? [
        { pattern: '*', disabled: true, overrides: {}, extras: {} },
        ...names.map((pattern) => ({ pattern, disabled: false, overrides: {}, extras: {} })),
      ]
    : Object.entries(data.tools ?? {}).map(([pattern, tool]) => toolSettingOf(pattern, tool));
  const transport = transportOf(data);
  const issues = [
    ...contradictions(overrides),
    ...tools.flatMap(({ pattern, overrides: words }) =>
      contradictions(withOverrides(overrides, words), 'tools', pattern),
    ),
    ...('message' in transport ? [transport] : []),
  ];
  if (issues.length > 0 || 'message' in transport) return { issues };
  const { persona, personaAllowlist } = data;
  return {
    issues: unusedBeside(transport.kind, data),
    server: {
      ...defaults,
      ...limitsOf(data),
      ...filtersOf(data),
      ...without({ persona, personaAllowlist, auth: authOf(data) }),
      name,
      transport,
      trusted: data.trusted ?? false,
      resources: data.resources ?? false,
      prompts: data.prompts ?? false,
      overrides,
      tools,
      autoApprove: [...(data.autoApprove ?? []), ...(data.trust === true ? ['*'] : [])],
    },
  };
}

function toolSettingOf(pattern: string, data: ToolValues): McpToolSetting {
  const { enabled, disabled = enabled === undefined ? undefined : !enabled } = data;
  const timeoutMs = data.timeoutMs ?? data.timeoutSeconds;
  return {
    pattern,
    ...without({ disabled, timeoutMs, personaAllowlist: data.personaAllowlist }),
    overrides: picked(data, OVERRIDES()),
    extras: picked(data, ['keywords', 'stages', 'taskTypes', 'priority', 'costTier']),
  };
}

/** Returns how a server is reached: as `transport` or `type` says, or else by what is given, a command or an address. */
function transportOf(data: ServerValues): McpTransportSettings | Issue {
  const { command, args = [], env = {}, cwd, envFile, url, headers = {}, oauth } = data;
  const { type, transport: kind = type } = data;
  const fault = (message: string, field: 'command' | 'url'): Issue => ({
    path: data[field] === undefined ? [] : [field],
    message,
  });
  if (command !== undefined && url !== undefined)
    return fault('Expected a command or a url, got both. Leave one out.', 'url');
  if (
    kind === 'stdio' ? command === undefined : url === undefined && (kind ?? command) === undefined
  )
    return fault(
      kind === 'stdio'
        ? 'Expected a command for transport stdio, got none.'
        : 'Expected a command or a url, got neither.',
      'command',
    );
  if (command !== undefined && (kind ?? 'stdio') === 'stdio')
    return { kind: 'stdio', command, args, env, ...without({ cwd, envFile }) };
  if (url === undefined) return fault(`Expected a url for transport ${kind}, got none.`, 'url');
  const reached = kind === undefined || kind === 'stdio' ? kindOfAddress(url) : kind;
  // An address with variables is checked when they are known.
  const wrong = url.includes('${') ? undefined : addressFault(url, reached);
  return wrong === undefined
    ? { kind: reached, url, headers, ...(oauth && { oauth: without(oauth) }) }
    : fault(expectedGot(...wrong), 'url');
}

const kindOfAddress = (url: string) => (/^wss?:/i.test(url) ? 'websocket' : 'http');

/** Warns of what the transport does not use: files of clients have an empty `env` beside a url, and the like. */
function unusedBeside(
  kind: McpTransportSettings['kind'],
  { args, env, cwd, envFile, headers, oauth }: ServerValues,
): readonly Issue[] {
  const unused = kind === 'stdio' ? { headers, oauth } : { args, env, cwd, envFile };
  const beside = kind === 'stdio' ? 'a command' : 'a url';
  return [
    ...Object.entries(unused).flatMap(([field, value]) =>
      value === undefined
        ? []
        : [
            {
              path: [field],
              message: `${field} is not used beside ${beside}. Leave it out.`,
            },
          ],
    ),
    ...Object.entries({ ...env, ...headers }).flatMap(([name, text]) =>
      OTHER_VARIABLE.test(text)
        ? [
            {
              path: [name],
              message: expectedGot(
                'a variable written as ${NAME}',
                'another form, which is sent as it is',
              ),
            },
          ]
        : [],
    ),
  ];
}

/** Variables as other programs write them. */
const OTHER_VARIABLE = /^\$[A-Za-z_]\w*$|(?<!\$)\{env:|\$\{\{|\$\(/;

/** Returns the credentials that calls need, which may be described in an `auth` of their own, beside it, or both; scopes of both count. */
function authOf(data: ServerValues): McpServerAuth | undefined {
  const { auth = {}, scopes = [] } = data;
  const { required = data.authRequired, type = data.authType, env = data.authEnv ?? {} } = auth;
  const all = [...new Set([...(auth.scopes ?? []), ...scopes])];
  const isNone = (required ?? type) === undefined && all.length + Object.keys(env).length === 0;
  return isNone ? undefined : { ...without({ required, type }), scopes: all, env };
}

function contradictions(overrides: McpToolOverrides, ...path: Issue['path']): readonly Issue[] {
  const sideEffects = [...(overrides.sideEffects ?? [])];
  return contradictionsIn({ name: '', description: '', ...overrides, sideEffects }).map(
    (message) => ({ path, message }),
  );
}

const limitsOf = (data: Partial<ServerValues>) =>
  without({
    maxTools: data.maxTools,
    timeoutMs: data.timeoutMs ?? data.timeoutSeconds,
    startupTimeoutMs: data.startupTimeoutMs ?? data.startupTimeoutSeconds,
    healthCheckIntervalMs: data.healthCheckMs ?? data.healthCheckSeconds,
  });

const filtersOf = ({
  allowTools,
  denyTools = [],
}: Pick<Partial<ServerValues>, 'allowTools' | 'denyTools'>) => ({
  ...without({ allowTools }),
  denyTools,
});

/** Settings for all servers that keep something out. */
const RESTRICTING = ['allowTools', 'denyTools', 'requiresConsent', 'accessMode', 'dangerLevel'];

/** Names of other members that are so like one of ours that a filter may have been meant: they must not open anything. */
function misspelt(file: object): readonly Issue[] {
  const known = Object.keys(globalSchema().shape);
  return Object.keys(file).flatMap((key) =>
    known.includes(key) || suggestNames(key, RESTRICTING).length === 0
      ? []
      : [{ path: [key], message: unknownOption(key, RESTRICTING) }],
  );
}

/** Says where the values of VS Code's inputs come from: nobody is asked here. */
function inputsOf(inputs: unknown): readonly Issue[] {
  return (Array.isArray(inputs) ? (inputs as unknown[]) : []).flatMap((each) => {
    const id = isPlainObject(each) ? each['id'] : undefined;
    return typeof id === 'string'
      ? [
          {
            path: ['inputs'],
            message: `The input ${describeValue(id)} is read from the environment. Set the variable ${inputVariable(id)}.`,
          },
        ]
      : [];
  });
}

const sameName = (name: string) =>
  `Another server is called ${name} already, so this one is not loaded. Give it another name.`;
const renamed = (name: string) =>
  `Expected a server name of 1 to 64 letters, digits, underscores and hyphens (no dots), got another. It is called ${name}.`;

/** Names as clients write them, such as `github.com/owner/repo`, in ours: a dot would make `mcp.a.b.c` a tool of `a` or of `a.b`. */
export function serverNameOf(written: string): string {
  return written
    .trim()
    .replace(/[^A-Za-z0-9_-]+/gu, '-')
    .slice(0, 64);
}
