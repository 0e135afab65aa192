import { expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { atlas, ManifestTree, owned, present, toolEntry, warnIfAbsent } from './manifest-tree.js';

warnIfAbsent('the search of the recorded manifest folder');

const tree = () =>
  new ManifestTree({
    'functions.json': [
      toolEntry('sum_up', { description: 'Adds numbers' }),
      toolEntry('rain_radar', { description: 'Looks at the weather' }),
    ],
    'personas/Atlas/functions.json': [
      toolEntry('rain_radar', { description: 'Looks at the weather of Atlas' }),
      toolEntry('map_out', { description: 'Draws a chart' }),
    ],
    'personas/Nova/functions.json': [toolEntry('glow', { description: 'Shines' })],
  });

const found = async (
  capabilities: CapabilityRegistry,
  text: string,
  options: Parameters<CapabilityRegistry['search']>[1] = {},
) => owned(capabilities.search(text, options).hits.map(({ tool }) => tool));

it('CapabilityRegistry.search finds the tools of all personas, and returns their owners', async () => {
  const capabilities = await CapabilityRegistry.load({ root: tree().root, env: {} });
  expect(await found(capabilities, 'draw a chart')).toEqual(['map_out@Atlas']);
  expect(await found(capabilities, 'glow')).toEqual(['glow@Nova']);
  expect(new Set(await found(capabilities, 'rain_radar'))).toEqual(
    new Set(['rain_radar@shared', 'rain_radar@Atlas']),
  );
  const { hits } = capabilities.search('shine');
  expect(hits[0]).toMatchObject({
    toolName: 'glow',
    matches: [{ word: 'shine', fields: ['description'] }],
  });
  expect(hits[0]!.tool).toBe(capabilities.tool('glow', 'Nova'));
});

it('CapabilityRegistry.search returns the accepted hits up to the limit, and also a list of all tools with a matching word', async () => {
  const capabilities = await CapabilityRegistry.load({ root: tree().root, env: {} });
  const { hits, having } = capabilities.search('weather glow', {
    limit: 1,
    accepts: ({ owner }) => owner === 'Atlas',
  });
  expect(owned(hits.map(({ tool }) => tool))).toEqual(['rain_radar@Atlas']);
  expect([...owned(having)].sort()).toEqual(['glow@Nova', 'rain_radar@Atlas', 'rain_radar@shared']);
  expect(await found(capabilities, 'weather', { limit: 0 })).toEqual([]);
});

it('CapabilityRegistry.search finds the changed tools after a refresh', async () => {
  const files = tree();
  const capabilities = await CapabilityRegistry.load({ root: files.root, env: {} });
  expect(await found(capabilities, 'glow')).toEqual(['glow@Nova']);
  files.write('personas/Nova/functions.json', [toolEntry('dim', { description: 'Darkens' })]);
  await capabilities.refresh();
  expect([await found(capabilities, 'glow'), await found(capabilities, 'darken')]).toEqual([
    [],
    ['dim@Nova'],
  ]);
});

it("CapabilityRegistry.search refuses a request that isn't text, and unknown options", async () => {
  const capabilities = await CapabilityRegistry.load({ env: {} });
  const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
  expect(() => capabilities.search(5 as never)).toThrow(refused);
  expect(() => capabilities.search('x', { limt: 3 } as never)).toThrow(refused);
  expect(() => capabilities.search('x', { limit: -1 })).toThrow(refused);
});

it.runIf(present)(
  'CapabilityRegistry.search finds each of 211 real tools first by its exact name',
  async () => {
    const capabilities = await CapabilityRegistry.load({ root: atlas, env: {} });
    const missed: string[] = [];
    for (const tool of capabilities.tools()) {
      const best = capabilities.search(tool.name, { limit: 25 }).hits;
      const place = best.findIndex((hit) => hit.tool === tool);
      if (place === -1 || best.slice(0, place).some(({ toolName }) => toolName !== tool.name))
        missed.push(`${tool.name}@${tool.owner}: ${best.map(({ toolName }) => toolName).join()}`);
    }
    expect(missed).toEqual([]);
  },
);
