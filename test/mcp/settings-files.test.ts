import { describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { expandVariables } from '../../src/mcp/settings/transport-settings.js';
import { readMcpSettings } from '../../src/mcp/settings/read-mcp-settings.js';

/** A settings file for each client, as its documentation describes it. */
const FILES: readonly (readonly [
  client: string,
  file: object,
  servers: readonly object[],
  warnings: readonly RegExp[],
])[] = [
  [
    'Claude Desktop',
    {
      globalShortcut: '',
      mcpServers: { files: { command: 'npx', args: ['-y', 'server'], env: { KEY: 'x' } } },
    },
    [{ name: 'files', transport: { kind: 'stdio' } }],
    [],
  ],
  [
    'Claude Code',
    {
      mcpServers: {
        api: {
          type: 'http',
          url: '${API:-https://x.example}/mcp',
          headers: { Authorization: 'Bearer ${KEY}' },
          oauth: { clientId: 'a', callbackPort: 80 },
          timeout: 600_000,
          alwaysLoad: true,
        },
      },
    },
    [
      {
        transport: { kind: 'http', oauth: { clientId: 'a', callbackPort: 80 } },
        timeoutMs: 600_000,
      },
    ],
    [],
  ],
  [
    'VS Code',
    {
      inputs: [{ type: 'promptString', id: 'api-key', description: 'Key', password: true }],
      servers: {
        'io.github.x/y': {
          type: 'stdio',
          command: 'npx',
          args: ['y'],
          env: { KEY: '${input:api-key}' },
          envFile: '${workspaceFolder}/.env',
          dev: { watch: '*' },
          sandboxEnabled: true,
          gallery: true,
          version: '1.0.0',
        },
      },
    },
    [{ name: 'io-github-x-y', transport: { env: { KEY: '${input:api-key}' } } }],
    [/is called io-github-x-y/],
  ],
  [
    'Copilot',
    { mcpServers: { a: { type: 'local', command: 'npx', args: ['y'], tools: ['read_*'] } } },
    [{ allowTools: ['read_*'] }],
    [],
  ],
  [
    'Roo Code',
    {
      mcpServers: {
        a: {
          type: 'streamable-http',
          url: 'https://x.example',
          alwaysAllow: ['a'],
          disabledTools: ['b'],
          disabled: false,
          timeout: 3_600,
          watchPaths: ['/x'],
        },
      },
    },
    [{ transport: { kind: 'http' }, timeoutMs: 3_600_000, denyTools: ['b'] }],
    [/^a: Approvals for tools .* are ignored/],
  ],
  [
    'Windsurf',
    {
      mcpServers: {
        a: { serverUrl: 'https://x.example', headers: { K: '${env:K}' }, disabledTools: ['b'] },
      },
    },
    [{ transport: { kind: 'http' }, denyTools: ['b'] }],
    [],
  ],
  [
    'Gemini CLI',
    {
      mcp: { allowed: ['a'] },
      theme: 'Dark',
      mcpServers: {
        a: {
          httpUrl: 'https://x.example',
          timeout: 30_000,
          trust: true,
          includeTools: ['a'],
          excludeTools: ['b'],
          description: 'x',
        },
        b: { command: 'x' },
      },
    },
    [{ timeoutMs: 30_000, allowTools: ['a'], denyTools: ['b'] }],
    [/^a: Approvals for tools .* are ignored/],
  ],
  [
    'Gemini CLI (sections)',
    {
      general: { vimMode: true },
      ui: { theme: 'GitHub' },
      tools: { sandbox: 'docker', core: ['read_file'] },
      version: 2,
      mcp: { excluded: ['old'] },
      mcpServers: {
        api: { httpUrl: 'https://x.example', authProviderType: 'google_credentials' },
        local: { command: 'python', args: ['server.py'], env: { KEY: '$MY_KEY' } },
        old: { command: 'python' },
      },
    },
    [{ name: 'api' }, { name: 'local', transport: { env: { KEY: '$MY_KEY' } } }],
    [
      /^api: "authProviderType" isn't used here/,
      /^local\.env\.KEY: A variable without braces is passed on as written/,
    ],
  ],
  [
    'VS Code (settings.json)',
    {
      'editor.fontSize': 14,
      'chat.tools.autoApprove': false,
      mcp: {
        inputs: [{ type: 'promptString', id: 'token', description: 'Token', password: true }],
        servers: {
          github: {
            type: 'http',
            url: 'https://x.example/mcp',
            headers: { Authorization: 'Bearer ${input:token}' },
          },
        },
      },
    },
    [{ name: 'github', transport: { kind: 'http' } }],
    [],
  ],
  [
    'VS Code (mcp.json without inputs)',
    { servers: { memory: { command: 'npx', args: ['-y', 'memory-server'] } } },
    [{ name: 'memory', transport: { kind: 'stdio' } }],
    [],
  ],
  [
    'Zed',
    {
      theme: 'One Dark',
      agent: { default_profile: 'write' },
      context_servers: {
        local: { source: 'custom', enabled: true, command: 'npx', args: ['-y', 'x'], env: {} },
        before: { command: { path: 'node', args: ['x.js'], env: { A: 'b' } }, settings: {} },
        remote: { url: 'https://x.example/mcp', headers: { Authorization: 'Bearer x' } },
        extension: { source: 'extension', settings: { key: 'x' } },
      },
    },
    [
      { name: 'before', transport: { command: 'node', args: ['x.js'], env: { A: 'b' } } },
      { name: 'local', transport: { command: 'npx', args: ['-y', 'x'] } },
      { name: 'remote', transport: { kind: 'http' } },
    ],
    [/^extension: Set a command or a url/],
  ],
  [
    'opencode',
    {
      $schema: 'https://opencode.ai/config.json',
      model: 'x/y',
      mcp: {
        local: {
          type: 'local',
          command: ['npx', '-y', 'x'],
          environment: { KEY: '{env:MY_KEY}' },
          enabled: true,
          timeout: 3_000,
        },
        remote: { type: 'remote', url: 'https://x.example/mcp', oauth: false },
        off: { type: 'local', command: ['x'], enabled: false },
      },
    },
    [
      {
        name: 'local',
        timeoutMs: 3_000,
        transport: { command: 'npx', args: ['-y', 'x'], env: { KEY: '${env:MY_KEY}' } },
      },
      { name: 'remote', transport: { kind: 'http' } },
    ],
    [],
  ],
  [
    'opencode 2',
    {
      mcp: {
        servers: {
          local: {
            type: 'local',
            command: ['npx', 'x'],
            cwd: '.',
            timeout: { startup: 5_000, request: 9_000 },
          },
          off: { type: 'local', command: ['x'], disabled: true },
        },
      },
    },
    [{ name: 'local', timeoutMs: 9_000, startupTimeoutMs: 5_000 }],
    [],
  ],
  [
    'Cursor',
    {
      mcpServers: {
        local: {
          type: 'stdio',
          command: 'python',
          args: ['${workspaceFolder}${pathSeparator}server.py'],
          envFile: '${workspaceFolder}/.env',
        },
        api: {
          url: 'https://x.example/mcp',
          auth: { CLIENT_ID: '${env:ID}', CLIENT_SECRET: '${env:SECRET}', scopes: ['read'] },
        },
      },
    },
    [
      { name: 'api', transport: { kind: 'http' } },
      { name: 'local', transport: { kind: 'stdio' } },
    ],
    [/^api\.auth: "CLIENT_ID" isn't used here/, /^api\.auth: "CLIENT_SECRET" isn't used here/],
  ],
  [
    'Claude Code (helpers)',
    {
      mcpServers: {
        api: { type: 'http', url: 'https://x.example/mcp', headersHelper: '/bin/headers.sh' },
        ws: { type: 'ws', url: 'wss://x.example/mcp' },
      },
    },
    [{ name: 'api' }, { name: 'ws', transport: { kind: 'websocket' } }],
    [/^api: "headersHelper" isn't used here/],
  ],
  [
    'Cline',
    {
      mcpServers: {
        local: {
          command: 'node',
          args: ['server.js'],
          alwaysAllow: ['a'],
          autoApprove: ['b'],
          disabled: false,
        },
        old: { url: 'https://x.example/sse', disabled: false },
      },
    },
    [{ name: 'local' }, { name: 'old', transport: { kind: 'http', mayBeSse: true } }],
    [/^local: Approvals for tools .* are ignored/],
  ],
  [
    'Kiro',
    {
      mcpServers: {
        web: {
          command: 'uvx',
          args: ['x'],
          env: { KEY: '${KEY}' },
          disabled: false,
          autoApprove: [],
          disabledTools: ['delete'],
        },
      },
    },
    [{ name: 'web', denyTools: ['delete'] }],
    [],
  ],
];

it.each(FILES)(
  'the settings file of %s can be read, and every unsupported setting is reported',
  (_, file, servers, warnings) => {
    const settings = readMcpSettings(file);
    expect(settings.enabled).toBe(true);
    expect(settings.servers).toMatchObject(servers);
    const messages = settings.warnings.map(
      ({ path, message }) => `${path.slice(path.length > 1 ? 1 : 0).join('.')}: ${message}`,
    );
    expect(messages).toHaveLength(warnings.length);
    for (const expected of warnings)
      expect(messages).toContainEqual(expect.stringMatching(expected));
  },
);

it('the table in docs/mcp.md has a row for each of these programs', () => {
  const table = readFileSync('docs/mcp.md', 'utf8');
  const programs = new Set(FILES.map(([program]) => program.replace(/ (?:\(.*|\d)$/, '')));
  for (const program of programs) expect(table).toContain(`| ${program}`);
});

describe('settings that are not ours', () => {
  const warningsOf = (server: object) =>
    readMcpSettings({ mcpServers: { s: { command: 'x', ...server } } }).warnings.map(
      ({ path, message }) => `${path.slice(2).join('.')}: ${message}`,
    );

  it.each([
    [{ _comment: 'mine' }, ': "_comment" isn\'t used here.'],
    [{ '//': 'mine' }, ': "//" isn\'t used here.'],
    [{ restart_policy: 'always' }, ': "restart_policy" isn\'t used here.'],
  ])('are warnings that quote the name as written: %o', (server, message) => {
    const { servers } = readMcpSettings({ mcpServers: { s: { command: 'x', ...server } } });
    expect(servers).toHaveLength(1);
    expect(warningsOf(server)).toEqual([message]);
  });

  it.each([
    ['comand', '"command"'],
    ['allow_tool', '"allow_tools"'],
    ['denytools', '"denyTools"'],
    ['exlcude_tools', '"exclude_tools"'],
  ])('keep a server from loading if they look like ours: %s', (key, meant) => {
    const { servers, warnings } = readMcpSettings({
      mcpServers: { s: { command: 'x', [key]: ['a'] }, other: { command: 'y' } },
    });
    expect(servers.map(({ name }) => name)).toEqual(['other']);
    expect(warnings.map(({ message }) => message)).toEqual([
      `Expected a known option, got "${key}". Did you mean ${meant}?`,
    ]);
  });

  it('a wrong value is reported at its name as written', () => {
    expect(warningsOf({ startup_timeout_seconds: 'soon' })[0]).toMatch(
      /^startup_timeout_seconds: Expected a number, got "soon"/,
    );
    expect(warningsOf({ access: 'all', danger: 'low' })[0]).toMatch(/^access: Expected one of/);
  });

  it('a file that names no servers says what it contains instead', () => {
    expect(() => readMcpSettings({ theme: 'dark', mcp_server: {} })).toThrow(
      'No servers are named here. Expected one of "mcpServers", "servers", "context_servers", "mcp", found "theme", "mcp_server".',
    );
  });

  it('a file of another program is refused only for a wrong filter of ours', () => {
    const foreign = { mcpServers: { s: { command: 'x' } }, version: 3, category: {}, tools: {} };
    expect(readMcpSettings(foreign).servers).toHaveLength(1);
    expect(() => readMcpSettings({ ...foreign, deny_tools: 5 })).toThrow('deny_tools');
    expect(() => readMcpSettings({ ...foreign, deny_tool: ['x'] })).toThrow('"deny_tools"');
  });

  it.each(['${file:/run/key}', '${workspaceFolder:web}', '${command:x.y}'])(
    'the variable %s is named, and not called an environment variable',
    (text) => {
      const expand = () => expandVariables(text, {});
      expect(expand).toThrow(JSON.stringify(text));
      expect(expand).not.toThrow('environment variable');
    },
  );
});
