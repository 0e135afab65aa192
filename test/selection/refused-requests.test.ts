import { describe, expect, it } from 'vitest';
import { createToolSearchTool, selectTools, type SelectionRequest } from '../../src/index.js';
import { refusal, registryOf } from '../tool/sample-tools.js';

const registry = registryOf({ name: 'a', description: 'Formats text' });
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  text: [undefined, null, 7, ['x']],
  stage: [7, null, ['reading']],
  taskType: [7, null],
  maxTools: [-1, 1.5, NaN, Infinity, '3', null],
  tokenBudget: [-1, NaN, '3', null],
  maxDanger: ['extreme', 3, null, 'SAFE'],
  maxCostTier: ['dear', 0],
  accessModes: ['readonly', ['read'], [undefined]],
  include: ['a', [7], null],
  exclude: ['a', [null], {}],
  filter: [7, null, { danger: 'low' }, { maxDanger: 'extreme' }, [], () => true],
  previous: [
    7,
    {},
    { tools: 'a' },
    { tools: [null] },
    { tools: ['a'] },
    { tools: [{ toolName: 7, level: 'full' }] },
    { tools: [{ toolName: 'a', level: 'huge', rendered: {} }] },
  ],
  rank: [7, [{ toolName: 'a', score: 1 }]],
  countTokens: [7, 'chars', null],
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

  it.each([7, [{ toolName: 'a' }], [{ toolName: 7, score: 1 }], [{ toolName: 'a', score: NaN }]])(
    'throws if the ranking is %j',
    (ranking) => {
      const error = refusal(() =>
        selectTools(registry, { text: 'x', rank: () => ranking as never }),
      );
      expect([error.code, error.message]).toEqual([
        'INVALID_ARGUMENT',
        expect.stringContaining('a rank function that returns [{ toolName, score }]'),
      ]);
    },
  );

  it("throws for unknown options and for values that aren't requests", () => {
    for (const request of [
      { text: 'x', max: 3 },
      { text: 'x', tokenbudget: 5 },
      undefined,
      null,
      'x',
      [],
      { text: 'x', constructor: 1 },
    ]) {
      expect(
        refusal(() => selectTools(registry, request as unknown as SelectionRequest)).code,
      ).toBe('INVALID_ARGUMENT');
    }
  });

  it('lists all invalid options of a request in one error', () => {
    const { message } = refusal(() =>
      selectTools(registry, {
        maxTools: -1,
        maxDanger: 'extreme',
        bogus: 1,
      } as unknown as SelectionRequest),
    );
    for (const part of ['text', 'maxTools', 'maxDanger', 'bogus']) expect(message).toContain(part);
  });
});

describe('invalid options of the tool search', () => {
  it('are checked in the same way', () => {
    const wrong = [
      { maxResults: 0 },
      { maxResults: 1.5 },
      { name: 7 },
      { name: 'two words' },
      { name: '' },
      { maxDanger: 'extreme' },
      { exclude: 'a' },
      { filter: { danger: 'low' } },
      { include: ['a'] },
      { bogus: 1 },
      null,
    ];
    for (const options of wrong) {
      const error = refusal(() => createToolSearchTool(registry, options as never));
      expect([options, error.code]).toEqual([options, 'INVALID_ARGUMENT']);
    }
  });
});
