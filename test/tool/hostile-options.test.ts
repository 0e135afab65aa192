import { describe, expect, it } from 'vitest';
import { refusal, registryOf, sample } from './sample-tools.js';

const LONG = 'k'.repeat(10_000);
const NASTY = ['__proto__', 'constructor', 'hasOwnProperty'];

describe('a hostile name', () => {
  it.each(NASTY)(
    '%s is accepted as a tool name, alias, keyword, category, stage, and metadata key',
    (nasty) => {
      const registry = registryOf({
        name: nasty,
        aliases: [`${nasty}.alias`],
        keywords: [nasty, 'plain'],
        mandatoryKeywords: [nasty],
        category: nasty,
        stages: [nasty],
        taskTypes: [nasty],
        capabilities: [nasty],
      });
      const label = nasty.toLowerCase();
      expect(registry.require(nasty).name).toBe(nasty);
      expect(registry.get(`${nasty}.alias`)?.name).toBe(nasty);
      expect(registry.getByKeyword(nasty).map(({ name }) => name)).toEqual([nasty]);
      expect(registry.getByCategory(nasty)).toHaveLength(1);
      expect([...registry.getToolsByStage(nasty)]).toEqual([nasty]);
      expect([...registry.getToolsByTaskType(nasty)]).toEqual([nasty]);
      expect([...registry.getAllCategories()]).toEqual([label]);
      expect([...registry.getCategoryKeywords(nasty)]).toEqual([label, 'plain'].sort());
      expect(Object.entries(registry.summary().byCategory)).toEqual([[label, 1]]);
      expect(
        registry.getToolsMatchingTextScored(`please ${nasty} now`).map(({ toolName }) => toolName),
      ).toEqual([nasty]);
      expect([...registry.getToolsMatchingMandatoryKeywords(nasty)]).toEqual([nasty]);
      expect(registry.filter({ category: nasty, capability: nasty })).toHaveLength(1);
      expect(registry.unregister(nasty)).toBe(true);
      expect(registry.has(nasty)).toBe(false);
    },
  );

  it("a name or label of 10 kB is refused, and the error doesn't repeat it", () => {
    for (const options of [
      { name: LONG },
      { aliases: [LONG] },
      { keywords: [LONG] },
      { mandatoryKeywords: [LONG] },
      { category: LONG },
      { stages: [LONG] },
    ]) {
      const error = refusal(() => sample(options));
      expect(error.code).toBe('INVALID_METADATA');
      expect(error.message.length).toBeLessThan(500);
    }
  });
});
