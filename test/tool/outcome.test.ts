import { expect, it } from 'vitest';
import { askUser, fail, halt, ok } from '../../src/index.js';
import { isToolResult } from '../../src/tool/outcome.js';

it('results are frozen, and nothing else counts as a result', () => {
  for (const result of [ok(1), fail('x'), askUser('?'), halt('r', 1)]) {
    expect(Object.isFrozen(result)).toBe(true);
    expect(isToolResult(result)).toBe(true);
    expect(isToolResult({ ...result })).toBe(false);
  }
  for (const value of [undefined, null, 'ok', { status: 'ok', value: 1 }])
    expect(isToolResult(value)).toBe(false);
});

it('askUser keeps choices, a time limit, or only the question', () => {
  expect(askUser('Which?', { choices: ['a', 'b'], timeoutMs: 30_000 })).toEqual({
    status: 'ask_user',
    question: 'Which?',
    options: ['a', 'b'],
    timeoutMs: 30_000,
  });
  expect(askUser('Which?', { timeoutMs: 5 })).toEqual({
    status: 'ask_user',
    question: 'Which?',
    timeoutMs: 5,
  });
  expect(askUser('Which?', {})).toEqual(askUser('Which?'));
});

it.each([{ choices: [] }, { choices: [''] }, { timeoutMs: 0 }])(
  'askUser refuses the options %j',
  (options) => {
    expect(() => askUser('Which?', options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  },
);
