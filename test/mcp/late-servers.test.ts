import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { expect, it, onTestFinished } from 'vitest';
import { defineTool, ToolMetadataRegistry } from '../../src/index.js';
import type { McpDiscovery } from '../../src/mcp.js';
import { ManualClock } from '../../src/testing.js';
import { MCP_PACKAGES } from '../../src/mcp/connection/transports.js';
import { Demo, rawTool, temporaryFolder, listed } from './servers/start.js';

/** Follows a discovery. Returns a promise for the next change. */
function followed(discovery: McpDiscovery, registry = new ToolMetadataRegistry()) {
  const change = new Promise<void>((resolve) => discovery.onChange(() => resolve()));
  discovery.follow(registry);
  return { registry, change };
}

it('an HTTP server that starts after the discovery appears in a registry that follows it', async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const clock = new ManualClock();
  const discovery = await listed(
    { late: { url: `http://127.0.0.1:${port}/mcp` } },
    { clock, random: () => 0.5 },
  );
  expect(discovery.status()).toMatchObject([
    { state: 'backing-off', reason: expect.stringContaining('ECONNREFUSED') },
  ]);
  const { registry, change } = followed(discovery);
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'late', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools: [rawTool('here') as never] }));
    return server;
  });
  const http = createServer((request, response) => {
    void getRequestListener((web) => handler.fetch(web))(request, response);
  }).listen(port, '127.0.0.1');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  await once(http, 'listening');
  clock.advance(1_000);
  await change;
  expect(registry.has('mcp.late.here')).toBe(true);
});

it('a stdio server whose command is installed later appears in a registry that follows it', async () => {
  const command = join(temporaryFolder(), 'server.sh');
  const clock = new ManualClock();
  const discovery = await listed(
    { late: { command } },
    { clock, random: () => 0.5, packages: MCP_PACKAGES },
  );
  expect(discovery.status()).toMatchObject([
    { reason: "its command or folder doesn't exist (ENOENT)" },
  ]);
  const { registry, change } = followed(discovery);
  const { command: node, args } = new Demo('here').process;
  const quoted = [node, ...args].map((each) => `'${each}'`).join(' ');
  writeFileSync(command, `#!/bin/sh\nexec ${quoted}\n`);
  chmodSync(command, 0o755);
  clock.advance(1_000);
  await change;
  expect(registry.has('mcp.late.here')).toBe(true);
});

it('nobody tries a failed server again if nobody follows the discovery', async () => {
  const clock = new ManualClock();
  const discovery = await listed({ gone: { url: 'http://127.0.0.1:1/mcp' } }, { clock });
  const { failures } = discovery.status()[0]!;
  clock.advance(3_600_000);
  expect(discovery.status()).toMatchObject([{ state: 'failed', failures }]);
});

it("a registry's own tools keep their names while a discovery is followed, and server changes are taken over", async () => {
  const demo = new Demo('read', 'mine');
  const discovery = await listed({ demo: demo.start });
  const registry = new ToolMetadataRegistry();
  const own = { description: 'Own', inputSchema: { type: 'object' } } as const;
  registry.register(defineTool({ ...own, name: 'mcp.demo.mine', execute: () => 'own' }));
  registry.register(defineTool({ ...own, name: 'mcp.demo.read', providers: [] }));
  const { change } = followed(discovery, registry);
  expect(registry.require('mcp.demo.mine').definition.execute?.({}, {})).toBe('own');
  expect(registry.require('mcp.demo.read')).toMatchObject({ description: 'Own' });
  expect(registry.require('mcp.demo.read').definition.execute).toBeDefined();
  demo.list(
    rawTool('read', { inputSchema: { type: 'object', required: ['path'] } }),
    rawTool('mine'),
    rawTool('added'),
  );
  demo.tellChange();
  await change;
  expect(registry.has('mcp.demo.added')).toBe(true);
  expect(registry.require('mcp.demo.read').inputJsonSchema).toMatchObject({ required: ['path'] });
  expect(registry.require('mcp.demo.mine').definition.execute?.({}, {})).toBe('own');
});
