import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isToolError, issuesOf, type ToolError } from '../../src/core/errors.js';
import { unknownOption } from '../../src/core/issues.js';
import {
  checkOptions,
  clock,
  milliseconds,
  secret,
  text,
  wholeBetween,
  withMethods,
} from '../../src/core/options.js';

const schema = z.strictObject({
  name: text().optional(),
  timeoutMs: milliseconds().default(1_000),
  retries: wholeBetween(0, 5).default(3),
  store: withMethods<{ get(): unknown }>('a store', 'get').optional(),
  clock: clock().optional(),
  token: secret<string>(
    '16 characters',
    (value) => typeof value === 'string' && value.length === 16,
    'Make them with openssl rand.',
  ).optional(),
  inner: z.strictObject({ danger: z.enum(['low', 'high']).optional() }).optional(),
});

function refusalOf(options: unknown): ToolError {
  try {
    checkOptions(schema, options, 'options of the sample');
  } catch (error) {
    if (isToolError(error, 'INVALID_ARGUMENT')) return error;
    throw error;
  }
  throw new Error('accepted');
}

describe('reading options', () => {
  it('returns frozen options with defaults and leaves the passed object unchanged', () => {
    const options = { name: 'a', retries: undefined };
    const checked = checkOptions(schema, options, 'options of the sample');
    expect(checked).toEqual({ name: 'a', timeoutMs: 1_000, retries: 3 });
    expect(Object.isFrozen(checked)).toBe(true);
    expect(Object.isFrozen(options)).toBe(false);
    expect(options).toEqual({ name: 'a', retries: undefined });
    expect(checkOptions(schema, undefined, 'options of the sample')).toEqual({
      timeoutMs: 1_000,
      retries: 3,
    });
  });

  it('reports all invalid options in one error, each with its path, expectation, value, and advice', () => {
    const error = refusalOf({
      name: ' ',
      timeoutMs: 0,
      retries: 1.5,
      store: Promise.resolve(),
      timeoutMS: 5,
      inner: { danger: 'lo', dangre: 1 },
      other: 1,
    });
    expect(error.message).toBe(
      [
        'Invalid options of the sample:',
        'name: Expected a string that isn\'t blank, got " ".',
        'timeoutMs: Expected milliseconds from 1 to 2147483647, got 0.',
        'retries: Expected a whole number from 0 to 5, got 1.5.',
        'store: Expected a store, got a promise. Await it first.',
        'inner.danger: Expected one of "low", "high", got "lo". Did you mean "low"?',
        'inner: Expected a known option, got "dangre". Did you mean "danger"?',
        'Expected a known option, got "timeoutMS". Did you mean "timeoutMs"?',
        'Expected a known option, got "other". Known options: name, timeoutMs, retries, store, clock, token, inner.',
      ].join('\n  '),
    );
    expect(issuesOf(error)).toHaveLength(8);
    expect(issuesOf(error)[4]).toEqual({
      path: ['inner', 'danger'],
      message: 'Expected one of "low", "high", got "lo". Did you mean "low"?',
    });
  });

  it('suggests several options if they start with the given name', () => {
    expect(unknownOption('max', ['maxDanger', 'maxTools', 'text'])).toBe(
      'Expected a known option, got "max". Did you mean "maxTools" or "maxDanger"?',
    );
  });

  it.each([
    [null, 'null'],
    [5, '5'],
    [[], 'a list of 0'],
    [new Map(), 'an instance of Map'],
    [Promise.resolve({}), 'a promise. Await it first'],
  ])("rejects options that aren't a plain object: %s", (options, got) => {
    expect(refusalOf(options).message).toBe(
      `Invalid options of the sample:\n  Expected a plain object, got ${got}.`,
    );
  });

  it('treats options named __proto__ or constructor as unknown', () => {
    expect(refusalOf(JSON.parse('{"__proto__": 1}')).message).toContain(
      'Expected a known option, got "__proto__".',
    );
    expect(refusalOf({ constructor: 1 }).message).toContain(
      'Expected a known option, got "constructor".',
    );
  });

  it('never shows the value of a secret option', () => {
    const error = refusalOf({ token: 'hunter2' });
    expect(error.message).toContain(
      'token: Expected 16 characters, got a string. Make them with openssl rand.',
    );
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });
});
