import { describe, expect, it, onTestFinished } from 'vitest';
import { AccessMode, defineTool, ToolMetadataRegistry } from '../../src/index.js';
import { createMcpServer } from '../../src/mcp.js';
import { namesOf, rawTool, listed } from './servers/start.js';
import { overHttp } from './servers/swapping-server.js';

const withProperty = (name: string, property: object, more: object = {}) =>
  rawTool(name, { inputSchema: { type: 'object', properties: { region: property }, ...more } });

const GOOD = withProperty('good', { type: 'string', 'x-mcp-header': 'Region' });
const NESTED = withProperty('nested', {
  type: 'object',
  properties: { deep: { type: 'integer', 'x-mcp-header': 'Deep' } },
});
const WRONG = [
  withProperty('number', { type: 'number', 'x-mcp-header': 'Region' }),
  withProperty('object', { type: 'object', 'x-mcp-header': 'Region' }),
  withProperty('empty', { type: 'string', 'x-mcp-header': '' }),
  withProperty('spaces', { type: 'string', 'x-mcp-header': 'a b' }),
  withProperty('no_text', { type: 'string', 'x-mcp-header': 1 }),
  withProperty('in_list', {
    type: 'array',
    items: { type: 'string', 'x-mcp-header': 'Region' },
  }),
  withProperty('in_choice', { anyOf: [{ type: 'string', 'x-mcp-header': 'Region' }] }),
  withProperty('root', { type: 'string' }, { 'x-mcp-header': 'Region' }),
  rawTool('twice', {
    inputSchema: {
      type: 'object',
      properties: {
        one: { type: 'string', 'x-mcp-header': 'Region' },
        two: { type: 'string', 'x-mcp-header': 'region' },
      },
    },
  }),
];

it('on a 2026-protocol HTTP connection, a tool with an invalid x-mcp-header is reported and skipped', async () => {
  const server = await overHttp('modern', GOOD, NESTED, ...WRONG);
  const discovery = await listed({ cloud: server.start });
  expect(namesOf(discovery)).toEqual(['mcp.cloud.good', 'mcp.cloud.nested']);
  expect(discovery.findings().map(({ kind, message }) => [kind, message])).toEqual(
    WRONG.map(() => ['refused', expect.stringContaining('"x-mcp-header"') as string]),
  );
});

describe('a served tool with x-mcp-header', () => {
  async function serving() {
    const registry = new ToolMetadataRegistry();
    registry.register(
      defineTool({
        name: 'open',
        description: 'Opens',
        accessMode: AccessMode.READONLY,
        executionCategory: 'compute',
        inputSchema: {
          type: 'object',
          properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
        },
        execute: (input) => JSON.stringify(input),
      }),
    );
    const server = createMcpServer(registry);
    onTestFinished(() => server.close());
    return (await server.serveHttp({ port: 0 })).url;
  }

  const callWith = (url: string, headers: Readonly<Record<string, string>>) =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'open',
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'open',
          arguments: { region: 'west' },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });

  it.each([
    ['is called if the header equals the argument', { 'mcp-param-region': 'west' }, 200],
    ["isn't called without the header", {}, 400],
    ["isn't called if the header differs", { 'mcp-param-region': 'east' }, 400],
  ])('%s', async (_, headers, status) => {
    const response = await callWith(await serving(), headers);
    const text = await response.text();
    expect([response.status, text.includes('-32020'), text.includes('west')]).toEqual([
      status,
      status === 400,
      true,
    ]);
  });

  it("is called by this package's client with the header", async () => {
    const discovery = await listed({ own: { url: await serving() } });
    expect(await discovery.callTool('own', 'open', { region: 'wést' }, {})).toMatchObject({
      value: '{"region":"wést"}',
    });
  });
});
