import { describe, expect, it } from 'vitest';
import { selectTools } from '../../src/index.js';
import {
  activeRows,
  present,
  readShared,
  registryOfRows,
  warnIfAbsent,
} from '../registry/victor-catalogue.js';

// Requests labelled with the tools that serve them, for the recorded catalogue of 64 tools. Five of
// them are CRITICAL.
warnIfAbsent('labelled-requests.test.ts');

const labels = present
  ? Object.entries(
      readShared('golden/victor-labels.json') as Readonly<Record<string, readonly string[]>>,
    )
  : [];
const registry = registryOfRows(activeRows());

/**
 * Returns the mean share of the labelled tools that are selected, and the mean number of selected
 * tools.
 */
function measure(options: { readonly maxTools: number; readonly criticalOutsideLimit?: boolean }) {
  const each = labels.map(([text, wanted]) => {
    const { tools, error } = selectTools(registry, { text, ...options });
    expect(error).toBeUndefined();
    return {
      recall:
        wanted.filter((name) => tools.some(({ toolName }) => toolName === name)).length /
        wanted.length,
      count: tools.length,
    };
  });
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    recall: mean(each.map(({ recall }) => recall)),
    count: mean(each.map(({ count }) => count)),
  };
}

describe.skipIf(!present)('labelled requests', () => {
  it('find at least 88 % of the labelled tools with a limit of eight tools', () => {
    const { recall, count } = measure({ maxTools: 8 });
    console.info(
      `Labelled requests, maxTools 8: recall ${recall.toFixed(3)} with ${count.toFixed(1)} tools`,
    );
    expect(recall).toBeGreaterThanOrEqual(0.88);
    expect(count).toBeLessThanOrEqual(8 + 5);
  });

  it('find fewer of the labelled tools if CRITICAL tools count toward the limit', () => {
    expect(measure({ maxTools: 8, criticalOutsideLimit: false }).recall).toBeLessThan(0.8);
    expect(measure({ maxTools: 13, criticalOutsideLimit: false })).toEqual(
      measure({ maxTools: 8 }),
    );
  });
});
