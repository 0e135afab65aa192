import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolMetadataRegistry } from '../../src/index.js';
import { CandidateFinder } from '../../src/search/best-documents.js';
import { DocumentScorer } from '../../src/search/document-scorer.js';
import { InvertedIndex } from '../../src/search/inverted-index.js';
import { parseQuery, planQuery } from '../../src/search/query.js';
import { relatedWords } from '../../src/search/related-words.js';
import { registryOf } from '../tool/sample-tools.js';
import { propertyRuns } from '../property-runs.js';

const WORDS = [
  'file',
  'files',
  'read',
  'write',
  'tax',
  'weather',
  'forecast',
  'delete',
  'remove',
  'list',
  'image',
  'photo',
  'bitcoin',
  'crypto',
  'get',
  'user',
  'git',
  'diff',
  'commit',
  'the',
];
const word = fc.constantFrom(...WORDS);
const phrase = (most: number) =>
  fc.array(word, { minLength: 1, maxLength: most }).map((words) => words.join(' '));
const tool = fc.record({
  description: phrase(12),
  keywords: fc.uniqueArray(phrase(2), { maxLength: 4 }),
  examples: fc.array(phrase(6), { maxLength: 2 }),
  priority: fc.constantFrom(0, 1, 2, 3),
});
const catalogue = fc.array(fc.tuple(fc.array(word, { minLength: 1, maxLength: 3 }), tool), {
  minLength: 1,
  maxLength: 120,
});

const registryWith = (tools: readonly (readonly [readonly string[], object])[]) =>
  registryOf(
    ...tools.map(([name, options], index) => ({ ...options, name: `${name.join('_')}_${index}` })),
  );
const brief = (results: readonly { toolName: string; score: number }[]) =>
  results.map(({ toolName, score }) => [toolName, score]);

/** The reference implementation, which scores every tool by its words without an index. */
function fullScan(registry: ToolMetadataRegistry, text: string): unknown[] {
  const index = new InvertedIndex();
  for (const entry of registry) index.add(entry);
  index.update();
  const plan = planQuery(parseQuery(text), index, relatedWords());
  const { relatedRarities } = new CandidateFinder().find(plan, index); // Also computes joint rarities.
  const scorer = new DocumentScorer(plan, relatedRarities, index);
  return [...registry]
    .map((entry, document) => ({ entry, score: scorer.score(document) }))
    .filter(({ score }) => score > 0)
    .sort(
      (a, b) =>
        b.score - a.score ||
        a.entry.priority - b.entry.priority ||
        (a.entry.name < b.entry.name ? -1 : 1),
    )
    .map(({ entry, score }) => [entry.name, score]);
}

describe('search with an index', () => {
  it('returns the same results as a full scan', () => {
    const spoken = fc
      .array(
        fc.oneof(
          word,
          fc.constantFrom('fiel', 'wether', 'Bitcoin', '"tax"', '12', 'please', 'images', 'diffs'),
        ),
        { minLength: 1, maxLength: 12 },
      )
      .map((words) => words.join(' '));
    fc.assert(
      fc.property(catalogue, spoken, fc.integer({ min: 1, max: 30 }), (tools, text, k) => {
        const registry = registryWith(tools);
        expect(brief(registry.search(text, { limit: k }))).toEqual(
          fullScan(registry, text).slice(0, k),
        );
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it("skips only tools that can't be among the best results", () => {
    fc.assert(
      fc.property(catalogue, phrase(8), fc.integer({ min: 1, max: 40 }), (tools, text, k) => {
        const registry = registryWith(tools);
        const all = brief(registry.search(text, { limit: tools.length }));
        expect(brief(registry.search(text, { limit: k }))).toEqual(all.slice(0, k));
      }),
      { numRuns: propertyRuns(100) },
    );
  });
});
