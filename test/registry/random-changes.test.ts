import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isToolError, ToolMetadataRegistry, type ToolEntry } from '../../src/index.js';
import { sample, sampleEntry, type LooseOptions } from '../tool/sample-tools.js';
import { NAMES, toolOptions } from './arbitrary-tools.js';
import { answersOf, naiveAnswers } from './naive-registry.js';
import { propertyRuns } from '../property-runs.js';

type Step =
  | { readonly register: readonly LooseOptions[]; readonly replace: boolean }
  | { readonly unregister: string };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      register: fc.array(toolOptions, { maxLength: 3 }),
      replace: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ unregister: fc.constantFrom<string>(...NAMES, 'one', 'nobody') }),
  },
);

/** Applies a step to a plain list of entries. Returns nothing if the step is refused. */
function applied(entries: readonly ToolEntry[], change: Step): readonly ToolEntry[] | undefined {
  if ('unregister' in change) return entries.filter(({ name }) => name !== change.unregister);
  const added = change.register.map(sampleEntry);
  if (!change.replace) {
    const taken = new Set(entries.flatMap(({ name, aliases }) => [name, ...aliases]));
    for (const { name, aliases } of added) {
      const own = new Set([name, ...aliases]);
      for (const each of own) if (taken.has(each)) return undefined;
      for (const each of own) taken.add(each);
    }
  }
  return added.reduce(
    (list, entry) => [...list.filter(({ name }) => name !== entry.name), entry],
    entries,
  );
}

/** Applies a step to a registry. Returns true if it was accepted. */
function apply(registry: ToolMetadataRegistry, change: Step): boolean {
  if ('unregister' in change) {
    registry.unregister(change.unregister);
    return true;
  }
  try {
    registry.registerAll(change.register.map(sample), { replace: change.replace });
    return true;
  } catch (error) {
    if (!isToolError(error, 'DUPLICATE_TOOL')) throw error;
    return false;
  }
}

it('after each of 200 random changes, all queries return the same as a recount of the entries', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 200, maxLength: 200, size: 'max' }), (steps) => {
      const registry = new ToolMetadataRegistry();
      let entries: readonly ToolEntry[] = [];
      for (const [index, change] of steps.entries()) {
        const revision = registry.revision;
        const next = applied(entries, change);
        expect(apply(registry, change)).toBe(next !== undefined);
        const changed =
          next !== undefined &&
          !('register' in change ? change.register.length === 0 : next.length === entries.length);
        expect(registry.revision).toBe(revision + (changed ? 1 : 0));
        entries = next ?? entries;
        if (index % 10 === 9) expect(answersOf(registry)).toEqual(naiveAnswers(entries));
        else
          expect([...registry].map(({ digest }) => digest)).toEqual(
            entries.map(({ digest }) => digest),
          );
      }
    }),
    { numRuns: propertyRuns(6) },
  );
});
