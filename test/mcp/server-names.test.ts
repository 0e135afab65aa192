import { describe, expect, it } from 'vitest';
import { ToolMetadataRegistry, type ToolOptions } from '../../src/index.js';
import { serverOf, textOf, WAYS } from './server-clients.js';
import { reading } from './server-tools.js';

const MODEL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
/** Returns a tool whose result is its own name. */
const named = (name: string, options: Partial<ToolOptions> = {}) =>
  reading(name, () => name, { description: 'Tells its name', ...options });

function registryOf(...tools: readonly ReturnType<typeof named>[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools);
  return registry;
}

const LONG = `mcp.files.${'x'.repeat(100)}`;

describe.each(WAYS)('exposed tool names, for $way', ({ open }) => {
  it('are valid for model APIs, include the original name, and can be called', async () => {
    const client = await open(
      serverOf(
        {},
        registryOf(
          named('mcp.files.edit_file', { aliases: ['edit'] }),
          named('plain'),
          named(LONG),
        ),
      ),
    );
    const tools = await client.tools();
    expect(tools.map(({ name, _meta }) => [name, _meta?.['tooldex/name']])).toEqual([
      ['mcp__files__edit_file', 'mcp.files.edit_file'],
      [expect.stringMatching(/^mcp__files__x+_[0-9a-f]{8}$/), LONG],
      ['plain', undefined],
    ]);
    for (const { name, _meta } of tools) {
      expect(name).toMatch(MODEL_NAME);
      expect(textOf(await client.call(name))).toBe(_meta?.['tooldex/name'] ?? name);
    }
    for (const name of ['mcp.files.edit_file', 'edit'])
      expect(textOf(await client.call(name))).toBe('mcp.files.edit_file');
  });

  it('are the original names if names is "original"', async () => {
    const client = await open(serverOf({ names: 'original' }, registryOf(named('a.b'))));
    expect(
      (await client.tools()).map(({ name, _meta }) => [name, _meta?.['tooldex/name']]),
    ).toEqual([['a.b', undefined]]);
    expect(textOf(await client.call('a.b'))).toBe('a.b');
    await expect(client.call('a__b')).rejects.toThrow(/no tool named/);
  });

  it('are used by find_tools and call_tool', async () => {
    const client = await open(
      serverOf(
        { maxTools: 1 },
        registryOf(named('mcp.a.read', { keywords: ['violin'] }), named('mcp.b.write')),
      ),
    );
    const { found, tools, unknown } = (
      await client.call('find_tools', { query: 'violin', names: ['mcp__b__write', 'mcp__c__none'] })
    ).structuredContent as Record<string, readonly { name: string }[]>;
    expect([found!.map(({ name }) => name), tools!.map(({ name }) => name), unknown]).toEqual([
      ['mcp__a__read'],
      ['mcp__b__write'],
      ['mcp__c__none'],
    ]);
    expect(textOf(await client.call('call_tool', { name: 'mcp__a__read', input: {} }))).toBe(
      'mcp.a.read',
    );
  });
});

describe.each(WAYS)("personas' tools, for $way", ({ open }) => {
  const registry = () =>
    registryOf(
      named('shared'),
      named('of.ada', { personaAllowlist: ['Ada'], aliases: ['hers'] }),
      named('of.bob', { personaAllowlist: ['Bob'] }),
    );
  const namesOf = async (client: Awaited<ReturnType<typeof open>>) =>
    (await client.tools()).map(({ name }) => name);

  it('are listed for and callable by their persona only', async () => {
    const ada = await open(serverOf({ context: { persona: 'ada' } }, registry()));
    expect(await namesOf(ada)).toEqual(['of__ada', 'shared']);
    expect(textOf(await ada.call('hers'))).toBe('of.ada');
    for (const name of ['of__bob', 'of.bob'])
      await expect(ada.call(name)).rejects.toThrow(/no tool named/);
    const nobody = await open(serverOf({}, registry()));
    expect(await namesOf(nobody)).toEqual(['shared']);
    for (const name of ['of__ada', 'hers'])
      await expect(nobody.call(name)).rejects.toThrow(/no tool named/);
  });

  it('are chosen by the persona in the context of each request', async () => {
    const client = await open(
      serverOf(
        { context: ({ client: asking }) => (asking?.name === 'test' ? { persona: 'Bob' } : {}) },
        registry(),
      ),
    );
    expect(await namesOf(client)).toEqual(['of__bob', 'shared']);
  });

  it("can't be found or explained by other personas", async () => {
    const client = await open(serverOf({ context: { persona: 'Ada' }, maxTools: 1 }, registry()));
    const answer = (
      await client.call('find_tools', { query: 'tells its name', names: ['of__bob', 'of__ada'] })
    ).structuredContent as Record<string, readonly { name: string }[]>;
    expect(answer['found']!.map(({ name }) => name).sort()).toEqual(['of__ada', 'shared']);
    expect([answer['tools']!.map(({ name }) => name), answer['unknown']]).toEqual([
      ['of__ada'],
      ['of__bob'],
    ]);
    expect(textOf(await client.call('call_tool', { name: 'of__bob' }))).toMatch(/no tool named/);
  });
});
