import { describe, expect, it } from 'vitest';
import type { McpServerSettings } from '../../src/mcp/settings/read-mcp-settings.js';
import { readMcpSettings } from '../../src/mcp/settings/read-mcp-settings.js';
import { buildTable, EMPTY_TABLE } from '../../src/mcp/discovery/tool-table.js';
import { translateMcpTool } from '../../src/mcp/translate/translate-mcp-tool.js';
import { golden, present, warnIfAbsent } from '../capability/manifest-tree.js';

// The recorded translation of MCP tools in the recorded system. tooldex differs where the recorded system loses
// tools or allows more than was configured. Each difference has its reason next to the case.
warnIfAbsent('the recorded MCP tools');

type Fields = Readonly<Record<string, unknown>>;
interface Translate {
  readonly name: string;
  readonly tool: Fields;
  readonly server_name: string;
  readonly server_config: Fields;
  readonly defaults: Fields;
  readonly output: Fields;
}
interface Normalise {
  readonly raw: unknown;
  readonly defaults: Fields;
  readonly output: Fields;
}
interface Discovery {
  readonly name: string;
  readonly settings?: {
    readonly enabled: boolean;
    readonly servers: Readonly<Record<string, Fields>>;
  };
  readonly tools_by_server: Readonly<Record<string, readonly unknown[] | string>>;
  readonly output: { readonly all: readonly string[] };
}

const casesOf = <T>(section: string) =>
  present ? golden<{ readonly cases: readonly T[] }>(section).cases : [];
/** The recorded servers had no transport, but tooldex requires one. */
const reachable = { command: 'run' };

/** Returns tooldex's options in the words of the recorded entries. */
function inTheirWords(tool: Fields, server: McpServerSettings): Fields | 'refused' {
  const translated = translateMcpTool(tool, server);
  if ('refused' in translated) return 'refused';
  const {
    name,
    description,
    inputSchema,
    version,
    sideEffects,
    timeoutMs,
    auth,
    allowParallel,
    idempotencyKey,
    requiresConsent,
    providers,
    capabilities = [],
  } = translated.options;
  return {
    name,
    description,
    parameters: inputSchema,
    version,
    side_effects:
      Array.isArray(sideEffects) && sideEffects.length === 1
        ? (sideEffects as readonly unknown[])[0]
        : sideEffects,
    default_timeout: timeoutMs! / 1_000,
    auth,
    allow_parallel: allowParallel,
    idempotency_key: idempotencyKey,
    requires_consent: requiresConsent,
    providers,
    capabilities,
  };
}

/** Intentional differences: the fields that differ, or `refused` for a server that isn't loaded. */
const DIFFERENT: Readonly<Record<string, Fields | 'refused'>> = {
  // A negative timeout is an error. The recorded system ignored it.
  timeouts_negative: 'refused',
  // The value is read, and its scope is converted to one of tooldex's two values.
  overrides: { idempotency_key: true },
  // In the recorded system, unknown side effects silently made every tool of the server invalid.
  bad_side_effects: 'refused',
  // The recorded system copied the mapping, and its schema then refused the tool. tooldex reads the variable's
  // name.
  auth_env_mapping: { auth: { required: true, env: { MCP_TOKEN: 'required' } } },
  // The recorded system dropped a single variable.
  auth_env_string_dropped: { auth: { required: false, env: { MCP_TOKEN: 'optional' } } },
  // "yes" is accepted here as for the other flags. In the recorded system, it made the tool invalid.
  idempotency_string: { idempotency_key: true },
  // Tool names can't contain blanks and slashes. The call uses the name as the server wrote it.
  name_trim: {
    name: 'mcp.srv.a_x20_b_x2f_c',
    providers: [{ name: 'mcp', config: { server: 'srv', tool: '  a b/c  ' } }],
  },
  // The recorded system split the text into characters.
  capabilities_string: { capabilities: ['search'] },
};

it.each(casesOf<Translate>('mcp_translate').map((each) => [each.name, each] as const))(
  'the tool of the case %s is translated as recorded, except for known differences',
  (name, { tool, server_name, server_config, defaults, output }) => {
    const different = Object.hasOwn(DIFFERENT, name) ? DIFFERENT[name]! : {};
    const read = () =>
      readMcpSettings({
        enabled: true,
        ...defaults,
        servers: { [server_name]: { ...reachable, ...server_config } },
      }).servers[0];
    if (different === 'refused') expect(read()).toBeUndefined();
    else expect(inTheirWords(tool, read()!)).toEqual({ ...output, ...different });
  },
);

/** The settings that are read from a recorded server, or `refused`. A comment gives the reason. */
const SERVERS: readonly (Fields | 'refused')[] = [
  // The recorded system turned a missing command into a program without a name.
  'refused',
  {
    transport: { kind: 'websocket', url: 'wss://x', headers: {} },
    timeoutMs: 5_000,
    healthCheckIntervalMs: 300_000,
  },
  // The recorded system turned two unknown transports into stdio, and started nothing.
  { transport: { kind: 'sse', url: 'http://x', headers: {} }, timeoutMs: 30_000 },
  { transport: { kind: 'http', url: 'http://x', headers: {} }, timeoutMs: 30_000 },
  // A negative timeout is an error.
  'refused',
  // The recorded system read a value that isn't an object as an empty object.
  'refused',
];

describe.skipIf(!present)('recorded servers', () => {
  const cases = casesOf<Normalise>('mcp_server_normalise');
  const read = (raw: unknown, defaults: Fields) =>
    readMcpSettings({ enabled: true, ...defaults, servers: { s: raw } }).servers[0];

  it.each(cases.map((each, index) => [JSON.stringify(each.raw), each, SERVERS[index]!] as const))(
    'the settings for the server %s are read as recorded, except for known differences',
    (_, { raw, defaults }, expected) => {
      if (expected === 'refused') expect(read(raw, defaults)).toBeUndefined();
      else expect(read(raw, defaults)).toMatchObject(expected);
    },
  );

  it("a server's arguments and tool lists are read as recorded, and the lists for all servers also apply", () => {
    const { raw, defaults, output } = cases[4]!;
    const { timeout_seconds: _, ...rest } = raw as Fields;
    const settings = readMcpSettings({ enabled: true, ...defaults, servers: { s: rest } });
    expect(settings.servers[0]).toMatchObject({
      transport: {
        kind: 'stdio',
        command: output['command'],
        args: output['args'],
        env: output['env'],
      },
      allowTools: output['allow_tools'],
      denyTools: [],
    });
    expect(settings).toMatchObject({ allowTools: ['g'], denyTools: ['d'] });
  });
});

/** The tools that are listed, in cases where they differ from the recorded tools. */
const LISTED: Readonly<Record<string, readonly string[]>> = {
  // In the recorded system, the server's list replaced the list for all servers. Here, both must allow a tool.
  server_allow_overrides_global: [],
  // In the recorded system, a server's deny list disabled the deny list for all servers.
  server_deny_overrides_global_deny: ['mcp.s.beta'],
  // In the recorded system, an empty allow list allowed everything.
  empty_allow_list_falls_through: [],
  // In the recorded system, text instead of a list allowed everything.
  allow_as_string_ignored: ['mcp.s.alpha'],
  // A server with a wrong tool no longer affects other servers.
  invalid_schema_dropped: ['mcp.u.b'],
  // Only one tool can have a name.
  dup_tool_names: ['mcp.s.a'],
};

const cases = casesOf<Discovery>('mcp_discovery').filter(({ settings }) => settings !== undefined);

it.each(cases.map((each) => [each.name, each] as const))(
  'in the case %s, the filter allows the recorded tools, except for known differences',
  async (name, { settings: given, tools_by_server, output }) => {
    const listed = async () => {
      const servers = Object.fromEntries(
        Object.entries(given!.servers).map(([server, config]) => [
          server,
          { ...reachable, ...config },
        ]),
      );
      const settings = readMcpSettings({ ...given, servers });
      if (!settings.enabled) return [];
      const call = () => Promise.resolve();
      const others = { settings, call, pins: undefined, names: [], ownTools: new Map() };
      const found: string[] = [];
      for (const server of settings.servers) {
        const tools = tools_by_server[server.name];
        const table = await buildTable(Array.isArray(tools) ? tools : [], EMPTY_TABLE, {
          ...{ ...others, server, repeatsInHeaders: false },
        });
        for (const { name: tool } of table.tools.values())
          found.push(server.persona === undefined ? tool : `${tool}@${server.persona}`);
      }
      return found;
    };
    const expected = Object.hasOwn(LISTED, name)
      ? LISTED[name]!
      : output.all.filter((tool) => tool !== 'shared_tool');
    expect(await listed()).toEqual(expected);
  },
);
