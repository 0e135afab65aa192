import { expect, it, onTestFinished } from 'vitest';
import type { McpDiscoveryOptions } from '../../src/mcp.js';
import { AuthorizationServer, ProtectedServer } from './servers/authorization-server.js';
import { discover } from './servers/start.js';

async function servers(headers: NonNullable<McpDiscoveryOptions['headers']>) {
  const authorization = await AuthorizationServer.start();
  const server = await ProtectedServer.start(authorization);
  for (const user of ['ada', 'eve'])
    authorization.access.set(`token-of-${user}`, { client: 'x', user, scope: 'files:read' });
  const discovery = discover({ mcpServers: { tickets: { url: server.url } } }, { headers });
  onTestFinished(async () => {
    await discovery.close();
    for (const each of [authorization, server]) each.close();
  });
  const read = async () =>
    ((await discovery.callTool('tickets', 'read', {}, {})) as { value: unknown }).value;
  return { authorization, server, discovery, read };
}

it('the headers function is called for each request', async () => {
  let user = 'ada';
  const { server, read } = await servers((name) => ({
    authorization: `Bearer token-of-${user}`,
    'x-server': name,
  }));
  expect(await read()).toBe('ada');
  user = 'eve';
  expect(await read()).toBe('eve');
  const sent = server.seen.filter(({ path }) => path === '/mcp');
  expect(new Set(sent.map(({ headers }) => headers.get('x-server')))).toEqual(new Set(['tickets']));
});

it.each([
  [
    'throws',
    () => {
      throw new Error('no token sk-live-1234567890abcdef');
    },
  ],
  ['returns a string', () => 'Bearer' as never],
])('a call fails if the headers function %s', async (_, broken) => {
  let isBroken = false;
  const { server, discovery, read } = await servers(() =>
    isBroken ? broken() : { authorization: 'Bearer token-of-ada' },
  );
  await discovery.refresh();
  isBroken = true;
  const before = server.seen.length;
  await expect(read()).rejects.toThrow(/`headers` function failed for MCP server tickets/);
  expect(server.seen.slice(before).filter(({ body }) => body.includes('tools/call'))).toEqual([]);
});
