import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { DefinitionPins } from '../../src/mcp.js';
import type { McpDiscoveryOptions } from '../../src/mcp/discovery/discovery-options.js';
import { here, namesOf, temporaryFolder, listed } from './servers/start.js';

/** A server with resources and prompts, and its settings. */
async function start(
  settings: object,
  { modes = [], ...options }: McpDiscoveryOptions & { readonly modes?: readonly string[] } = {},
) {
  const log = join(temporaryFolder(), 'log.txt');
  const { command, args } = here('resource-server.ts');
  const discovery = await listed(
    { docs: { command, args: [...args, log, ...modes], ...settings } },
    options,
  );
  const registry = new ToolMetadataRegistry();
  discovery.follow(registry);
  const executor = new ToolExecutor({ registry });
  const call = (name: string, input: object) =>
    executor.execute({ id: '1', name: `mcp.docs.${name}`, input });
  return { discovery, registry, call, log: () => readFileSync(log, 'utf8') };
}

const BOTH = { resources: true, prompts: true };
const OPEN = { ...BOTH, consent: false };
const OURS = ['get_prompt', 'list_prompts', 'list_resources', 'read_resource'].map(
  (name) => `mcp.docs.${name}`,
);

it('resources and prompts from a server are offered as tools only if the settings enable them', async () => {
  expect(namesOf((await start({})).discovery)).toEqual([]);
  expect(namesOf((await start({ resources: true })).discovery)).toEqual([
    'mcp.docs.list_resources',
    'mcp.docs.read_resource',
  ]);
  const { discovery } = await start(BOTH);
  expect(namesOf(discovery)).toEqual(OURS);
  expect(discovery.findings()).toEqual([]);
  expect(discovery.status()).toMatchObject([{ state: 'ready', tools: 4 }]);
});

it('resources and prompts from a server need approval to be read, unless the settings relax that or the server is trusted', async () => {
  const { registry, call, log } = await start(BOTH);
  for (const name of OURS)
    expect(registry.require(name)).toMatchObject({
      accessMode: 'readonly',
      sideEffects: ['read_external_service'],
      requiresConsent: true,
    });
  expect(await call('read_resource', { uri: 'docs://guide' })).toMatchObject({
    status: 'approval_required',
  });
  expect(log).toThrow();
  expect((await start(OPEN)).registry.require('mcp.docs.read_resource')).toMatchObject({
    accessMode: 'readonly',
    requiresConsent: false,
  });
  expect(
    (await start({ ...BOTH, trusted: true })).registry.require('mcp.docs.read_resource'),
  ).toMatchObject({ accessMode: 'readonly', requiresConsent: false });
});

it('resources and prompts from a server are listed with templates and arguments', async () => {
  const { call } = await start(OPEN);
  const all = await call('list_resources', {});
  expect(all).toMatchObject({
    status: 'ok',
    value: {
      resources: [
        {
          uri: 'docs://guide',
          name: 'guide',
          description: 'About guide',
          mimeType: 'text/plain',
        },
        { uri: 'docs://pixel' },
        { uri: 'docs://archive' },
        { uri: 'docs://folder' },
      ],
      resourceTemplates: [
        { uriTemplate: 'users://{id}/profile', name: 'users', description: 'Profiles' },
      ],
    },
  });
  expect(await call('list_prompts', {})).toMatchObject({
    value: {
      prompts: [
        {
          name: 'review',
          description: 'Reviews code',
          arguments: [{ name: 'code', required: true }],
        },
        { name: 'talk' },
      ],
    },
  });
});

it('resources and prompts from a server are returned as text, images, files, or several parts with their URIs', async () => {
  const { call } = await start(OPEN);
  expect(await call('read_resource', { uri: 'docs://guide' })).toMatchObject({
    status: 'ok',
    value: {
      contents: [{ uri: 'docs://guide', mimeType: 'text/plain', text: 'Read me first.' }],
    },
    content: [{ type: 'text', text: 'Read me first.' }],
  });
  expect(await call('read_resource', { uri: 'docs://pixel' })).toMatchObject({
    value: { contents: [{ uri: 'docs://pixel', mimeType: 'image/png' }] },
    content: [{ type: 'image', mediaType: 'image/png' }],
  });
  expect(await call('read_resource', { uri: 'docs://archive' })).toMatchObject({
    content: [{ type: 'file', mediaType: 'application/zip', name: 'docs://archive' }],
  });
  expect(await call('read_resource', { uri: 'docs://folder' })).toMatchObject({
    value: { contents: [{ uri: 'docs://folder/a', text: 'text of a' }, {}] },
    content: [{ text: 'docs://folder/a:\ntext of a' }, { text: 'docs://folder/b:\ntext of b' }],
  });
});

it('resources and prompts from a server respect allow lists and per-tool settings', async () => {
  const { registry, discovery } = await start({
    ...BOTH,
    tools: {
      read_resource: { consent: false, keywords: ['manual'] },
      list_prompts: { disabled: true },
    },
  });
  expect(registry.require('mcp.docs.read_resource')).toMatchObject({
    requiresConsent: false,
    keywords: ['manual'],
  });
  expect(registry.has('mcp.docs.list_prompts')).toBe(false);
  await expect(discovery.callTool('docs', 'list_prompts', {}, {})).rejects.toMatchObject({
    code: 'TOOL_UNAVAILABLE',
  });
  expect(discovery.findings()).toEqual([]);
});

it("resources and prompts from a server need no new approval when a resource is added, but do when the server adds a tool with a resource tool's name", async () => {
  const approved = new DefinitionPins({ onNew: 'quarantine' });
  for (const finding of approved.verify((await start(OPEN)).discovery.rawListings()))
    if (finding.kind === 'new') approved.approve('docs', finding.definition);
  expect(approved.size).toBe(OURS.length);
  const more = await start(OPEN, { pins: approved, modes: ['more'] });
  expect(namesOf(more.discovery)).toEqual(OURS);
  expect(JSON.stringify(more.discovery.definitions())).not.toContain('secret plans');
  const taken = await start(OPEN, { pins: approved, modes: ['tools'] });
  expect(namesOf(taken.discovery)).toEqual(OURS.filter((name) => !name.endsWith('read_resource')));
  expect(
    taken.discovery
      .findings()
      .filter(({ kind }) => kind === 'quarantined')
      .map(({ tool }) => tool),
  ).toEqual(['"read_resource"', '"echo"']);
});
