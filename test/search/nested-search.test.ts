import { describe, expect, it } from 'vitest';
import { selectTools } from '../../src/index.js';
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

describe('a selection', () => {
  it('cuts by the best tool that may be offered, and not by the votes of past use', () => {
    const registry = registryOf(
      { name: 'weather_report', description: 'Weather report' },
      { name: 'weather_alert', description: 'Weather alerts for a region, sent by mail' },
    );
    const names = (exclude: string[] = []) =>
      selectTools(registry, { text: 'weather report or alert', exclude }).tools.map(
        ({ toolName }) => toolName,
      );
    expect([...names()].sort()).toEqual(['weather_alert', 'weather_report']);
    for (let use = 0; use < 5; use++)
      registry.recordUse({
        text: 'weather report or alert',
        toolName: 'weather_report',
        outcome: 'success',
      });
    expect([...names()].sort()).toEqual(['weather_alert', 'weather_report']);
    expect(names(['weather_report'])).toEqual(['weather_alert']);
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
