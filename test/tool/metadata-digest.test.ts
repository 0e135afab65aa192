import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { mapAxes } from '../../src/tool/axes.js';
import { leavesOf, shuffleKeys, withLeaf } from '../core/json-values.js';
import { EVERY_VALUE as FULL, LEAST, sampleEntry, type LooseOptions } from './sample-tools.js';

/** Returns a different valid value of the same kind. */
function another(path: readonly (string | number)[], leaf: unknown): unknown {
  const place = path.join('.');
  const known: Readonly<Record<string, unknown>> = {
    ...mapAxes((name, { values }) => Object.values(values).find((value) => value !== FULL[name])),
    'sideEffects.0': 'compute',
    'sideEffects.1': 'compute',
    'reads.0': 'untrusted',
    sends: 'nowhere',
    'inputSchema.type': undefined,
    'inputSchema.properties.mark.type': 'number',
    'outputSchema.type': 'string',
    'auth.env.MARK_AUTH': 'optional',
  };
  if (place in known) return known[place];
  if (typeof leaf === 'boolean') return !leaf;
  if (typeof leaf === 'number') return leaf + 1;
  return leaf === null ? 'something' : `${leaf as string}x`;
}

function leafAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((at, step) => (at as Record<string | number, unknown>)[step], value);
}

const digest = sampleEntry(FULL).digest;

it("the digest is a SHA-256 that doesn't depend on the order of keys", () => {
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  fc.assert(
    fc.property(
      fc.nat(),
      (seed) =>
        void expect(sampleEntry(shuffleKeys(FULL, seed) as LooseOptions).digest).toBe(digest),
    ),
  );
});

it.each(leavesOf(FULL).map((path) => [path.join('.'), path] as const))(
  'the digest changes if only %s changes',
  (_, path) => {
    const changed = withLeaf(FULL, path, another(path, leafAt(FULL, path))) as LooseOptions;
    expect(sampleEntry(changed).digest).not.toBe(digest);
  },
);

it.each(Object.keys(FULL).filter((option) => !(option in LEAST) && option !== 'manual'))(
  "the digest changes if %s isn't declared",
  (option) => {
    const changed = Object.fromEntries(Object.entries(FULL).filter(([key]) => key !== option));
    expect(sampleEntry(changed).digest).not.toBe(digest);
  },
);

it('the digest changes if a value is declared instead of inferred', () => {
  expect(sampleEntry({ accessMode: 'mixed' }).digest).not.toBe(sampleEntry().digest);
});

it.each(['dangerFor', 'canonicalInput', 'conflictKeys', 'cacheKey', 'available'])(
  'the digest depends on whether the tool has the function %s, but not on what that function does',
  (option) => {
    const first = sampleEntry({ [option]: () => 'a' }).digest;
    expect(first).not.toBe(sampleEntry().digest);
    expect(first).toBe(sampleEntry({ [option]: () => 'b' }).digest);
  },
);

it('the digest of a tool with a zod schema depends only on its JSON Schema', () => {
  expect(sampleEntry({ inputSchema: z.object({ a: z.string() }) }).digest).toBe(
    sampleEntry({ inputSchema: z.object({ a: z.string() }) }).digest,
  );
  expect(sampleEntry({ inputSchema: z.object({ a: z.string() }) }).digest).not.toBe(
    sampleEntry({ inputSchema: z.object({ a: z.number() }) }).digest,
  );
});
