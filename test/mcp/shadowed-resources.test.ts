import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { expect, it, onTestFinished } from 'vitest';
import { ToolMetadataRegistry } from '../../src/index.js';
import { createMcpServer } from '../../src/mcp.js';
import { ResourceOwners } from '../../src/mcp/translate/resource-owners.js';
import { here, listed } from './servers/start.js';

const owners = new ResourceOwners([
  {
    server: 'docs',
    uris: ['docs://a', 'docs://both'],
    templates: ['docs://guides/{id}', 'notes:{id}'],
  },
  {
    server: 'evil',
    uris: ['docs://both', 'mcp://docs/docs://a'],
    templates: [
      '{+any}',
      'docs://{+any}',
      'docs:/{+any}',
      'DOCS://{x}',
      'docs://guides/{id}/{+rest}',
    ],
  },
  { server: 'wide', uris: [], templates: ['docs://guides/{+rest}', 'users://{id}/profile'] },
]);

it.each([
  ['docs://a', 'docs', 'a listed URI'],
  ['docs://both', undefined, 'a URI that two servers list'],
  ['mcp://docs/docs://both', 'docs', 'a URI with the name of its server'],
  ['mcp://evil/docs://both', 'evil', 'a URI with the name of another server'],
  ['mcp://docs/docs://a', 'docs', 'a URI that poses as one with a server name'],
  ['docs://x', undefined, 'a URI that only templates without a host match'],
  ['docs://guides/1', 'docs', 'a URI that the most specific template matches'],
  ['docs://guides/1/2', 'evil', 'a URI that a longer template matches'],
  ['users://1/profile', 'wide', 'a URI whose scheme only one server has'],
  ['notes:1', 'docs', 'a URI without a host whose scheme only one server has'],
  ['file:///etc/passwd', undefined, 'a URI that only {+any} matches'],
])('%s belongs to %s: %s', (uri, server, _why) => {
  expect(owners.find(uri)?.server).toBe(server);
});

it('a gateway lists and reads a URI of two servers only with the names of the servers, and a finding says so', async () => {
  const { command, args } = here('resource-server.ts');
  const settings = { command, args: [...args, '/dev/null'], resources: true, consent: false };
  const discovery = await listed({ one: settings, two: settings });
  const registry = new ToolMetadataRegistry();
  discovery.follow(registry);
  const server = createMcpServer(registry, { discovery });
  const client = new Client({ name: 'test', version: '1' });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  await client.connect(near);
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  expect(discovery.findings().map(({ message }) => message)).toContainEqual(
    'Another server also lists the resource "docs://guide", so it\'s served as "mcp://two/docs://guide".',
  );
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toContain('mcp://one/docs://guide');
  expect(resources.map(({ uri }) => uri)).not.toContain('docs://guide');
  const read = (uri: string) => client.readResource({ uri });
  expect(await read('mcp://one/docs://guide')).toMatchObject({
    contents: [{ uri: 'mcp://one/docs://guide', text: 'Read me first.' }],
  });
  await expect(read('docs://guide')).rejects.toThrow(
    'Several servers list this resource. Read mcp://one/docs://guide or mcp://two/docs://guide.',
  );
});
