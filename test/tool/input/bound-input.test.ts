import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundInput } from '../../../src/tool/bound-input.js';
import { isDeepFrozen } from '../../core/json-values.js';
import { refusal } from '../sample-tools.js';
import { propertyRuns } from '../../property-runs.js';

const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];
// Characters that JSON writes as one, two, three, four, and six bytes.
const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom('"', '\\', '\n', '\u0000', '\u007f', 'é', '€', '😀', '\ud800', '\udfff'),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  ),
});
const anyJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    anyText,
    fc.array(tie('value')),
    fc.dictionary(fc.oneof(anyText, fc.constantFrom(...NAMES)), tie('value')),
  ),
})).value;

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}
const inList = (inner: unknown) => [inner];
const inObject = (inner: unknown) => ({ inner });

describe('boundInput', () => {
  it('boundInput returns a frozen JSON round trip of any JSON value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const copy = boundInput(value);
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
        expect(isDeepStrictEqual(copy, JSON.parse(JSON.stringify(value)))).toBe(true);
        expect(isDeepFrozen(copy)).toBe(true);
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('boundInput counts exactly the bytes of the JSON text', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const bytes = Buffer.byteLength(JSON.stringify(value));
        expect(JSON.stringify(boundInput(value, bytes))).toBe(JSON.stringify(value));
        expect(refusal(() => boundInput(value, bytes - 1)).code).toBe('LIMIT_EXCEEDED');
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('boundInput turns a missing input into {}, drops undefined properties, and normalizes −0', () => {
    expect(boundInput(undefined)).toEqual({});
    expect(boundInput({ a: undefined, b: 1 })).toStrictEqual({ b: 1 });
    expect(Object.is(boundInput(-0), 0)).toBe(true);
  });

  it('boundInput accepts 64 levels of lists and objects, and refuses 65', () => {
    for (const wrap of [inList, inObject]) {
      expect(boundInput(nested(64, wrap))).toEqual(nested(64, wrap));
      expect(refusal(() => boundInput(nested(65, wrap))).code).toBe('LIMIT_EXCEEDED');
    }
  });

  const circle: Record<string, unknown> = {};
  circle['a'] = circle;
  circle['b'] = circle;
  let doubled: unknown = 'x';
  for (let level = 0; level < 60; level++) doubled = [doubled, doubled];

  it.each([
    ['a list 100,000 deep', () => nested(100_000, inList)],
    ['a cycle with two paths', () => circle],
    ['a value shared 2⁶⁰ times', () => doubled],
    ['a text of 10 MB', () => 'x'.repeat(10_000_000)],
    ['a list with four billion holes', () => new Array<number>(4_000_000_000)],
  ])('boundInput stops at a limit when it gets %s', (_, make) => {
    const error = refusal(() => boundInput(make()));
    expect(error.code).toBe('LIMIT_EXCEEDED');
    expect(error.message).toMatch(/^Expected (?:an input|at most) .*, got (?:more|deeper)/);
    expect(error.message.length).toBeLessThan(300);
  });

  it.each([
    ['a function', { a: { b: () => 1 } }, 'a.b: ', 'a function'],
    ['a date', { a: [0, new Date(0)] }, 'a[1]: ', 'an object'],
    // eslint-disable-next-line no-sparse-arrays
    ['a hole in a list', [1, , 2], '[1]: ', 'undefined'],
  ])('boundInput refuses %s, and reports its path and value', (_, value, place, found) => {
    const error = refusal(() => boundInput(value));
    expect(error.code).toBe('INVALID_INPUT');
    expect(error.message).toBe(
      `${place}Expected plain data (text, finite numbers, booleans, null, lists, objects), got ${found}.`,
    );
  });
});
