import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runCli } from '../../src/cli/run-cli.js';
import { AuthorizationServer, ProtectedServer } from '../mcp/servers/authorization-server.js';
import { Demo } from '../mcp/servers/start.js';
import { folderWith } from './command-line.js';
import { FakeTerminal } from './fake-terminal.js';

async function setUp() {
  const authorization = await AuthorizationServer.start();
  const server = await ProtectedServer.start(authorization);
  const mcpServers = { tickets: { url: server.url }, demo: new Demo('read').process };
  const folder = folderWith({ '.mcp.json': { mcpServers } });
  const before = process.env['XDG_DATA_HOME'];
  process.env['XDG_DATA_HOME'] = folder;
  onTestFinished(() => {
    if (before === undefined) delete process.env['XDG_DATA_HOME'];
    else process.env['XDG_DATA_HOME'] = before;
    for (const each of [authorization, server]) each.close();
  });
  /** Runs a command and passes the printed URL to `come`. */
  const tooldex = async (
    args: readonly string[],
    come: (address: string, terminal: FakeTerminal) => unknown = (address) => fetch(address),
  ) => {
    const terminal = new FakeTerminal();
    const { err } = terminal;
    terminal.err = (text) => {
      err(text);
      const address = /^http.*$/m.exec(text)?.[0];
      if (address !== undefined) void come(address, terminal);
    };
    return {
      code: await runCli(args, terminal, folder),
      out: terminal.printed,
      err: terminal.told,
    };
  };
  return { authorization, folder, tooldex };
}

it('tooldex mcp login prints the URL, later commands use the login, and logout deletes it', async () => {
  const { authorization, folder, tooldex } = await setUp();
  const refused = await tooldex(['--mcp', '.mcp.json', 'run', 'mcp.tickets.read', '--yes', 'high']);
  expect(refused.err).toContain('Run `tooldex mcp login tickets`');
  const login = await tooldex(['mcp', 'login', 'tickets']);
  expect(login).toMatchObject({
    code: 0,
    out: '✓ logged in to tickets, 2 tools\n',
    err: expect.stringContaining(
      `Log in at ${authorization.origin}:\n${authorization.origin}/authorize?`,
    ),
  });
  expect(
    await tooldex(['--mcp', '.mcp.json', 'run', 'mcp.tickets.read', '--yes', 'high']),
  ).toMatchObject({ code: 0, out: 'ada\n' });
  expect(readdirSync(join(folder, 'tooldex/logins'))).toHaveLength(1);
  expect(await tooldex(['mcp', 'logout', 'tickets'])).toMatchObject({
    code: 0,
    out: '✓ logged out of tickets\n',
  });
  expect(readdirSync(join(folder, 'tooldex/logins'))).toEqual([]);
});

it('tooldex mcp login stops when the user interrupts it, and refuses servers that support no login', async () => {
  const { tooldex } = await setUp();
  expect(
    await tooldex(['mcp', 'login', 'tickets'], (_, terminal) => terminal.interrupt()),
  ).toMatchObject({ code: 130, out: '' });
  expect(await tooldex(['mcp', 'login', 'demo'])).toMatchObject({
    code: 2,
    err: 'error MCP server demo has no login, because only HTTP servers without a token in their headers need one.\n',
  });
  expect(await tooldex(['mcp', 'login', 'nobody'])).toMatchObject({
    code: 2,
    err: expect.stringContaining(
      'There is no MCP server "nobody" in the settings. Configured: "demo", "tickets"',
    ),
  });
});
