import { expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { selectTools, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { Demo, discover, hostile } from './servers/start.js';

const REASON =
  "This tool can only run as a task, which isn't supported. Use another tool from this server.";

async function setup() {
  const discovery = discover({
    mcpServers: { demo: { ...hostile('tasks'), access: 'readonly', consent: false } },
  });
  await discovery.refresh();
  const registry = new ToolMetadataRegistry();
  discovery.follow(registry);
  return { discovery, registry };
}

it('a tool that runs only as a task is reported and not offered to any model', async () => {
  const { discovery, registry } = await setup();
  expect(discovery.findings()).toMatchObject([
    { kind: 'unavailable', server: 'demo', tool: '"render"', message: REASON },
  ]);
  expect(registry.isAvailable('mcp.demo.render')).toBe(false);
  expect(registry.isAvailable('mcp.demo.preview')).toBe(true);
  expect(
    selectTools(registry, { text: 'render a film' }).tools.map(({ entry }) => entry.name),
  ).toEqual(['mcp.demo.preview']);
  expect(registry.summary().unavailable).toBe(1);
  const capabilities = await CapabilityRegistry.load({ sources: discovery.sources() });
  expect(capabilities.registryFor().isAvailable('mcp.demo.render')).toBe(false);
  capabilities.close();
});

it('a call to a tool that runs only as a task is rejected with the reason', async () => {
  const { discovery, registry } = await setup();
  const outcome = await new ToolExecutor({ registry }).execute({
    id: '1',
    name: 'mcp.demo.render',
    input: {},
  });
  expect(outcome).toMatchObject({ status: 'error', code: 'TOOL_UNAVAILABLE', message: REASON });
  await expect(discovery.callTool('demo', 'render', {}, {})).rejects.toMatchObject({
    code: 'TOOL_UNAVAILABLE',
    message: REASON,
  });
});

it('structured content becomes the message of a failed call that has no text', async () => {
  const demo = new Demo('fails_structured', 'shows');
  const discovery = discover({ mcpServers: { demo: demo.start } });
  await discovery.refresh();
  expect(await discovery.callTool('demo', 'fails_structured', {}, {})).toMatchObject({
    status: 'error',
    message: '{"error":"the disk is full","free":0}',
  });
  expect(await discovery.callTool('demo', 'shows', {}, {})).toMatchObject({
    status: 'ok',
    value: { width: 1 },
    content: [
      { type: 'text', text: 'a pixel' },
      { type: 'image', mediaType: 'image/png' },
    ],
  });
});
