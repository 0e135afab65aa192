import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { auditMcpServer, type McpAuditOptions } from '../../../src/audit.js';

/** A server without packages. It lists one tool per environment variable and one per argument. */
const SERVER = `#!/usr/bin/env node
const tools = [...Object.entries(process.env).map(([name, value]) => ({ name: 'env.' + name + '.' + (name === 'HOME' || value === 'audit' || name === 'MODE' ? value.replace(/\\W+/g, '_').slice(0, 60) : '') })), { name: 'cwd' + process.cwd().replace(/\\W+/g, '_') }, ...process.argv.slice(2).map((each) => ({ name: 'argument.' + each, annotations: { readOnlyHint: true, title: 'x' } }))].map((tool) => ({ inputSchema: { type: 'object' }, ...tool }));
let text = '';
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  text += chunk;
  for (let end; (end = text.indexOf('\\n')) >= 0; text = text.slice(end + 1)) {
    const { id, method, params } = JSON.parse(text.slice(0, end));
    const answer = method === 'initialize' ? { result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } } : method === 'tools/list' ? { result: { tools } } : { error: { code: -32601, message: 'unknown' } };
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
  }
});
`;
const LISTING = [
  { name: 'read', annotations: { readOnlyHint: true } },
  { name: 'write', annotations: { readOnlyHint: false, destructiveHint: true } },
  { name: 'quiet' },
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-mcp-'));
  const files = {
    'package.json': '{ "name": "whole", "version": "0.0.1" }',
    'server.mjs': SERVER,
    'node_modules/plain-server/package.json': JSON.stringify({
      name: 'plain-server',
      version: '2.1.0',
      bin: { 'plain-server': 'dist/cli', other: 'dist/other.js' },
    }),
    'node_modules/plain-server/dist/cli': SERVER,
    'node_modules/plain-server/dist/other.js': SERVER,
    'node_modules/@scope/server/package.json': JSON.stringify({
      name: '@scope/server',
      version: '1.0.0',
      main: './main.cjs',
    }),
    'node_modules/@scope/server/main.cjs': SERVER,
    binary: '\u007fELF',
    'node_modules/odd/package.json/x': '',
    'node_modules/odd/index.js': SERVER,
    'node_modules/outside/package.json': '{ "name": "outside", "bin": "../../server.mjs" }',
    'node_modules/garbled/package.json': '{ nothing',
    'node_modules/garbled/index.js': SERVER,
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  mkdirSync(join(folder, 'node_modules/.bin'));
  symlinkSync('../plain-server/dist/cli', join(folder, 'node_modules/.bin/plain-server'));
  for (const file of ['node_modules/plain-server/dist/cli', 'binary'])
    chmodSync(join(folder, file), 0o755);
});

const audit = (server: unknown, options: McpAuditOptions = {}) =>
  auditMcpServer(server, { cwd: folder, ...options });
const subjectOf = async (server: unknown) => {
  const { subject } = await audit(server, { listing: LISTING });
  return [subject.name, subject.version, subject.folder];
};
const PLAIN = ['plain-server', '2.1.0', 'node_modules/plain-server'];

describe('locating the code of an MCP server', () => {
  it.each([
    ['a package name', 'plain-server', PLAIN],
    ['a package name with a version', 'plain-server@2.1.0', PLAIN],
    ['a package name with a tag', 'plain-server@latest', PLAIN],
    ['a folder', './node_modules/plain-server', PLAIN],
    ['an npx command', 'npx -y plain-server --flag', PLAIN],
    [
      'an npx command with a scope and a version',
      'npx --yes @scope/server@^1 "a b"',
      ['@scope/server', '1.0.0', 'node_modules/@scope/server'],
    ],
    ['an npx command that runs another program of the package', 'npx -p plain-server other', PLAIN],
    ['an npm exec command', 'npm exec --package=plain-server -- other', PLAIN],
    ['a pnpm dlx command', 'pnpm dlx plain-server', PLAIN],
    [
      'a node command with a file',
      'node --enable-source-maps node_modules/plain-server/dist/other.js',
      PLAIN,
    ],
    ['a node command with a file of the project', 'node ./server.mjs', ['whole', '0.0.1', '.']],
    [
      'a folder whose package.json is invalid',
      './node_modules/garbled',
      ['garbled', undefined, 'node_modules/garbled'],
    ],
    ["a package's program", 'plain-server --flag', PLAIN],
    [
      'settings with one server',
      { mcpServers: { one: { command: 'npx', args: ['-y', 'plain-server'] } } },
      PLAIN,
    ],
  ])(
    "finds the code of a server given as %s, and doesn't start the server if a listing is passed",
    async (_, server, expected) => {
      expect(await subjectOf(server)).toEqual(expected);
    },
  );

  it.each([
    [
      "a package that isn't installed",
      'no-such-server-here',
      /^Expected the package no-such-server-here to be installed, got no installed package with that name\. Nothing is installed without your consent/,
    ],
    [
      'another version',
      'npx plain-server@3.0.0',
      /^Expected the package plain-server@3\.0\.0 to be installed/,
    ],
    ['npx without a package', 'npx -y --', /^Expected a package after npx/],
    ['a package that is a URL', 'npx git+ssh://x/y', /^Expected the name of a package/],
    [
      "a file that doesn't exist",
      'node missing.js',
      /^Expected the code of an MCP server, got nothing at "missing\.js"/,
    ],
    [
      "a program that doesn't exist",
      'no-such-program-here --flag',
      /^Expected the code of an MCP server, got nothing at "no-such-program-here"/,
    ],
    [
      "a program that isn't for Node",
      './binary --flag',
      /^Expected a server made for Node, got the program "\.\/binary"\. Only TypeScript and JavaScript code can be read\.$/,
    ],
    [
      'the URL of a remote server',
      { mcpServers: { one: { url: 'https://mcp.example/x' } } },
      /^Expected a server that is started by a command, got a server over the network/,
    ],
    [
      'settings with several servers',
      { mcpServers: { one: { command: 'a' }, two: { command: 'b' } } },
      /^Expected the name of one of the servers "one", "two", got none/,
    ],
    [
      "a package whose program is outside the package's folder",
      'outside',
      /^Expected the code of an MCP server, got nothing at/,
    ],
    ['a folder above node_modules', 'npx ..', /^Expected the name of a package, got "\.\."/],
    [
      'a package whose package.json is a folder',
      './node_modules/odd',
      /^Expected package\.json as a file, got something else\.$/,
    ],
    ['a device', '/dev/null', /^Expected the code of an MCP server, got nothing at "\/dev\/null"/],
    ['blank text', ' ', /^Expected an MCP server/],
  ])('rejects a server given as %s', async (_, server, message) => {
    await expect(audit(server, { listing: LISTING })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(message) as string,
    });
  });

  it('the name option selects one server from settings that contain several', async () => {
    const settings = {
      mcpServers: {
        one: { command: 'node', args: ['server.mjs'] },
        two: { command: 'plain-server' },
      },
    };
    expect((await audit(settings, { name: 'two', listing: LISTING })).subject.name).toBe(
      'plain-server',
    );
  });
});

describe('tool declarations of an MCP server', () => {
  it.each([
    ['a list', LISTING],
    ['a tools/list result', { tools: LISTING }],
    ['a JSON-RPC response', { jsonrpc: '2.0', id: 1, result: { tools: LISTING } }],
  ])('are read from a listing given as %s', async (_, listing) => {
    const { tools } = await audit('plain-server', { listing });
    expect(tools.map(({ name, declared }) => [name, declared])).toEqual([
      ['read', { readOnly: true }],
      ['write', { readOnly: false, destructive: true }],
      ['quiet', {}],
    ]);
  });

  it('a listing of the wrong type is rejected, and invalid or duplicate tools in a listing are skipped', async () => {
    await expect(audit('plain-server', { listing: 'tools' })).rejects.toThrow(
      'Expected the result of tools/list',
    );
    const { tools, skipped } = await audit('plain-server', {
      listing: [...LISTING, LISTING[0], { title: 'x' }, 7, { name: { toString: 'x' } }],
    });
    expect([tools.length, skipped.map(({ name }) => name)]).toEqual([
      3,
      ['read', 'tools/list', 'tools/list', 'tools/list'],
    ]);
  });

  it("a server that the audit starts to list its tools gets an empty home folder and none of this process's environment variables", async () => {
    process.env['SOME_API_KEY'] = 'secret';
    const told: string[] = [];
    const { tools } = await audit('npx -y plain-server --flag', {
      onProgress: (doing) => told.push(doing),
    });
    delete process.env['SOME_API_KEY'];
    const names = tools.map(({ name }) => name);
    expect(names).toContain('argument.--flag');
    expect(names).not.toContain('env.SOME_API_KEY.');
    expect(
      names
        .filter((name) => /^env\.(?!(?:PATH|LOGNAME|SHELL|TERM|USER)\.|__CF)/.test(name))
        .map((name) => name.split('.')[1])
        .sort(),
    ).toEqual(['HOME', 'TEMP', 'TMP', 'TMPDIR', 'USERPROFILE']);
    const home = names.find((name) => name.startsWith('env.HOME.'))!;
    expect(home).toContain('tooldex_audit_');
    expect(names.find((name) => name.startsWith('cwd'))).toContain('tooldex_audit_');
    expect(told[0]).toBe(
      'starting plain-server/dist/cli to list its tools, without keys and with an empty home',
    );
    expect(tools.find(({ name }) => name === 'argument.--flag')!.declared).toEqual({
      readOnly: true,
    });
  });

  it('a server that the audit starts to list its tools gets the variables from its settings, except for possible keys', async () => {
    const env = {
      MODE: 'fast',
      SERVICE_TOKEN: 'real',
      OTHER: '${HOME_OF_KEYS}',
      PERSONAL: `ghp_${'a1'.repeat(18)}`,
    };
    const { tools } = await audit(
      {
        mcpServers: {
          one: {
            command: 'node',
            args: [
              'server.mjs',
              '${ARGUMENT}',
              '--api-key',
              'real',
              '--token=real',
              'postgres://me:real@host/x',
            ],
            env,
          },
        },
      },
      { env: { GIVEN: 'audit' } },
    );
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'env.MODE.fast',
        'env.SERVICE_TOKEN.audit',
        'env.OTHER.audit',
        'env.GIVEN.audit',
        'env.PERSONAL.audit',
        'argument.audit',
        'argument.--token=audit',
        'argument.postgres://me:audit@host/x',
      ]),
    );
    expect(names.join(' ')).not.toContain('real');
  });

  it('the error for a server that exits without answering contains advice', async () => {
    writeFileSync(
      join(folder, 'ends.mjs'),
      "console.error('API_KEY is missing'); process.exit(1);",
    );
    await expect(audit('node ends.mjs')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(
        /^Expected a server that lists its tools, got [^]*--listing <file>\.$/,
      ) as string,
    });
  });
});

it.each([
  'no-such-server-here@1&calc',
  'no-such-server-here@git+ssh://x/y',
  'no-such-server-here@file:..',
])('the audit never installs a URL, a path, or shell text as a package: %s', async (spec) => {
  await expect(audit(`npx ${spec}`, { install: true, listing: LISTING })).rejects.toThrow(
    /^Expected (?:a package with a version or a tag, to be installed|the name of a package), got/,
  );
});
