import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DefinitionPins } from '../../src/mcp/pins/definition-pins.js';
import { leavesOf, withLeaf, type LeafPath } from '../core/json-values.js';
import { definitions } from './pin-samples.js';
import { propertyRuns } from '../property-runs.js';

function pinsOf(definition: unknown): DefinitionPins {
  const pins = new DefinitionPins({ onNew: 'quarantine' });
  pins.approve('server', definition);
  return pins;
}

const at = (value: unknown, path: LeafPath): unknown =>
  path.reduce<unknown>(
    (each, step) => Object.getOwnPropertyDescriptor(each, step)?.value as unknown,
    value,
  );

/** Another value of the same type. */
function changed(leaf: unknown, seed: number): unknown {
  if (typeof leaf === 'string')
    return [
      `${leaf} `,
      `${leaf}\u0000`,
      leaf === '' ? 'a' : [...leaf].slice(1).join(''),
      `\u200b${leaf}`,
    ][seed % 4];
  if (typeof leaf === 'number')
    return [leaf + 1, -leaf - 1, leaf === 0 ? 5e-324 : leaf * (1 - 2 ** -52)][seed % 3];
  if (typeof leaf === 'boolean') return !leaf;
  return Array.isArray(leaf) ? [null] : leaf === null ? false : { '': null };
}

/** A value that reads much the same and is of another type. */
function retyped(leaf: unknown): unknown {
  if (typeof leaf === 'string') return [leaf];
  if (leaf === null) return 'null';
  return typeof leaf === 'object' ? (Array.isArray(leaf) ? {} : []) : JSON.stringify(leaf);
}

/** One thing is different: a leaf is changed, retyped or removed, or one is added beside it. */
function mutated(definition: unknown, path: LeafPath, kind: string, seed: number): unknown {
  const leaf = at(definition, path);
  if (kind === 'change') return withLeaf(definition, path, changed(leaf, seed));
  if (kind === 'retype') return withLeaf(definition, path, retyped(leaf));
  const parentPath = path.slice(0, -1);
  const parent = at(definition, parentPath) as object;
  const step = path.at(-1)!;
  if (Array.isArray(parent))
    return withLeaf(
      definition,
      parentPath,
      kind === 'remove'
        ? parent.filter((_, index) => index !== step)
        : parent.toSpliced(Number(step), 0, 'added'),
    );
  const entries = Object.entries(parent);
  return withLeaf(
    definition,
    parentPath,
    Object.fromEntries(
      kind === 'remove'
        ? entries.filter(([key]) => key !== step)
        : [...entries, [`${step}+`, null]],
    ),
  );
}

const mutations = fc
  .record({
    definition: definitions,
    seed: fc.nat(),
    kind: fc.constantFrom('change', 'retype', 'remove', 'add'),
  })
  .chain(({ definition, ...rest }) =>
    fc.constantFrom(...leavesOf(definition)).map((path) => ({ definition, path, ...rest })),
  )
  .map(({ definition, path, kind, seed }) => ({
    definition,
    mutant: mutated(definition, path, kind, seed),
  }))
  .filter(({ definition, mutant }) => !isDeepStrictEqual(definition, mutant));

describe('a pin', () => {
  it('notices a change of any single value, and the diff shows it', () => {
    fc.assert(
      fc.property(mutations, ({ definition, mutant }) => {
        const pins = pinsOf(definition);
        expect(pins.check('server', definition)).toEqual({ ok: true });
        expect(pins.check('server', mutant).ok).toBe(false);
        if (
          typeof (mutant as typeof definition).name === 'string' &&
          (mutant as typeof definition).name !== ''
        )
          expect(pins.diff('server', mutant)).not.toEqual([]);
      }),
      { numRuns: propertyRuns(800) },
    );
  });
});
