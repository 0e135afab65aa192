import { describe, expect, it } from 'vitest';
import { createToolSearchTool, selectTools, type SelectionRequest } from '../../src/index.js';
import { refusal, registryOf } from '../tool/sample-tools.js';

const registry = registryOf({ name: 'a', description: 'Formats text' });
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  text: [undefined],
  stage: [7],
  taskType: [7],
  maxTools: [-1, 1.5],
  tokenBudget: [-1, NaN],
  maxDanger: ['extreme'],
  maxCostTier: ['dear'],
  accessModes: [['read']],
  include: ['a'],
  exclude: ['a'],
  filter: [{ danger: 'low' }, { maxDanger: 'extreme' }],
  previous: [{ tools: 'a' }, { tools: [{ toolName: 'a', level: 'huge', rendered: {} }] }],
  countTokens: ['chars'],
};

describe('invalid selection requests', () => {
  it.each(Object.keys(WRONG))('the error mentions the invalid option: %s', (part) => {
    for (const value of WRONG[part]!) {
      const error = refusal(() => selectTools(registry, { text: 'x', [part]: value }));
      expect([part, value, error.code]).toEqual([part, value, 'INVALID_ARGUMENT']);
      if (part !== 'filter') expect(error.message).toContain(part);
      expect(Array.isArray(error.details['issues'])).toBe(true);
    }
  });

  it("throws for unknown options and for values that aren't requests", () => {
    for (const request of [
      { text: 'x', max: 3 },
      { text: 'x', tokenbudget: 5 },
    ]) {
      expect(
        refusal(() => selectTools(registry, request as unknown as SelectionRequest)).code,
      ).toBe('INVALID_ARGUMENT');
    }
  });
});

describe('invalid options of the tool search', () => {
  it('make createToolSearchTool throw INVALID_ARGUMENT', () => {
    const wrong = [
      { maxResults: 0 },
      { name: 'two words' },
      { maxDanger: 'extreme' },
      { filter: { danger: 'low' } },
      { include: 'a' },
      { bogus: 1 },
    ];
    for (const options of wrong) {
      const error = refusal(() => createToolSearchTool(registry, options as never));
      expect([options, error.code]).toEqual([options, 'INVALID_ARGUMENT']);
    }
  });
});
