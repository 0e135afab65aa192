import { describe, expect, it } from 'vitest';
import { registryOf } from '../tool/sample-tools.js';

describe('spelling correction', () => {
  it('a misspelled word adds nothing if the correct word is in the query too', () => {
    const registry = registryOf(
      { name: 'a', description: 'calendar' },
      { name: 'b', description: 'umbrella' },
    );
    const scores = (text: string) =>
      registry.search(text).map(({ toolName, score }) => [toolName, score]);
    expect(scores('calendar calander umbrella')).toEqual(scores('calendar umbrella'));
  });

  it('words are corrected only to words of registered tools', () => {
    const registry = registryOf({ name: 'event_list', description: 'calendar' });
    const passing = registryOf({ name: 'gone', description: 'calandar' });
    registry.registerAll([...passing].map(({ definition }) => definition));
    registry.search('x');
    registry.unregister('gone');
    expect(registry.search('calandar').map(({ toolName }) => toolName)).toEqual(['event_list']);
  });

  it("names of people aren't corrected", () => {
    expect(
      registryOf({ name: 'marine_traffic', description: 'marine' }).search('say hello to Marina'),
    ).toEqual([]);
  });
});
