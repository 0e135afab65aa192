import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ImmutableSet } from '../../src/registry/immutable-set.js';

const members = fc.uniqueArray(fc.constantFrom<string>('a', 'b', 'c', 'd', 'e', 'f', '__proto__'));

describe('ImmutableSet', () => {
  it('reads like the native set it was made from, in the same order', () => {
    fc.assert(
      fc.property(members, fc.string(), (values, other) => {
        const native = new Set(values);
        const immutable = new ImmutableSet(values);
        expect([...immutable]).toEqual([...native]);
        expect([...immutable.keys()]).toEqual([...native.keys()]);
        expect([...immutable.values()]).toEqual([...native.values()]);
        expect([...immutable.entries()]).toEqual([...native.entries()]);
        expect(immutable.size).toBe(native.size);
        for (const value of [...values, other])
          expect(immutable.has(value)).toBe(native.has(value));
        const visited: unknown[] = [];
        immutable.forEach((...call) => visited.push(call));
        expect(visited).toEqual([...native].map((value) => [value, value, immutable]));
      }),
    );
  });

  it('counts a repeated value once', () => {
    expect(new ImmutableSet(['a', 'a', 'b']).size).toBe(2);
  });

  it('cannot be changed through the methods of Set, through assignment or through its source', () => {
    const source = new Set(['a']);
    const set = new ImmutableSet(source);
    for (const method of ['add', 'delete', 'clear'] as const) {
      expect(() =>
        (Set.prototype[method] as (this: unknown, value: string) => unknown).call(set, 'a'),
      ).toThrow(TypeError);
      expect(method in set).toBe(false);
    }
    expect(() => Object.assign(set, { size: 9 })).toThrow(TypeError);
    expect(() => Object.assign(set, { has: () => true })).toThrow(TypeError);
    source.add('b');
    expect([...set]).toEqual(['a']);
  });

  it('leaves exactly one value out with without, again and again', () => {
    fc.assert(
      fc.property(members, members, (values, left) => {
        const all = new ImmutableSet(values);
        const view = left.reduce((set, value) => set.without(value), all);
        const expected = values.filter((value) => !left.includes(value));
        expect([...view]).toEqual(expected);
        expect(view.size).toBe(expected.length);
        for (const value of values) expect(view.has(value)).toBe(expected.includes(value));
        expect([...all]).toEqual(values);
      }),
    );
  });

  it('is copied with what it leaves out', () => {
    const view = new ImmutableSet(['a', 'b', 'c']).without('b');
    const copy = new ImmutableSet(view);
    expect([...copy]).toEqual(['a', 'c']);
    expect(copy.has('b')).toBe(false);
    expect(copy.size).toBe(2);
  });

  it('has the set algebra of newer runtimes, also for views and native sets', () => {
    fc.assert(
      fc.property(members, members, members, fc.boolean(), (first, left, second, native) => {
        const a = left.reduce((set, value) => set.without(value), new ImmutableSet(first));
        const b = native ? new Set(second) : new ImmutableSet(second);
        const inA = [...a];
        expect([...a.union(b)].sort()).toEqual([...new Set([...inA, ...second])].sort());
        expect([...a.intersection(b)].sort()).toEqual(
          inA.filter((value) => second.includes(value)).sort(),
        );
        expect([...a.difference(b)].sort()).toEqual(
          inA.filter((value) => !second.includes(value)).sort(),
        );
        expect([...a.symmetricDifference(b)].sort()).toEqual(
          [...inA, ...second]
            .filter((value) => inA.includes(value) !== second.includes(value))
            .sort(),
        );
        expect(a.isSubsetOf(b)).toBe(inA.every((value) => second.includes(value)));
        expect(a.isSupersetOf(b)).toBe(second.every((value) => inA.includes(value)));
        expect(a.isDisjointFrom(b)).toBe(!inA.some((value) => second.includes(value)));
      }),
    );
  });

  it('is a list as JSON and a set on the console', () => {
    const set = new ImmutableSet(['b', 'a']);
    expect(JSON.stringify({ set })).toBe('{"set":["b","a"]}');
    expect(inspect(set)).toBe("Set(2) { 'b', 'a' }");
    expect(Object.prototype.toString.call(set)).toBe('[object Set]');
  });
});
