import { describe, expect, it } from 'vitest';
import { isToolError, issuesOf, type Issue } from '../../src/core/errors.js';
import { expandTransport, expandVariables } from '../../src/mcp/settings/transport-settings.js';
import { isAllowed } from '../../src/mcp/translate/tool-names.js';
import { readMcpSettings } from '../../src/mcp/settings/read-mcp-settings.js';

const withServer = (server: object, global: object = {}) =>
  readMcpSettings({ enabled: true, ...global, servers: { s: { command: 'run', ...server } } });
const serverOf = (server: object, global: object = {}) => withServer(server, global).servers[0]!;
const transportOf = (server: object) =>
  readMcpSettings({ servers: { s: server } }).servers[0]!.transport;

/** The issues in the whole file, or in servers that aren't loaded because of them. */
function issuesIn(input: unknown): readonly string[] {
  const shown = (issues: readonly Issue[]) =>
    issues.map(({ path, message }) => `${path.join('/')}: ${message}`);
  try {
    return shown(readMcpSettings(input).warnings);
  } catch (error) {
    if (!isToolError(error, 'INVALID_ARGUMENT')) throw error;
    return shown(issuesOf(error));
  }
}

it('empty settings are disabled and have no servers', () => {
  expect(readMcpSettings({})).toEqual({
    enabled: false,
    servers: [],
    denyTools: [],
    include: [],
    warnings: [],
  });
});

it('settings have the documented defaults', () => {
  expect(withServer({})).toMatchObject({
    enabled: true,
    servers: [
      {
        name: 's',
        transport: { kind: 'stdio', command: 'run', args: [], env: {} },
        timeoutMs: 30_000,
        healthCheckIntervalMs: 300_000,
        denyTools: [],
        trusted: false,
        overrides: {},
      },
    ],
    denyTools: [],
  });
});

it('settings in snake_case and camelCase have the same meaning', () => {
  const wire = readMcpSettings({
    enabled: true,
    timeout_seconds: 5,
    health_check_interval: 60,
    allow_tools: 'a, b,,',
    deny_tools: ['c'],
    default_server: 's',
    requires_consent: 'no',
    servers: {
      s: {
        url: 'https://x.example/mcp',
        side_effects: 'write',
        allow_parallel: true,
        idempotency_key: true,
        access_mode: 'write',
        danger_level: 'medium',
        auth_required: true,
        auth_env: 'TOKEN',
      },
    },
  });
  const code = readMcpSettings({
    enabled: true,
    timeoutSeconds: 5,
    healthCheckInterval: 60,
    allowTools: ['a', 'b'],
    denyTools: ['c'],
    defaultServer: 's',
    requiresConsent: false,
    servers: {
      s: {
        url: 'https://x.example/mcp',
        sideEffects: ['write'],
        allowParallel: true,
        idempotencyKey: true,
        accessMode: 'write',
        dangerLevel: 'medium',
        authRequired: true,
        authEnv: { TOKEN: 'TOKEN' },
      },
    },
  });
  expect(code).toEqual(wire);
  expect(wire.servers[0]).toMatchObject({
    timeoutMs: 5_000,
    overrides: { requiresConsent: false, sideEffects: ['write'], idempotencyKey: true },
    auth: { required: true, scopes: [], env: { TOKEN: 'TOKEN' } },
  });
});

it("a server's own settings override the settings for all servers", () => {
  expect(
    serverOf(
      { timeout: '7', requires_consent: false },
      { timeout_seconds: 5, requires_consent: true, side_effects: 'write' },
    ),
  ).toMatchObject({
    timeoutMs: 7_000,
    overrides: { requiresConsent: false, sideEffects: ['write'] },
  });
});

it.each([
  [{ command: 'x' }, 'stdio'],
  [{ url: 'http://x' }, 'http'],
  [{ type: 'streamableHttp', url: 'http://x' }, 'http'],
  [{ transport: 'sse', url: 'https://x' }, 'sse'],
  [{ type: 'ws', url: '${ADDRESS}' }, 'websocket'],
])('settings %o select the transport %s', (server, kind) => {
  expect(transportOf(server).kind).toBe(kind);
});

it('a string of arguments is split at spaces outside quotes', () => {
  expect(transportOf({ command: 'x', args: `--a 'b c' "" d"e f"` })).toMatchObject({
    args: ['--a', 'b c', '', 'de f'],
  });
});

it('an invalid global setting invalidates the whole file, because a misspelled filter would allow too much', () => {
  for (const wrong of [
    { enabled: 'perhaps' },
    { deny_tools: 5 },
    { deny_tool: ['x'] },
    { timeout_seconds: -1 },
    { servers: [] },
  ])
    expect(() => readMcpSettings({ servers: {}, ...wrong })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  expect(issuesIn({ enabled: 'perhaps' })).toEqual([
    'enabled: Expected true or false, got "perhaps".',
  ]);
  expect(issuesIn({ servers: {}, deny_tool: ['x'] })).toEqual([
    'deny_tool: Expected a known option, got "deny_tool". Did you mean "deny_tools"?',
  ]);
  expect(readMcpSettings({ mcpServers: {}, globalShortcut: 'F2', projects: {} }).warnings).toEqual(
    [],
  );
});

it("a server with an invalid setting isn't loaded, the setting's path is reported, and other servers load", () => {
  const settings = readMcpSettings({
    servers: {
      'a.b': { command: 'x' },
      c: { transport: 'carrier-pigeon', url: 'http://x' },
      d: { command: 'x', arg: 'y' },
      f: { command: 5 },
      h: { command: 'x', disabled: true },
    },
  });
  expect(settings.servers.map(({ name }) => name)).toEqual(['a-b']);
  expect(settings.warnings.map(({ path, message }) => `${path.join('/')}: ${message}`)).toEqual([
    'servers/a.b: A server name has 1 to 64 letters, digits, underscores and hyphens (no dots). This server is called a-b.',
    'servers/c/transport: Expected one of "stdio", "http", "sse", "websocket", got "carrier-pigeon".',
    'servers/d: Expected a known option, got "arg". Did you mean "args"?',
    expect.stringMatching(/^servers\/f\/command: Expected non-blank text .*, got a number\.$/),
  ]);
});

it.each<[string, object]>([
  ['two spellings of one setting', { allow_tools: ['a'], allowTools: ['a'] }],
  ['an unknown side effect', { side_effects: 'logging' }],
  ['both none and another side effect', { side_effects: ['none', 'write'] }],
  ['a credential instead of a variable name', { auth: { env: 'sk-live-1234567890' } }],
  ['a variable with a line break', { env: { A: 'b\nC=d' } }],
])('a server with %s is rejected', (_, server) => {
  const settings = readMcpSettings({ servers: { s: { command: 'run', ...server } } });
  expect([settings.servers, settings.warnings.length > 0]).toEqual([[], true]);
});

it.each<[string, object]>([
  ['a file URL', { url: 'file:///etc/passwd' }],
  ['a password in the URL', { url: 'https://me:geheim@x' }],
  ['a header with a line break', { url: 'http://x', headers: { A: 'b\r\nC: d' } }],
  ['stdio with a URL', { transport: 'stdio', url: 'http://x' }],
])('a server with %s in its transport is rejected', (_, server) => {
  expect(issuesIn({ servers: { s: server } })).toHaveLength(1);
});

it("error messages don't show values that may be secret", () => {
  const secret = 'geheim-4711';
  const servers = [
    { command: { path: [secret] } },
    { command: 'x', env: { A: `${secret}\n` } },
    { url: `nowhere ${secret}` },
    { url: `https://a:${secret}@x` },
    { command: 'x', auth: { env: secret } },
  ];
  for (const server of servers) {
    const issues = issuesIn({ servers: { s: server } });
    expect(issues).not.toEqual([]);
    expect(issues.join()).not.toContain(secret);
  }
});

describe('variables in settings', () => {
  const env = { TOKEN: 't', EMPTY: '', NESTED: '${TOKEN}' };

  it('are replaced once, without nesting', () => {
    expect(
      expandVariables(
        'Bearer ${TOKEN} ${env:TOKEN} ${EMPTY:-a:-b} ${NONE:-} ${NESTED} $TOKEN',
        env,
      ),
    ).toBe('Bearer t t a:-b  ${TOKEN} $TOKEN');
  });

  it.each([
    '${NONE}',
    '${EMPTY}',
    '${constructor}',
    '${__proto__}',
    '${input:key}',
    '${a b}',
    '${}',
  ])("cause an error if they aren't set or are misspelled: %s", (text) => {
    expect(() => expandVariables(text, env)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  it('are replaced everywhere in a transport, whose URL is validated afterwards', () => {
    const { transport } = readMcpSettings({
      servers: { s: { url: '${URL}/mcp', headers: { A: '${H}' } } },
    }).servers[0]!;
    expect(expandTransport(transport, { URL: 'https://x', H: 'v' }).settings).toEqual({
      kind: 'http',
      url: 'https://x/mcp',
      headers: { A: 'v' },
    });
  });
});

it.each<[what: string, tool: string, server: object, global: object, expected: boolean]>([
  ['on a deny list and an allow list', 'a', { deny_tools: ['a'], allow_tools: ['a'] }, {}, false],
  ['on the deny list for all servers', 'a', { allow_tools: ['a'] }, { deny_tools: ['a'] }, false],
  ['on a deny list as text', ' a ', {}, { deny_tools: 'a' }, false],
  ['on every allow list', 'a', { allow_tools: ['a', 'b'] }, { allow_tools: ['a'] }, true],
  ['on one of two allow lists', 'b', { allow_tools: ['a', 'b'] }, { allow_tools: ['a'] }, false],
  ['with an empty allow list', 'a', { allow_tools: [] }, {}, false],
  ['with a blank allow list', 'a', {}, { allow_tools: ' , ' }, false],
  ['on a deny list by its full name', 'a', { deny_tools: ['mcp.s.a'] }, {}, false],
  ['of the same name as a denied one', 'a', { deny_tools: ['mcp.t.a'] }, {}, true],
])('a tool %s: %j with %j and %j is allowed: %j', (_, tool, server, global, expected) => {
  const settings = withServer(server, global);
  expect(isAllowed(tool, settings.servers[0]!, settings)).toBe(expected);
});

it("the full name of another server's tool doesn't allow a tool with the same short name", () => {
  const settings = readMcpSettings({
    enabled: true,
    servers: { '': { command: 'x' }, other: { command: 'x' }, s: { command: 'x' } },
    allow_tools: ['mcp.other.read'],
  });
  const offered = settings.servers.flatMap((server) =>
    ['mcp.other.read', 'other.read', 'read']
      .filter((tool) => isAllowed(tool, server, settings))
      .map((tool) => [server.name, tool]),
  );
  expect(offered).toEqual([['other', 'read']]);
});
