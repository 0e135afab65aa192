import type { Issue } from '../../core/errors.js';
import { expectedGot, kindOf, refusal } from '../../core/issues.js';
import {
  cloneFrozen,
  compareText,
  describeValue,
  digestOf,
  isPlainObject,
} from '../../core/plain-data.js';
import { contradictionsIn } from '../../tool/infer-metadata.js';
import {
  BUILT_IN,
  FOREIGN_SERVER_KEYS,
  FOREIGN_TOP_KEYS,
  readApprovals,
  serverNameOf,
  unwrapped,
  usualForm,
} from './client-settings.js';
import {
  countUpTo,
  duration,
  FieldReader,
  flag,
  label,
  names,
  scopes,
  type Parser,
} from './setting-fields.js';
import {
  readOverrides,
  readToolSettings,
  without,
  type McpToolOverrides,
  type McpToolSetting,
} from './tool-settings.js';
import { inputVariable, readTransport, type McpTransportSettings } from './transport-settings.js';

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
  /** The settings that nothing reads, and those that are read in another way than they look, for the operator. */
  readonly warnings: readonly Issue[];
}

/** The most tools that `max_tools` may allow. */
const MOST_TOOLS = 100_000;
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
 * Names may also be written in camelCase; times are seconds (`timeout_seconds`, `timeout`, `health_check_interval`), or
 * milliseconds where the name says so (`timeoutMs`, `healthCheckIntervalMs`); 0 and `null` count as not set. The files of
 * other programs (`mcpServers`, `context_servers`, `servers` with `inputs`) are read too, and are enabled unless they say
 * otherwise; what of them is not understood is in `warnings`. `${NAME}` in
 * commands, variables, addresses and headers stays as it is written until a connection is made. Overrides
 * (`side_effects`, `access_mode`, `danger_level`, `allow_parallel`, `requires_consent`, `version`, `category`) may be
 * given for all servers and for each; `idempotency_key` only for each.
 *
 * @param input the settings as parsed from a file or written in code; settings already read are returned as they are.
 * @throws ToolError `INVALID_ARGUMENT` with everything that is wrong: two spellings of one setting, values
 * of a wrong kind, unknown transports. Values that may hold secrets are not repeated.
 */
export function readMcpSettings(input: unknown): McpSettings {
  if (typeof input === 'object' && input !== null && Object.hasOwn(input, READ))
    return input as McpSettings;
  const fields = new FieldReader(usualForm(input));
  const given = fields.raw('servers', 'mcp_servers', 'context_servers', 'amp.mcpServers');
  const inputs = fields.raw('inputs');
  const enabled =
    fields.read(flag, 'enabled') ??
    (inputs !== undefined || (given !== undefined && given.name !== 'servers'));
  for (const id of Array.isArray(inputs?.value)
    ? (inputs.value as unknown[]).map((each) => (isPlainObject(each) ? each['id'] : undefined))
    : []) {
    if (typeof id === 'string')
      fields.warn(
        expectedGot(
          'values from the environment',
          `the input ${describeValue(id)}`,
          `Set the variable ${inputVariable(id)}.`,
        ),
        'inputs',
      );
  }
  const filters = readFilters(fields);
  const defaultServer = fields.read(anyText, 'default_server');
  const defaults: ServerDefaults = {
    timeoutMs: 30_000,
    healthCheckIntervalMs: 300_000,
    maxTools: 1_000,
    ...readLimits(fields),
    overrides: readOverrides(fields),
  };
  fields.warnOfUnknown(FOREIGN_TOP_KEYS);

  const servers = readServers(fields, given?.name ?? 'servers', given?.value ?? {}, defaults).map(
    (server) => ({ ...server, signature: digestOf({ ...server, global: filters }) }),
  );
  if (defaultServer && !fields.hasFaults && !servers.some(({ name }) => name === defaultServer)) {
    fields.fault(
      expectedGot(
        'the name of a server that is configured and not switched off',
        JSON.stringify(defaultServer),
      ),
      'default_server',
    );
  }
  if (fields.hasFaults)
    throw refusal('The settings of MCP are refused', [...fields.issues, ...fields.warnings]);
  const settings = {
    ...cloneFrozen({
      enabled,
      servers,
      ...filters,
      ...(defaultServer ? { defaultServer } : {}),
      warnings: fields.warnings,
    }),
  };
  return Object.freeze(Object.defineProperty(settings, READ, { value: true }));
}

/** One server's settings before its signature. */
type UnsignedServer = Omit<McpServerSettings, 'signature'>;
/** The settings that a server falls back to. */
type ServerDefaults = Pick<
  McpServerSettings,
  'timeoutMs' | 'healthCheckIntervalMs' | 'maxTools' | 'overrides'
>;

function readServers(
  fields: FieldReader,
  key: string,
  given: unknown,
  defaults: ServerDefaults,
): readonly UnsignedServer[] {
  if (!isPlainObject(given)) {
    fields.fault(
      expectedGot(
        'an object of servers by name',
        Array.isArray(given) ? describeValue(given) : kindOf(given),
      ),
      key,
    );
    return [];
  }
  const taken = new Set<string>();
  const servers: UnsignedServer[] = [];
  for (const [written, settings] of Object.entries(given)) {
    const name = serverNameOf(written);
    if (name !== written.trim())
      fields.warn(
        expectedGot(
          'a server name of 1 to 64 letters, digits, underscores and hyphens (no dots)',
          'another',
          `It is called ${name}.`,
        ),
        key,
        written,
      );
    if (taken.has(name))
      fields.fault(
        expectedGot(
          'server names that differ in letters, digits, underscores and hyphens',
          `${JSON.stringify(name)} twice`,
          'Rename one.',
        ),
        key,
        written,
      );
    taken.add(name);
    const server = readServer(name, fields.inner(unwrapped(settings), key, written), defaults);
    if (server !== undefined) servers.push(server);
  }
  return servers.sort((a, b) => compareText(a.name, b.name));
}

/** Reads one server; `undefined` for one that is switched off or not usable. */
function readServer(
  name: string,
  fields: FieldReader,
  defaults: ServerDefaults,
): UnsignedServer | undefined {
  if (fields.hasFaults) return undefined;
  const isOff = [
    fields.read(flag, 'enabled') === false,
    fields.read(flag, 'disabled') === true,
  ].includes(true);
  if (fields.raw('source')?.value === 'extension' || BUILT_IN.has(fields.raw('type')?.value)) {
    fields.warn(
      'Expected a server with a command or a url, got one of an extension or of the program itself, which is left out.',
    );
    return undefined;
  }
  const transport = readTransport(fields);
  const limits = readLimits(fields);
  const filters = readFilters(
    fields,
    ['include_tools', 'enabled_tools', 'available_tools'],
    ['exclude_tools', 'disabled_tools'],
  );
  const personas = without({
    persona: fields.read(label, 'persona'),
    personaAllowlist: fields.read(names, 'persona_allowlist'),
  });
  const [trusted, resources, prompts] = ['trusted', 'resources', 'prompts'].map(
    (key) => fields.read(flag, key) ?? false,
  ) as [boolean, boolean, boolean];
  const overrides = {
    ...defaults.overrides,
    ...readOverrides(fields),
    ...without({ idempotencyKey: fields.read(flagOrNeed, 'idempotency_key') }),
  };
  for (const contradiction of contradictionsIn({
    name,
    description: name,
    ...overrides,
    sideEffects: [...(overrides.sideEffects ?? [])],
  }))
    fields.fault(contradiction);
  const tools = readToolSettings(fields, overrides);
  const autoApprove = readApprovals(fields);
  const auth = readAuth(fields);
  fields.warnOfUnknown(FOREIGN_SERVER_KEYS);
  if (transport === undefined || isOff) return undefined;
  return {
    ...defaults,
    ...limits,
    ...filters,
    ...personas,
    name,
    transport,
    trusted,
    resources,
    prompts,
    overrides,
    tools,
    autoApprove,
    ...without({ auth }),
  };
}

function readLimits(fields: FieldReader): Partial<ServerDefaults> {
  return without({
    maxTools: fields.read(countUpTo(MOST_TOOLS), 'max_tools'),
    timeoutMs: fields.read(duration, 'timeout_seconds', 'timeout', 'timeoutMs', 'tool_timeout_sec'),
    healthCheckIntervalMs: fields.read(duration, 'health_check_interval', 'healthCheckIntervalMs'),
  });
}

/** Reads the lists of tools. @param allow @param deny their names in the files of other programs. */
function readFilters(
  fields: FieldReader,
  allow: readonly string[] = [],
  deny: readonly string[] = [],
): Pick<McpSettings, 'allowTools' | 'denyTools'> {
  return {
    ...without({ allowTools: fields.read(names, 'allow_tools', ...allow) }),
    denyTools: fields.read(names, 'deny_tools', ...deny) ?? [],
  };
}

/** Reads credentials, which may be described in an `auth` of their own, beside it, or both; scopes of both count. */
function readAuth(fields: FieldReader): McpServerAuth | undefined {
  const own = fields.raw('auth', 'authentication');
  const inner = fields.inner(own === undefined ? {} : own.value, own?.name ?? 'auth');
  const beside = [
    fields.read(flag, 'auth_required'),
    fields.read(label, 'auth_type'),
    fields.read(scopes, 'scopes', 'scope'),
    fields.read(variableNames, 'auth_env'),
  ] as const;
  const required = inner.read(flag, 'required') ?? beside[0];
  const type = inner.read(label, 'type', 'scheme') ?? beside[1];
  const allScopes = [
    ...new Set([...(inner.read(scopes, 'scopes', 'scope') ?? []), ...(beside[2] ?? [])]),
  ];
  const env = inner.read(variableNames, 'env') ?? beside[3] ?? {};
  inner.warnOfUnknown();
  if (
    required === undefined &&
    type === undefined &&
    allScopes.length === 0 &&
    Object.keys(env).length === 0
  )
    return undefined;
  return { ...without({ required, type }), scopes: allScopes, env };
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;

/** Reads variables that hold credentials. Only names: the credential itself may stand there, which must not travel. */
const variableNames: Parser<Readonly<Record<string, string>>> = (value) => {
  const named = typeof value === 'string' ? { [value.trim()]: value.trim() } : value;
  const fits =
    isPlainObject(named) &&
    Object.entries(named).every(
      ([name, variable]) =>
        VARIABLE.test(name) && typeof variable === 'string' && VARIABLE.test(variable.trim()),
    );
  if (!fits)
    return { secret: true, expected: 'the name of a variable, or an object {"label": "VARIABLE"}' };
  return {
    value: Object.fromEntries(
      Object.entries(named).map(([name, variable]) => [name, (variable as string).trim()]),
    ),
  };
};

const anyText: Parser<string> = (value) =>
  typeof value === 'string' ? { value: value.trim() } : { expected: 'a text' };

/** Reads true or false, or an object of manifests that says it as `required`. */
const flagOrNeed: Parser<boolean> = (value) => {
  if (!isPlainObject(value)) return flag(value);
  return Object.hasOwn(value, 'required')
    ? flag(value['required'])
    : { expected: 'true or false, or an object with "required"' };
};
