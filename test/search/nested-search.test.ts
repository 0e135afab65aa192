import { describe, expect, it } from 'vitest';
import { registryOf } from '../tool/sample-tools.js';

const animals = ['zebra one', 'zebra two', 'archive of zebras', 'archive', 'other'].map(
  (description, index) => ({ name: `t${index}`, description }),
);

describe('a search within a search', () => {
  it('leaves both right, and those that follow', () => {
    const registry = registryOf(...animals);
    const before = JSON.stringify([registry.search('zebra'), registry.search('archive')]);
    let inner = '';
    const outer = registry.search('zebra', {
      filter: () => {
        inner = JSON.stringify(registry.search('archive'));
        return true;
      },
    });
    expect(`[${JSON.stringify(outer)},${inner}]`).toBe(before);
    expect(JSON.stringify([registry.search('zebra'), registry.search('archive')])).toBe(before);
  });

  it('that throws leaves the next one right', () => {
    const registry = registryOf(...animals);
    const before = JSON.stringify(registry.search('zebra'));
    expect(() =>
      registry.search('zebra archive', {
        filter: () => {
          throw new Error('stop');
        },
      }),
    ).toThrow('stop');
    expect(JSON.stringify(registry.search('zebra'))).toBe(before);
  });
});

describe('spelling', () => {
  it('does not count a word twice that is there and misspelt as well', () => {
    const registry = registryOf(
      { name: 'a', description: 'calendar' },
      { name: 'b', description: 'umbrella' },
    );
    const scores = (text: string) =>
      registry.search(text).map(({ toolName, score }) => [toolName, score]);
    expect(scores('calendar calander umbrella')).toEqual(scores('calendar umbrella'));
  });

  it('knows only words of tools that are there', () => {
    const registry = registryOf({ name: 'event_list', description: 'calendar' });
    const passing = registryOf({ name: 'gone', description: 'calandar' });
    registry.registerAll([...passing].map(({ definition }) => definition));
    registry.search('x');
    registry.unregister('gone');
    expect(registry.search('calandar').map(({ toolName }) => toolName)).toEqual(['event_list']);
  });

  it('does not correct names', () => {
    expect(
      registryOf({ name: 'marine_traffic', description: 'marine' }).search('say hello to Marina'),
    ).toEqual([]);
  });
});
