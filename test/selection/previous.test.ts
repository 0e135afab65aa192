import { describe, expect, it } from 'vitest';
import type { Selection } from '../../src/index.js';
import { registryOf, sample } from '../tool/sample-tools.js';
import { asText, bytes, chosen, costs, droppedBecause, long, select } from './selection-cases.js';

const ranked = (...names: string[]) =>
  names.map((toolName, index) => ({ toolName, score: 10 - index }));
const catalogue = () => registryOf(...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => long(name)));

describe('selectTools with a previous selection', () => {
  it('keeps previous tools in place with the same level and bytes, and adds new tools after them', () => {
    const registry = catalogue();
    const first = select(registry, {
      ranking: ranked('c', 'a'),
      tokenBudget: costs(registry, 'a').full + costs(registry, 'a').compact,
    });
    expect(first.tools.map(({ toolName, level }) => [toolName, level])).toEqual([
      ['c', 'full'],
      ['a', 'compact'],
    ]);
    const second = select(registry, {
      ranking: ranked('b', 'a', 'd'),
      previous: first,
      stage: 'reading',
    });
    expect(chosen(second)).toEqual(['c', 'a', 'b', 'd']);
    expect(bytes(second).slice(0, 2)).toEqual(bytes(first));
    expect(second.tools.map(({ level, reason, score }) => [level, reason, score])).toEqual([
      ['full', 'carried_over', 0],
      ['compact', 'carried_over', 9],
      ['full', 'search', 10],
      ['full', 'search', 8],
    ]);
  });

  it('demotes or drops only new tools to stay within the token budget', () => {
    const registry = catalogue();
    const { full, compact, stub } = costs(registry, 'a');
    const previous = select(registry, { ranking: ranked('a', 'b') });
    const at = (tokenBudget: number) =>
      select(registry, { ranking: ranked('c', 'd'), previous, tokenBudget }).tools.map(
        ({ level }) => level,
      );
    expect(at(2 * full + 2 * compact)).toEqual(['full', 'full', 'compact', 'compact']);
    expect(at(2 * full + 2 * stub)).toEqual(['full', 'full', 'stub', 'stub']);
    expect(at(2 * full + 2 * stub - 1)).toHaveLength(3);
    expect(at(2 * full)).toEqual(['full', 'full']);
  });

  it('drops previous tools, last first, only if a limit was lowered', () => {
    const registry = catalogue();
    const previous = select(registry, { ranking: ranked('a', 'b', 'c') });
    const fewer = select(registry, { ranking: ranked('d'), previous, maxTools: 2 });
    expect([chosen(fewer), droppedBecause(fewer)]).toEqual([
      ['a', 'b'],
      { c: 'max_tools', d: 'max_tools' },
    ]);
    const guaranteed = select(registry, { include: ['d'], previous, maxTools: 2 });
    expect([chosen(guaranteed), droppedBecause(guaranteed)]).toEqual([
      ['a', 'b', 'd'],
      { c: 'max_tools' },
    ]);
  });

  it('drops forbidden or removed tools with a reason and keeps the other tools', () => {
    const registry = catalogue();
    const previous = select(registry, { ranking: ranked('a', 'b', 'c', 'd') });
    registry.unregister('d');
    const selection = select(registry, { ranking: ranked('b', 'e'), previous, exclude: ['b'] });
    expect([chosen(selection), droppedBecause(selection)]).toEqual([
      ['a', 'c', 'e'],
      { b: 'excluded', d: 'unknown' },
    ]);
    expect(bytes(selection).slice(0, 2)).toEqual([bytes(previous)[0], bytes(previous)[2]]);
  });

  it('keeps a replaced tool in place, but may demote the tool because its text is new', () => {
    const registry = catalogue();
    const previous = select(registry, { ranking: ranked('a', 'b') });
    registry.registerAll([sample(long('b', { compact: true, description: 'Forecasts it anew' }))], {
      replace: true,
    });
    expect(
      select(registry, { previous }).tools.map(({ toolName, level }) => [toolName, level]),
    ).toEqual([
      ['a', 'full'],
      ['b', 'stub'],
    ]);
  });

  it('accepts a previous selection that was parsed from JSON', () => {
    const registry = catalogue();
    const previous = select(registry, { ranking: ranked('c', 'a') });
    const stored = JSON.parse(asText(previous)) as Selection;
    const request = { ranking: ranked('b'), previous: stored };
    expect(bytes(select(registry, request))).toEqual(
      bytes(select(registry, { ...request, previous })),
    );
  });

  it("doesn't carry over HIGH tools that only filled up the previous selection", () => {
    const registry = registryOf(
      long('a'),
      long('b'),
      long('filler_1', { priority: 1 }),
      long('filler_2', { priority: 1 }),
    );
    const first = select(registry, { ranking: ranked('a'), maxTools: 3 });
    expect(first.tools.map(({ toolName, reason }) => [toolName, reason])).toEqual([
      ['a', 'search'],
      ['filler_1', 'high_priority'],
      ['filler_2', 'high_priority'],
    ]);
    expect(bytes(select(registry, { ranking: ranked('a'), maxTools: 3, previous: first }))).toEqual(
      bytes(first),
    );
    const second = select(registry, { ranking: ranked('b'), maxTools: 3, previous: first });
    expect(chosen(second)).toEqual(['a', 'b', 'filler_1']);
    expect(bytes(second)[0]).toBe(bytes(first)[0]);
  });
});
