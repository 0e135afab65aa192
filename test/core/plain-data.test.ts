import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  cloneFrozen,
  compareText,
  describeValue,
  digestOf,
  MAX_DATA_DEPTH,
} from '../../src/core/plain-data.js';
import { isDeepFrozen, leavesOf, shuffleKeys, withLeaf } from './json-values.js';

function nested(levels: number): unknown {
  let value: unknown = 'leaf';
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { value };
  return value;
}

describe('canonicalJson', () => {
  it('returns JSON that parses back to the same data', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        (value) =>
          void expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value))),
      ),
    );
  });

  it("doesn't depend on the order of keys at any depth", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.nat(),
        (value, seed) =>
          void expect(canonicalJson(shuffleKeys(value, seed))).toBe(canonicalJson(value)),
      ),
    );
  });

  it('differs if any leaf value differs', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), (value, pick) => {
        const leaves = leavesOf(value);
        fc.pre(leaves.length > 0);
        const changed = withLeaf(value, leaves[pick % leaves.length]!, 'another leaf');
        expect(canonicalJson(changed)).not.toBe(canonicalJson(value));
        expect(digestOf(changed)).not.toBe(digestOf(value));
      }),
    );
  });

  it('drops undefined values and keeps the key __proto__', () => {
    expect(canonicalJson({ b: undefined, a: 1 })).toBe('{"a":1}');
    expect(canonicalJson(JSON.parse('{"__proto__":{"x":1},"a":2}'))).toBe(
      '{"__proto__":{"x":1},"a":2}',
    );
  });

  it('orders keys by code units in any locale', () => {
    expect(canonicalJson({ ä: 1, z: 2, Z: 3, a: 4 })).toBe('{"Z":3,"a":4,"z":2,"ä":1}');
    expect(['b', 'a', 'B'].sort(compareText)).toEqual(['B', 'a', 'b']);
  });

  it('text with different lone surrogates has different digests', () => {
    expect(digestOf('\ud800')).not.toBe(digestOf('\ud801'));
    expect(digestOf('x')).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('cloneFrozen', () => {
  it('returns a deeply frozen copy of JSON values that shares nothing with the original', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = cloneFrozen(value);
        expect(canonicalJson(copy)).toBe(canonicalJson(value));
        expect(isDeepFrozen(copy)).toBe(true);
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value);
      }),
    );
  });

  it('keeps the key __proto__', () => {
    const copy = cloneFrozen(JSON.parse('{"__proto__":{"polluted":true}}') as object);
    expect(Object.keys(copy)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect((copy as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each([
    ['a function', { a: { b: () => 1 } }, 'a.b'],
    ['a symbol', { a: [Symbol('x')] }, 'a[0]'],
    ['a class instance', { a: new Map() }, 'a'],
    ['a date', { a: new Date(0) }, 'a'],
    ['NaN', { a: NaN }, 'a'],
    ['Infinity', [1, -Infinity], '[1]'],
    ['a bigint', { a: 1n }, 'a'],
    ['undefined in a list', { a: [undefined] }, 'a[0]'],
  ])('rejects %s and includes the path in the error', (_, value, place) => {
    expect(() => cloneFrozen<unknown>(value)).toThrow(TypeError);
    expect(() => cloneFrozen<unknown>(value)).toThrow(` at ${place}`);
  });

  it('rejects cycles and data nested more than 64 levels deep', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    expect(() => cloneFrozen(cycle)).toThrow(/levels deep \(or a cycle\)/);
    expect(() => cloneFrozen(nested(MAX_DATA_DEPTH + 1))).toThrow(TypeError);
    expect(cloneFrozen(nested(MAX_DATA_DEPTH))).toEqual(nested(MAX_DATA_DEPTH));
  });
});

describe('describeValue', () => {
  it.each([
    [null, 'null'],
    [undefined, 'undefined'],
    ['text', '"text"'],
    ['x'.repeat(100), `"${'x'.repeat(60)}…"`],
    [4, '4'],
    [false, 'false'],
    [7n, '7n'],
    [() => 1, 'a function'],
    [Symbol('secret'), 'a symbol'],
    [[1, 2], 'a list of 2'],
    [{ secret: 1 }, 'an object'],
  ])('describes %s as %s', (value, text) => {
    expect(describeValue(value)).toBe(text);
  });
});
