import { execFile } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import {
  createMcpServer,
  readMcpSettings,
  type McpDiscovery,
  type McpDiscoveryOptions,
} from '../../src/mcp.js';
import { DEADLINE_MS } from '../programs.js';
import { AuthorizationServer, ProtectedServer } from './servers/authorization-server.js';
import { discover, here } from './servers/start.js';

async function servers() {
  const authorization = await AuthorizationServer.start();
  const protectedServer = await ProtectedServer.start(authorization);
  onTestFinished(() => (authorization.close(), protectedServer.close()));
  return { authorization, server: protectedServer };
}

const newFolder = () => mkdtempSync(join(tmpdir(), 'tooldex-logins-'));

function discoveryOf(
  url: string,
  options: McpDiscoveryOptions = {},
  settings: object = {},
): McpDiscovery {
  const discovery = discover(
    { mcpServers: { tickets: { url, ...settings } } },
    { logins: newFolder(), ...options },
  );
  onTestFinished(() => discovery.close());
  return discovery;
}

/** Acts like the browser of a user who approves: it follows the URL to the login and back. */
const approve = async (address: string) => void (await fetch(address));

const call = async (discovery: McpDiscovery, tool = 'read') =>
  ((await discovery.callTool('tickets', tool, {}, {})) as { value: unknown }).value;

describe('servers that require a login', () => {
  it('report this without prompting anyone, and their tools run after the login', async () => {
    const { authorization, server } = await servers();
    const discovery = discoveryOf(server.url);
    await discovery.refresh();
    expect(discovery.findings()).toMatchObject([
      {
        kind: 'unreachable',
        message: expect.stringContaining(
          'MCP server tickets needs a login, but nobody has logged in. Run `tooldex mcp login tickets`',
        ),
      },
    ]);
    expect(authorization.seen).toEqual([]);
    await discovery.login('tickets', { open: approve });
    expect(discovery.status()).toMatchObject([{ state: 'ready', tools: 2 }]);
    expect(await call(discovery)).toBe('ada');
  });

  it('the stored login can be used by the next program, and only its owner can read the file', async () => {
    const { authorization, server } = await servers();
    const logins = join(newFolder(), 'new');
    await discoveryOf(server.url, { logins }).login('tickets', { open: approve });
    const [file] = readdirSync(logins);
    const path = join(logins, file!);
    expect([
      statSync(path).mode & 0o777,
      statSync(logins).mode & 0o777,
      readFileSync(path, 'utf8').includes([...authorization.access.keys()][0]!),
    ]).toEqual([0o600, 0o700, true]);
    expect(await call(discoveryOf(server.url, { logins }))).toBe('ada');
    expect(await call(discoveryOf(server.url, { logins }))).toBe('ada');
    expect(authorization.asked('/token')).toHaveLength(1);
  });

  it('an expired token is refreshed once for all waiting calls', async () => {
    const { authorization, server } = await servers();
    const discovery = discoveryOf(server.url);
    await discovery.login('tickets', { open: approve });
    for (let time = 0; time < 2; time++) {
      authorization.expire();
      expect(await Promise.all([call(discovery), call(discovery), call(discovery)])).toEqual([
        'ada',
        'ada',
        'ada',
      ]);
    }
    expect(
      authorization.asked('/token').map(({ body }) => new URLSearchParams(body).get('grant_type')),
    ).toEqual(['authorization_code', 'refresh_token', 'refresh_token']);
    expect(authorization.asked('/register')).toHaveLength(1);
  });
});

it.each([['through the mcp provider'], ['without a provider']])(
  'if a login is revoked, the error and the status suggest the login command until the user logs in again (%s)',
  async (way) => {
    const { authorization, server } = await servers();
    const discovery = discoveryOf(server.url, {}, { access: 'readonly', consent: false });
    await discovery.login('tickets', { open: approve });
    const registry = new ToolMetadataRegistry();
    registry.registerAll(discovery.definitions());
    const executor = new ToolExecutor({
      registry,
      ...(way !== 'without a provider' && { providers: { mcp: discovery.provider } }),
    });
    const read = (id: string) => executor.execute({ id, name: 'mcp.tickets.read', input: {} });
    expect(await read('1')).toMatchObject({ status: 'ok' });
    authorization.revoke();
    const advice = expect.stringContaining('Run `tooldex mcp login tickets`');
    expect(await read('2')).toMatchObject({ code: 'TOOL_UNAVAILABLE', message: advice });
    expect(discovery.status()).toMatchObject([{ state: 'backing-off', tools: 2, reason: advice }]);
    await discovery.login('tickets', { open: approve });
    expect(await read('3')).toMatchObject({ status: 'ok' });
    expect(discovery.status()).toMatchObject([{ state: 'ready' }]);
  },
);

it("a login works for this package's own server, and its tools get the principal", async () => {
  const authorization = await AuthorizationServer.start();
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'whoami',
      description: 'Says who calls',
      accessMode: 'readonly',
      dangerLevel: 'safe',
      executionCategory: 'compute',
      inputSchema: z.object({}),
      execute: (_, { principal }) => principal ?? 'nobody',
    }),
  );
  const verify = (token: string) => {
    const granted = authorization.access.get(token);
    return Promise.resolve(
      granted && { principal: granted.user, scopes: granted.scope.split(' ') },
    );
  };
  const server = createMcpServer(registry, {
    verify,
    resource: { authorizationServers: [authorization.origin], scopes: ['tools:use'] },
  });
  onTestFinished(() => (authorization.close(), server.close()));
  const discovery = discoveryOf((await server.serveHttp({ port: 0 })).url);
  await discovery.login('tickets', { open: approve });
  expect(await call(discovery, 'whoami')).toBe('ada');
  expect([...authorization.access.values()]).toMatchObject([{ scope: 'tools:use' }]);
  authorization.expire();
  expect(await call(discovery, 'whoami')).toBe('ada');
});

it('if a call needs more scopes, the next login requests them in addition to the old scopes', async () => {
  const { authorization, server } = await servers();
  const discovery = discoveryOf(server.url);
  await discovery.login('tickets', { open: approve });
  await expect(call(discovery, 'write')).rejects.toThrow(
    'needs a login, but the current login lacks scopes that the server requires. Run `tooldex mcp login tickets`',
  );
  expect(await call(discovery)).toBe('ada');
  await discovery.login('tickets', { open: approve });
  expect(await call(discovery, 'write')).toBe('ada');
  expect(await call(discovery)).toBe('ada');
  expect(authorization.asked('/authorize').map(({ method }) => method)).toHaveLength(2);
});

it('a program with a client secret gets all scopes and sends the secret only to the configured issuer', async () => {
  const { authorization, server } = await servers();
  authorization.secrets.set('robot', 's3cret');
  const oauth = {
    grant: 'client_credentials',
    client_id: 'robot',
    client_secret_env: 'ROBOT',
    issuer: authorization.origin,
  };
  const logins = newFolder();
  const discovery = discoveryOf(server.url, { env: { ROBOT: 's3cret' }, logins }, { oauth });
  expect([await call(discovery), await call(discovery, 'write'), await call(discovery)]).toEqual([
    'robot',
    'robot',
    'robot',
  ]);
  expect(authorization.asked('/token')).toHaveLength(2);
  expect(readdirSync(logins)).toEqual([]);
  const other = await AuthorizationServer.start();
  onTestFinished(() => other.close());
  server.names = other.origin;
  authorization.expire();
  await expect(call(discovery)).rejects.toThrow(
    'refused the login: AuthorizationServerMismatchError',
  );
  expect(other.asked('/token')).toEqual([]);
});

/** Logs in with `answer` instead of a browser. */
async function answered(
  answer: (back: URL) => Promise<unknown>,
  before?: (authorization: AuthorizationServer, server: ProtectedServer) => void,
) {
  const { authorization, server } = await servers();
  before?.(authorization, server);
  const discovery = discoveryOf(server.url);
  const login = discovery.login('tickets', {
    open: async (address) =>
      void (await answer(
        new URL((await fetch(address, { redirect: 'manual' })).headers.get('location')!),
      )),
    timeoutMs: 2_000,
  });
  return { authorization, discovery, login };
}
const statusOf = async (address: URL) => (await fetch(address)).status;
const withParameter = (address: URL, name: string, value: string) => {
  const changed = new URL(address);
  changed.searchParams.set(name, value);
  return changed;
};

it('redirects from the browser are accepted once, and only with the right state, path, and host', async () => {
  const statuses: number[] = [];
  const { login, authorization } = await answered(async (back) => {
    for (const address of [
      withParameter(back, 'state', 'x'),
      new URL('/other', back),
      new URL(back.href.replace('127.0.0.1', 'localhost')),
      back,
    ])
      statuses.push(await statusOf(address));
    // The same code again: the port is closed, or the answer is refused.
    statuses.push(await statusOf(back).catch(() => 404));
  });
  await login;
  expect(statuses).toEqual([404, 404, 404, 200, 404]);
  expect(authorization.asked('/token')).toHaveLength(1);
});

it('redirects from the browser are rejected if they come from another authorization server', async () => {
  const { login, authorization } = await answered(
    (back) => fetch(back),
    ({ lies }) => void (lies.iss = 'https://evil.example'),
  );
  await expect(login).rejects.toThrow('refused the login: IssuerMismatchError');
  expect(authorization.asked('/token')).toEqual([]);
});

it('if the configured token lacks scopes, the call is rejected and reported as not executed', async () => {
  const { authorization, server } = await servers();
  authorization.access.set('narrow', { client: 'x', user: 'ada', scope: 'files:read' });
  const discovery = discoveryOf(server.url, {}, { headers: { authorization: 'Bearer narrow' } });
  await expect(call(discovery, 'write')).rejects.toMatchObject({
    code: 'PROVIDER_UNAVAILABLE',
    message:
      'MCP server tickets refused the call: the token lacks scopes that the server requires.',
  });
});

it.each([
  (port: string) => `http://127.0.0.1:${port}`,
  (port: string) => `https://127.0.0.1:${port}`,
  (port: string) => `https://0.0.0.0:${port}`,
  (port: string) => `https://localhost.:${port}`,
])("a remote server can't redirect the login to this machine: %s", async (addressAt) => {
  const { authorization } = await servers();
  const local = addressAt(new URL(authorization.origin).port);
  const asked: string[] = [];
  const real = globalThis.fetch;
  // A remote server that names an authorization server on the user's machine.
  globalThis.fetch = (async (input: string | URL, init?: RequestInit) => {
    const { href, host, pathname } = new URL(input);
    asked.push(href);
    if (host !== 'far.example') return real(input, init);
    return pathname === '/mcp'
      ? new Response(null, { status: 401 })
      : Response.json({
          resource: 'https://far.example/mcp',
          authorization_servers: [local],
        });
  }) as typeof fetch;
  onTestFinished(() => void (globalThis.fetch = real));
  await expect(
    discoveryOf('https://far.example/mcp').login('tickets', { open: approve }),
  ).rejects.toMatchObject({ code: 'FORBIDDEN_URL' });
  expect(asked.filter((address) => !address.startsWith('https://far.example/'))).toEqual([]);
  expect(authorization.seen).toEqual([]);
});

describe('login settings', () => {
  it.each([
    [
      'a secret without an issuer',
      { client_id: 'a', client_secret_env: 'SECRET' },
      /oauth.issuer: Expected an issuer and a client_id together with client_secret_env/,
    ],
    [
      'a secret instead of a variable name',
      { client_id: 'a', client_secret_env: 'sk-live-12', issuer: 'https://login.example' },
      /Expected the name of a variable, got a string/,
    ],
  ])('are rejected if they contain %s', (_, oauth, message) => {
    const { servers, warnings } = readMcpSettings({
      mcpServers: { a: { url: 'https://x.example/mcp', oauth } },
    });
    expect(servers).toEqual([]);
    expect(
      warnings.map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`),
    ).toContainEqual(expect.stringMatching(message));
  });

  it("a server whose settings file contains a secret isn't loaded, and the secret isn't shown", () => {
    const oauth = { clientId: 'a', clientSecret: 'sk-live-12345678', scopes: ['r', 'w'] };
    const { servers, warnings } = readMcpSettings({
      mcpServers: { gemini: { httpUrl: 'https://x.example/mcp', oauth } },
    });
    expect(servers).toEqual([]);
    expect(JSON.stringify(warnings)).toContain('clientSecretEnv');
    expect(JSON.stringify(warnings)).not.toContain('sk-live');
  });
});

it("OAuth tokens aren't sent to a redirect, and refresh tokens aren't sent to another authorization server", async () => {
  const { authorization, server } = await servers();
  const other = await AuthorizationServer.start();
  onTestFinished(() => other.close());
  const discovery = discoveryOf(server.url);
  await discovery.login('tickets', { open: approve });
  server.redirect = `${other.origin}/mcp`;
  await expect(call(discovery)).rejects.toThrow();
  expect(other.seen).toEqual([]);
  server.redirect = undefined;
  server.names = other.origin;
  authorization.expire();
  await expect(call(discovery)).rejects.toThrow('refused the login');
  expect(
    other.seen.filter(({ authorization: sent, method }) => sent !== null || method !== 'GET'),
  ).toEqual([]);
});

it('OAuth tokens are sent only to the URL they were issued for, even if another server has the same name', async () => {
  const [one, two] = [await servers(), await servers()];
  const logins = newFolder();
  await discoveryOf(one.server.url, { logins }).login('tickets', { open: approve });
  await discoveryOf(two.server.url, { logins }).refresh();
  expect(two.server.seen.map(({ authorization }) => authorization)).toEqual(
    two.server.seen.map(() => null),
  );
});

it("OAuth tokens aren't read from a login file that other users can read or that is a symlink", async () => {
  const { server } = await servers();
  const logins = newFolder();
  await discoveryOf(server.url, { logins }).login('tickets', { open: approve });
  const path = join(logins, readdirSync(logins)[0]!);
  chmodSync(path, 0o644);
  await expect(call(discoveryOf(server.url, { logins }))).rejects.toThrow(
    'is accessible to other users',
  );
  chmodSync(path, 0o600);
  renameSync(path, join(logins, 'elsewhere'));
  symlinkSync('elsewhere', path);
  await expect(call(discoveryOf(server.url, { logins }))).rejects.toThrow(
    'Could not read the login file (ELOOP)',
  );
});

it('OAuth tokens are deleted by a logout, and an unreadable login file counts as no login', async () => {
  const { server } = await servers();
  const logins = newFolder();
  const discovery = discoveryOf(server.url, { logins });
  await discovery.login('tickets', { open: approve });
  writeFileSync(join(logins, readdirSync(logins)[0]!), '{"tokens":');
  await expect(call(discoveryOf(server.url, { logins }))).rejects.toThrow('needs a login');
  await discovery.login('tickets', { open: approve });
  await discovery.logout('tickets');
  expect(readdirSync(logins)).toEqual([]);
});

it('OAuth tokens are refreshed by only one of four processes that need them', async () => {
  const { authorization, server } = await servers();
  const logins = newFolder();
  await discoveryOf(server.url, { logins }).login('tickets', { open: approve });
  authorization.expire();
  const four = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [...here('login-program.ts').args, server.url, logins],
        { timeout: DEADLINE_MS },
      );
      return stdout;
    }),
  );
  expect(four).toEqual(['ada', 'ada', 'ada', 'ada']);
  expect(
    authorization.asked('/token').map(({ body }) => new URLSearchParams(body).get('grant_type')),
  ).toEqual(['authorization_code', 'refresh_token']);
});

it('OAuth tokens are requested only over https, unless both servers are on this machine', async () => {
  const { authorization, server } = await servers();
  authorization.lies.metadata = { token_endpoint: 'http://login.example/token' };
  await expect(discoveryOf(server.url).login('tickets', { open: approve })).rejects.toThrow(
    'refused the login: InsecureTokenEndpointError',
  );
  authorization.lies.metadata = { authorization_endpoint: 'file:///etc/passwd' };
  const opened: string[] = [];
  await expect(
    discoveryOf(server.url).login('tickets', { open: (address) => void opened.push(address) }),
  ).rejects.toThrow();
  expect(opened).toEqual([]);
});

it('OAuth tokens are requested only if the authorization server supports PKCE with S256', async () => {
  const { authorization, server } = await servers();
  authorization.lies.metadata = { code_challenge_methods_supported: ['plain'] };
  await expect(discoveryOf(server.url).login('tickets', { open: approve })).rejects.toMatchObject({
    code: 'PROVIDER_UNAVAILABLE',
  });
  expect(authorization.asked('/authorize')).toEqual([]);
});
