import { describe, expect, it } from 'vitest';
import { withClones } from './clones.js';
import { groupByExclusion } from './feedback.js';
import { definitionsOf, NameGiver, type BenchTool } from './retrieval-sets.js';

describe('names in a retrieval set', () => {
  it('are valid tool names and never used twice', () => {
    const names = new NameGiver();
    const given = ['GET /movie/{id}', 'a', 'a', 'a_2', 'a', '!'].map((name) => names.give(name));
    expect(given).toEqual(['GET__movie__id_', 'a', 'a_2', 'a_2_2', 'a_3', '_']);
    expect(names.give('x'.repeat(187))).toBe('x'.repeat(100));
  });

  it('are mapped to ids, and tools declare only what the set contains', () => {
    const tools: BenchTool[] = [
      {
        id: 'one',
        name: 'find it',
        description: ' ',
        category: ' ',
        parameters: [
          { name: 'q', description: 'what' },
          { name: 'n', description: '' },
        ],
        examples: ['find my keys'],
      },
      { id: 'two', name: 'find it', description: 'Finds' },
    ];
    const { definitions, idOf } = definitionsOf({ name: 'made up', tools, queries: [] });
    expect([...idOf]).toEqual([
      ['find_it', 'one'],
      ['find_it_2', 'two'],
    ]);
    expect(definitions[0]).toMatchObject({
      name: 'find_it',
      description: 'find it',
      inputSchema: {
        type: 'object',
        properties: { q: { type: 'string', description: 'what' }, n: { type: 'string' } },
      },
    });
    expect(definitions[0]).not.toHaveProperty('category');
    expect(definitions[0]).not.toHaveProperty('examples');
  });
});

describe('the history in the feedback protocol', () => {
  const query = (text: string) => ({ id: text, text, relevant: [] });

  it('leaves out requests that are too similar to a tested request, but only for that tested request', () => {
    const history = [
      query('Open the red door'),
      query('weather in Rome'),
      query('open the green door now'),
    ];
    // Similar requests share 4 of 4 or 3 of 6 words. Sharing 3 of 7 words isn't enough.
    const groups = groupByExclusion(history, [
      query('open the RED door!'),
      query('play music'),
      query('open the door to my house'),
      query('sing'),
    ]);
    expect(
      groups.map(({ excluded, queries }) => [[...excluded], queries.map(({ text }) => text)]),
    ).toEqual([
      [[0, 2], ['open the RED door!']],
      [[], ['play music', 'open the door to my house', 'sing']],
    ]);
  });
});

describe('cloned tools', () => {
  const tools: BenchTool[] = Array.from({ length: 50 }, (_, index) => ({
    id: `t${index}`,
    name: `tool${index}`,
    description: Array.from({ length: 40 }, (__, each) => `w${index}x${each}`).join(' '),
  }));

  it('are the same for the same seed, and start with the original tools', () => {
    const clones = [...withClones(tools, 120)];
    expect(clones.slice(0, 50)).toEqual(tools);
    expect(clones).toEqual([...withClones(tools, 120)]);
    expect(clones).not.toEqual([...withClones(tools, 120, 2)]);
    expect(clones.slice(100, 102).map(({ id, name }) => [id, name])).toEqual([
      ['t0_2', 'tool0_2'],
      ['t1_2', 'tool1_2'],
    ]);
    expect(new Set(clones.map(({ id }) => id)).size).toBe(120);
  });
});
