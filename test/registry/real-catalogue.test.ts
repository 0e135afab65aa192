import { describe, expect, it } from 'vitest';
import { planExecution, type ToolMetadataRegistry } from '../../src/index.js';
import { activeRows, present, registryOfRows, warnIfAbsent } from './victor-catalogue.js';

warnIfAbsent('real-catalogue.test.ts');

const rows = activeRows();

describe.skipIf(!present)('a real catalogue of 64 tools', () => {
  const catalogue: ToolMetadataRegistry = registryOfRows(rows);

  it('planExecution puts two calls in different batches if they conflict, one reads after the other writes, or both use the same tool', () => {
    const apart = (...pair: readonly string[]) =>
      planExecution(
        catalogue,
        pair.map((name) => ({ name })),
      ).batches.length === 2;
    const parallel = catalogue.getParallelizableTools();
    for (const a of catalogue) {
      expect(apart(a.name, a.name), a.name).toBe(!parallel.has(a.name) || !a.allowParallel);
      for (const b of catalogue) {
        if (a === b) continue;
        const readAndWrite =
          [a, b].filter(({ accessMode }) => accessMode === 'readonly').length === 1 &&
          ![a, b].some(({ executionCategory }) => executionCategory === 'compute');
        expect(apart(a.name, b.name), `${a.name}, ${b.name}`).toBe(
          catalogue.getConflictingTools(a.name).has(b.name) || readAndWrite,
        );
        if (parallel.has(a.name) && parallel.has(b.name))
          expect(apart(a.name, b.name), `${a.name}, ${b.name}`).toBe(false);
      }
    }
  });
});
