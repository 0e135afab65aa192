import { describe, expect, it } from 'vitest';
import { LEAST, registryOf } from '../tool/sample-tools.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

const names = (
  registry: ReturnType<typeof registryOf>,
  text: string,
  options?: { limit?: number },
) => registry.search(text, options).map(({ toolName }) => toolName);

describe('search', () => {
  it.each([
    ['name', { name: 'weather_report' }, 'the weather'],
    ['keyword', { name: 'one', keywords: ['Weather'] }, 'weather'],
    ['example', { name: 'one', examples: ['What is the weather?'] }, 'weather'],
    ['description', { name: 'one', description: 'Tells the weather' }, 'weather'],
    [
      'parameter name',
      { name: 'one', inputSchema: { type: 'object', properties: { weather_code: {} } } },
      'weather',
    ],
    ['inflection', { name: 'one', description: 'Compares texts' }, 'comparing'],
    ['part of an identifier', { name: 'getWeather' }, 'weather'],
  ])('finds a tool by a matching word (%s)', (_, tool, text) => {
    expect(names(registryOf(tool, { name: 'other', description: 'Something else' }), text)).toEqual(
      [tool.name],
    );
  });

  it.each([
    ['GitHub', { keywords: ['github'] }],
    ['github', { description: 'Talks to GitHub' }],
  ])('finds %j regardless of case', (text, tool) => {
    expect(registryOf({ name: 'one', ...tool }).search(text)).toHaveLength(1);
  });

  it('shows which fields each word was found in', () => {
    const [result] = registryOf({
      name: 'git_diff',
      keywords: ['diff'],
      description: 'Shows changes',
    }).search('show the diff');
    expect(result!.matches).toEqual([
      { word: 'show', fields: ['description'], related: false },
      { word: 'diff', fields: ['name', 'keywords'], related: false },
    ]);
    expect(result!.explanation).toBe('"show" in description; "diff" in name, keywords');
  });

  it('ranks rare words above common words, and matches in names above matches in descriptions', () => {
    const registry = registryOf(
      { name: 'a', description: 'read the file' },
      { name: 'b', description: 'write the file' },
      { name: 'c', description: 'file the tax' },
      { name: 'tax', description: 'other work' },
    );
    expect(names(registry, 'file with tax').slice(0, 2)).toEqual(['c', 'tax']);
    expect(names(registry, 'tax')).toEqual(['tax', 'c']);
    expect(names(registry, 'read a file')[0]).toBe('a');
  });

  it('orders results with equal scores by priority, then name', () => {
    const tool = (name: string, priority: number) => ({ name, priority, keywords: ['apple'] });
    expect(
      names(
        registryOf(tool('d', 2), tool('c', 2), tool('b', 3), tool('a', 2), tool('z', 0)),
        'apple',
      ),
    ).toEqual(['z', 'a', 'c', 'd', 'b']);
  });

  it('returns at most ten results by default, or at most limit', () => {
    const registry = registryOf(
      ...Array.from({ length: 15 }, (_, index) => ({ name: `t${index}`, keywords: ['apple'] })),
    );
    expect(names(registry, 'apple')).toHaveLength(10);
    expect(names(registry, 'apple', { limit: 3 })).toHaveLength(3);
    expect(names(registry, 'apple', { limit: 100 })).toHaveLength(15);
    expect(names(registry, 'apple', { limit: 0 })).toEqual([]);
    expect(names(registry, 'apple', { limit: -1 })).toEqual([]);
  });

  it('finds nothing for stop words', () => {
    expect(
      names(registryOf({ description: 'What it is and how to do this' }), 'what is this and how'),
    ).toEqual([]);
  });

  it('takes into account tools that are added, replaced, or removed after the first search', () => {
    const registry = registryOf({ name: 'a', keywords: ['apple'] });
    expect(names(registry, 'apple')).toEqual(['a']);
    registry.register(definitionOf({ ...LEAST, name: 'b', keywords: ['apple'] }));
    expect(names(registry, 'apple')).toEqual(['a', 'b']);
    registry.register(definitionOf({ ...LEAST, name: 'a', keywords: ['pear'] }), { replace: true });
    expect(names(registry, 'apple')).toEqual(['b']);
    expect(names(registry, 'pear')).toEqual(['a']);
    registry.unregister('b');
    expect(names(registry, 'apple')).toEqual([]);
  });

  it("a tool's score doesn't depend on when the tool was added", () => {
    const tools = [
      { name: 'a', keywords: ['apple', 'tree'] },
      { name: 'b', description: 'An apple a day' },
      { name: 'c', examples: ['plant a tree'] },
    ];
    const together = registryOf(...tools);
    const later = registryOf(tools[2]!, { name: 'gone', keywords: ['apple'] });
    later.search('apple');
    later.unregister('gone');
    later.registerAll([tools[1]!, tools[0]!].map((tool) => definitionOf({ ...LEAST, ...tool })));
    expect(later.search('apple tree')).toEqual(together.search('apple tree'));
  });
});
