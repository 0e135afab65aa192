import { describe, expect, it } from 'vitest';
import { type ToolMetadataRegistry } from '../../src/index.js';
import { isDeepFrozen } from '../core/json-values.js';
import { registryOf, sample, type LooseOptions } from '../tool/sample-tools.js';

const FULL: LooseOptions = {
  keywords: ['git', 'diff'],
  mandatoryKeywords: ['show'],
  category: 'vcs',
  stages: ['reading'],
  taskTypes: ['search'],
  priority: 0,
  accessMode: 'readonly',
  dangerLevel: 'high',
  executionCategory: 'read_only',
  costTier: 'free',
  requiresConsent: true,
};
const WRITING: LooseOptions = { ...FULL, accessMode: 'write', executionCategory: 'write' };

const LISTS: Readonly<Record<string, (registry: ToolMetadataRegistry) => readonly unknown[]>> = {
  register: (registry) => registry.register(sample({ name: `n${registry.revision}` })),
  getByPriority: (registry) => registry.getByPriority(0),
  getByAccessMode: (registry) => registry.getByAccessMode('readonly'),
  getByDangerLevel: (registry) => registry.getByDangerLevel('high'),
  getByExecutionCategory: (registry) => registry.getByExecutionCategory('read_only'),
  getByCostTier: (registry) => registry.getByCostTier('free'),
  getByCategory: (registry) => registry.getByCategory('vcs'),
  getByKeyword: (registry) => registry.getByKeyword('git'),
  getByStage: (registry) => registry.getByStage('reading'),
  getByTaskType: (registry) => registry.getByTaskType('search'),
  'getByStage of nothing': (registry) => registry.getByStage('nothing'),
  filter: (registry) => registry.filter({ category: 'vcs' }),
  getToolsMatchingTextScored: (registry) => registry.getToolsMatchingTextScored('git diff'),
  search: (registry) => registry.search('git diff'),
};

const SETS: Readonly<Record<string, (registry: ToolMetadataRegistry) => ReadonlySet<string>>> = {
  getWriteTools: (registry) => registry.getWriteTools(),
  getIdempotentTools: (registry) => registry.getIdempotentTools(),
  getToolsByStage: (registry) => registry.getToolsByStage('reading'),
  'getToolsByStage of nothing': (registry) => registry.getToolsByStage('nothing'),
  getToolsByTaskType: (registry) => registry.getToolsByTaskType('search'),
  getParallelizableTools: (registry) => registry.getParallelizableTools(),
  getConflictingTools: (registry) => registry.getConflictingTools('w'),
  'getConflictingTools of nobody': (registry) => registry.getConflictingTools('nobody'),
  getDangerousTools: (registry) => registry.getDangerousTools(),
  getToolsRequiringApproval: (registry) => registry.getToolsRequiringApproval(),
  getCacheInvalidatingTools: (registry) => registry.getCacheInvalidatingTools(),
  getCriticalTools: (registry) => registry.getCriticalTools(),
  getAllCategories: (registry) => registry.getAllCategories(),
  getAllStages: (registry) => registry.getAllStages(),
  getAllTaskTypes: (registry) => registry.getAllTaskTypes(),
  getAllKeywords: (registry) => registry.getAllKeywords(),
  getCategoryKeywords: (registry) => registry.getCategoryKeywords('vcs'),
  'getCategoryKeywords of nothing': (registry) => registry.getCategoryKeywords('nothing'),
  getToolsMatchingMandatoryKeywords: (registry) =>
    registry.getToolsMatchingMandatoryKeywords('show'),
  detectCategoriesFromText: (registry) => registry.detectCategoriesFromText('git'),
};

const filled = () =>
  registryOf({ name: 'a', ...FULL }, { name: 'w', ...WRITING }, { name: 'x', ...WRITING });

describe('a returned list', () => {
  it.each(Object.entries(LISTS))('the list returned by %s is deeply frozen', (_, ask) => {
    const list = ask(filled());
    expect(() => (list as unknown[]).push('x')).toThrow(TypeError);
    expect(isDeepFrozen(list)).toBe(true);
  });

  it.each(Object.entries(LISTS).filter(([name]) => name !== 'register'))(
    "the list returned by %s doesn't change later",
    (_, ask) => {
      const registry = filled();
      const list = ask(registry);
      const before = [...list];
      registry.registerAll(
        [sample({ name: 'later', ...FULL }), sample({ name: 'a', ...WRITING })],
        { replace: true },
      );
      registry.unregister('w');
      ask(registry);
      expect([...list]).toEqual(before);
    },
  );
});

describe('a returned set', () => {
  it.each(Object.entries(SETS))("the set returned by %s can't be changed", (_, ask) => {
    const registry = filled();
    const set = ask(registry) as Set<string>;
    const before = [...set];
    for (const change of [() => set.add('forged'), () => set.delete(before[0]!), () => set.clear()])
      expect(change).toThrow(TypeError);
    expect([...ask(registry)]).toEqual(before);
  });

  it.each(Object.entries(SETS))("the set returned by %s doesn't change later", (_, ask) => {
    const registry = filled();
    const set = ask(registry);
    const before = [...set];
    registry.registerAll(
      [
        sample({ name: 'later', ...WRITING, category: 'other', stages: ['new'] }),
        sample({ name: 'a', ...WRITING }),
      ],
      { replace: true },
    );
    registry.unregister('w');
    ask(registry);
    expect([...set]).toEqual(before);
  });
});
