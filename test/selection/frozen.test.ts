import { describe, expect, it } from 'vitest';
import { registryOf } from '../tool/sample-tools.js';
import { costs, long, select } from './selection-cases.js';

/** Returns the paths of everything in a value that can be changed. */
function changeable(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null || value instanceof Error) return [];
  return [
    ...(Object.isFrozen(value) ? [] : [path || 'the result']),
    ...Object.entries(value).flatMap(([key, item]) =>
      key === 'entry' ? [] : changeable(item, `${path}.${key}`),
    ),
  ];
}

describe('selectTools', () => {
  const registry = registryOf(long('a'), long('b', { compact: true }), long('c', { priority: 0 }));

  it("returns a deeply frozen selection, including the error's details", () => {
    const { compact, stub } = costs(registry, 'a');
    for (const tokenBudget of [10_000, compact + 2 * stub, 3 * stub, 1]) {
      const selection = select(registry, {
        text: 'weather forecast',
        tokenBudget,
        exclude: ['none'],
      });
      expect([tokenBudget, changeable(selection)]).toEqual([tokenBudget, []]);
      if (selection.error !== undefined) expect(changeable(selection.error.details)).toEqual([]);
    }
  });
});
