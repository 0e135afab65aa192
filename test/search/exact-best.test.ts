import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { registryOf } from '../tool/sample-tools.js';

const WORDS = ['file', 'files', 'read', 'write', 'tax', 'weather', 'forecast', 'delete', 'remove', 'list', 'image', 'photo', 'bitcoin', 'crypto', 'get', 'user', 'git', 'diff', 'commit', 'the'];
const word = fc.constantFrom(...WORDS);
const phrase = (most: number) => fc.array(word, { minLength: 1, maxLength: most }).map((words) => words.join(' '));
const tool = fc.record({
  description: phrase(12),
  keywords: fc.uniqueArray(phrase(2), { maxLength: 4 }),
  examples: fc.array(phrase(6), { maxLength: 2 }),
  priority: fc.constantFrom(0, 1, 2, 3),
});
const catalogue = fc.array(fc.tuple(fc.array(word, { minLength: 1, maxLength: 3 }), tool), { minLength: 1, maxLength: 120 });

const registryWith = (tools: readonly (readonly [readonly string[], object])[]) => registryOf(...tools.map(([name, options], index) => ({ ...options, name: `${name.join('_')}_${index}` })));
const brief = (results: readonly { toolName: string; score: number }[]) => results.map(({ toolName, score }) => [toolName, score]);

describe('search', () => {
  it('passes over tools that cannot be among the best, and no others: the best k are the first k of all', () => {
    fc.assert(
      fc.property(catalogue, phrase(8), fc.integer({ min: 1, max: 40 }), (tools, text, k) => {
        const registry = registryWith(tools);
        const all = brief(registry.search(text, { limit: tools.length }));
        expect(brief(registry.search(text, { limit: k }))).toEqual(all.slice(0, k));
      }),
      { numRuns: 300 },
    );
  });

  it('gives the same scores to the same tools, in whatever steps they came and whoever else came and went', () => {
    fc.assert(
      fc.property(catalogue, catalogue, phrase(6), fc.array(fc.nat(1_000), { maxLength: 6 }), (tools, gone, text, asked) => {
        const registry = registryWith(tools);
        const [once] = [brief(registry.search(text, { limit: 500 }))];
        const stepwise = registryWith([]);
        const passing = [...registryWith(gone)].map(({ definition }) => definition).filter(({ name }) => !registry.has(name));
        for (const [place, entry] of [...registry].entries()) {
          if (place < passing.length) stepwise.register(passing[place]!);
          stepwise.register(entry.definition);
          if (asked.includes(place)) stepwise.search(text);
        }
        stepwise.search(text);
        for (const { name } of passing) stepwise.unregister(name);
        expect(brief(stepwise.search(text, { limit: 500 }))).toEqual(once);
      }),
      { numRuns: 150 },
    );
  });
});
