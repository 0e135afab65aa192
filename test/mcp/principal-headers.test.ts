import { describe, expect, it, onTestFinished } from 'vitest';
import type { McpDiscoveryOptions } from '../../src/mcp.js';
import { ManualClock } from '../../src/testing.js';
import { AuthorizationServer, ProtectedServer } from './servers/authorization-server.js';
import { discover } from './servers/start.js';

async function servers(options: McpDiscoveryOptions) {
  const authorization = await AuthorizationServer.start();
  const server = await ProtectedServer.start(authorization);
  const discovery = discover(
    { mcpServers: { tickets: { url: server.url, resources: true } } },
    options,
  );
  onTestFinished(async () => {
    await discovery.close();
    for (const each of [authorization, server]) each.close();
  });
  return { authorization, server, discovery };
}

describe('headers of a principal', () => {
  it('go with the calls of that principal alone, over a connection of its own', async () => {
    const headers = (name: string, principal: string | undefined) => ({
      authorization: `Bearer token-of-${principal ?? 'operator'}`,
      'x-server': name,
    });
    const { authorization, server, discovery } = await servers({ headers });
    for (const user of ['ada', 'eve', 'operator'])
      authorization.access.set(`token-of-${user}`, {
        client: 'x',
        user,
        scope: 'files:read files:write',
      });
    const as = async (principal?: string) =>
      (
        (await discovery.callTool(
          'tickets',
          'read',
          {},
          principal === undefined ? {} : { principal },
        )) as { value: unknown }
      ).value;
    expect(await Promise.all([as('ada'), as('eve'), as(), as('ada'), as('eve')])).toEqual([
      'ada',
      'eve',
      'operator',
      'ada',
      'eve',
    ]);
    expect(
      await discovery.callTool(
        'tickets',
        'read_resource',
        { uri: 'note://mine' },
        { principal: 'eve' },
      ),
    ).toMatchObject({ value: 'eve' });
    expect(
      new Set(
        server.seen
          .filter(({ path }) => path === '/mcp')
          .map((each) => each.headers.get('x-server')),
      ),
    ).toEqual(new Set(['tickets']));
  });

  it('do not go where a server redirects to', async () => {
    const { authorization, server, discovery } = await servers({
      headers: (_, principal = 'operator') => ({
        authorization: `Bearer token-of-${principal}`,
        'x-api-key': 'secret',
      }),
    });
    for (const user of ['ada', 'operator'])
      authorization.access.set(`token-of-${user}`, { client: 'x', user, scope: 'files:read' });
    await discovery.refresh();
    server.redirect = `${authorization.origin}/mcp`;
    await expect(discovery.callTool('tickets', 'read', {}, { principal: 'ada' })).rejects.toThrow();
    expect(authorization.seen).toEqual([]);
  });

  it('that cannot be had end the call, which is not made with those of others', async () => {
    const headers = (_: string, principal: string | undefined) => {
      if (principal === 'eve') throw new Error('no token sk-live-1234567890abcdef');
      if (principal === 'bob') return 'Bearer' as never;
      return principal === undefined ? { authorization: 'Bearer token-of-operator' } : undefined;
    };
    const { authorization, server, discovery } = await servers({ headers });
    authorization.access.set('token-of-operator', {
      client: 'x',
      user: 'operator',
      scope: 'files:read',
    });
    await discovery.refresh();
    const as = (principal: string) => discovery.callTool('tickets', 'read', {}, { principal });
    const before = server.seen.length;
    await expect(as('eve')).rejects.toThrow(
      'Expected headers for the MCP server tickets, got an error',
    );
    await expect(as('bob')).rejects.toThrow(
      'Expected the option headers to return an object of texts',
    );
    expect(server.seen.slice(before).filter(({ body }) => body.includes('tools/call'))).toEqual([]);
    // Without any of its own, a principal uses those of the settings, over the common connection.
    expect(await as('ada')).toMatchObject({ value: 'operator' });
  });

  it('are for at most a hundred connections, of which the one that was not used for longest goes', async () => {
    const clock = new ManualClock();
    const headers = (_: string, principal = 'operator') => ({
      authorization: `Bearer token-of-${principal}`,
    });
    const { authorization, server, discovery } = await servers({ headers, clock });
    for (const user of ['operator', ...Array.from({ length: 101 }, (_, number) => String(number))])
      authorization.access.set(`token-of-${user}`, { client: 'x', user, scope: 'files:read' });
    const opened = () => server.seen.filter(({ body }) => body.includes('server/discover')).length;
    const as = (principal: string) => discovery.callTool('tickets', 'read', {}, { principal });
    await as('0');
    const one = opened();
    await as('0');
    expect(opened()).toBe(one);
    for (let number = 1; number <= 100; number++) await as(String(number));
    const all = opened();
    await as('100');
    expect(opened()).toBe(all);
    await as('0');
    expect(opened()).toBe(all + 1);
    clock.advance(300_000);
    await as('0');
    expect(opened()).toBe(all + 2);
  });
});
