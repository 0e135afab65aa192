import { describe, expect, it } from 'vitest';
import { registryOf } from '../tool/sample-tools.js';

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
