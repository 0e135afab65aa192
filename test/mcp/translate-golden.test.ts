import { describe, expect, it } from 'vitest';
import type { McpServerSettings } from '../../src/mcp/settings/read-mcp-settings.js';
import { readMcpSettings } from '../../src/mcp/settings/read-mcp-settings.js';
import { translateListing } from '../../src/mcp/discovery/tool-table.js';
import { translateMcpTool } from '../../src/mcp/translate/translate-mcp-tool.js';
import { golden, present, warnIfAbsent } from '../capability/manifest-tree.js';

// Recorded behaviour of the system whose translation of MCP tools this one started from. Where it loses tools or lets
// more through than was configured, ours differs, and the reason is written beside the case.
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
/** The recorder had no transports; ours must have one. */
const reachable = { command: 'run' };

/** Our options in the words of the recorded entries. */
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

/** What is another on purpose: the fields that differ, or `refused` for a server that is not loaded. */
const DIFFERENT: Readonly<Record<string, Fields | 'refused'>> = {
  // A time below 0 is a mistake; it was read as if nothing were written.
  timeouts_negative: 'refused',
  // The form is read, and what it says is one of our two values.
  overrides: { idempotency_key: true },
  // Side effects nobody knows made every tool of the server invalid, later and silently.
  bad_side_effects: 'refused',
  // The mapping was copied and then refused by the schema, and the tool with it. Ours names the variable.
  auth_env_mapping: { auth: { required: true, env: { MCP_TOKEN: 'required' } } },
  // A single variable was dropped.
  auth_env_string_dropped: { auth: { required: false, env: { MCP_TOKEN: 'optional' } } },
  // "yes" is yes here as for the other flags; there it made the tool invalid.
  idempotency_string: { idempotency_key: true },
  // Blanks and slashes are not allowed in names of tools; the call has the name as the server wrote it.
  name_trim: {
    name: 'mcp.srv.a_x20_b_x2f_c',
    providers: [{ name: 'mcp', config: { server: 'srv', tool: '  a b/c  ' } }],
  },
  // A text fell into characters.
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

/** What a recorded server's settings are here; `refused` with the reason beside it. */
const SERVERS: readonly (Fields | 'refused')[] = [
  // Nothing to start became a program without a name.
  'refused',
  {
    transport: { kind: 'websocket', url: 'wss://x', headers: {} },
    timeoutMs: 5_000,
    healthCheckIntervalMs: 300_000,
  },
  // Two transports nobody knew became stdio, and started nothing.
  { transport: { kind: 'sse', url: 'http://x', headers: {} }, timeoutMs: 30_000 },
  { transport: { kind: 'http', url: 'http://x', headers: {} }, timeoutMs: 30_000 },
  // A time below 0, see above.
  'refused',
  // What is no object was taken for an empty one.
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

/** Which tools are there, where they are others than recorded. */
const LISTED: Readonly<Record<string, readonly string[]>> = {
  // The server's list stood in for the one for all; both must allow.
  server_allow_overrides_global: [],
  // A server's deny list switched off the one for all.
  server_deny_overrides_global_deny: ['mcp.s.beta'],
  // An empty allow list allowed everything.
  empty_allow_list_falls_through: [],
  // A text instead of a list allowed everything.
  allow_as_string_ignored: ['mcp.s.alpha'],
  // A wrong server no longer takes its neighbour down.
  invalid_schema_dropped: ['mcp.u.b'],
  // One name, one tool.
  dup_tool_names: ['mcp.s.a'],
};

const cases = casesOf<Discovery>('mcp_discovery').filter(({ settings }) => settings !== undefined);

it.each(cases.map((each) => [each.name, each] as const))(
  'in the case %s, the filter allows the recorded tools, except for known differences',
  (name, { settings: given, tools_by_server, output }) => {
    const listed = () => {
      const servers = Object.fromEntries(
        Object.entries(given!.servers).map(([server, config]) => [
          server,
          { ...reachable, ...config },
        ]),
      );
      const settings = readMcpSettings({ ...given, servers });
      if (!settings.enabled) return [];
      return settings.servers.flatMap((server) => {
        const tools = tools_by_server[server.name];
        return Array.isArray(tools)
          ? translateListing(tools, server, settings).tools.map(
              (tool) => `${tool.name}${server.persona === undefined ? '' : `@${server.persona}`}`,
            )
          : [];
      });
    };
    const expected = Object.hasOwn(LISTED, name)
      ? LISTED[name]!
      : output.all.filter((tool) => tool !== 'shared_tool');
    expect(listed()).toEqual(expected);
  },
);
