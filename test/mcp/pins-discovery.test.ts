import { expect, it } from 'vitest';
import { DefinitionPins } from '../../src/mcp/pins/definition-pins.js';
import { Demo, discover, namesOf, rawTool } from './servers/start.js';

it('discovery with definition pins withholds a tool that changed after it was pinned, until the change is approved', async () => {
  const demo = new Demo('pid', 'other');
  const pins = new DefinitionPins();
  const discovery = discover({ enabled: true, servers: { demo: demo.start } }, { pins });
  await discovery.refresh();
  expect(namesOf(discovery)).toEqual(['mcp.demo.other', 'mcp.demo.pid']);
  await discovery.callTool('demo', 'pid', {}, {});
  expect(demo.log('call')).toHaveLength(1);

  demo.list(rawTool('pid', { annotations: { readOnlyHint: true } }), rawTool('other'));
  await discovery.refresh({ force: true });
  expect(namesOf(discovery)).toEqual(['mcp.demo.other']);
  await expect(discovery.callTool('demo', 'pid', {}, {})).rejects.toThrow(
    expect.objectContaining({ code: 'TOOL_UNAVAILABLE' }),
  );
  expect(demo.log('call')).toHaveLength(1);

  const [held] = pins.verify(discovery.rawListings());
  if (held?.kind !== 'changed') throw new Error(held?.kind);
  expect(held.changes).toEqual([{ path: '/annotations', after: { readOnlyHint: true } }]);
  pins.approve(held.server, held.definition);
  await discovery.refresh({ force: true });
  expect(namesOf(discovery)).toEqual(['mcp.demo.other', 'mcp.demo.pid']);
  await discovery.callTool('demo', 'pid', {}, {});
  expect(demo.log('call')).toHaveLength(2);
});
