import { describe, expect, it } from 'vitest';
import { rawCall, serverOf } from './server-clients.js';
import { reading, sampleRegistry } from './server-tools.js';
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
  const serving = () => {
    const inputSchema = {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    };
    return serverOf(
      {},
      sampleRegistry(reading('open', (input) => JSON.stringify(input), { inputSchema })),
    );
  };

  it.each([
    ['is called if the header equals the argument', { 'mcp-param-region': 'west' }, 200],
    ["isn't called without the header", {}, 400],
    ["isn't called if the header differs", { 'mcp-param-region': 'east' }, 400],
  ])('%s', async (_, headers, status) => {
    const response = await rawCall(serving(), 'open', { region: 'west' }, { headers });
    const text = await response.text();
    expect([response.status, text.includes('-32020'), text.includes('west')]).toEqual([
      status,
      status === 400,
      true,
    ]);
  });

  it("is called by this package's client with the header", async () => {
    const { url } = await serving().serveHttp({ port: 0 });
    const discovery = await listed({ own: { url } });
    expect(await discovery.callTool('own', 'open', { region: 'wést' }, {})).toMatchObject({
      value: '{"region":"wést"}',
    });
  });
});
