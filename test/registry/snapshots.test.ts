import { expect, it } from 'vitest';
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
  getByStage: (registry) => registry.getByStage('reading'),
  filter: (registry) => registry.filter({ category: 'vcs' }),
  getToolsMatchingTextScored: (registry) => registry.getToolsMatchingTextScored('git diff'),
  search: (registry) => registry.search('git diff'),
};

const SETS: Readonly<Record<string, (registry: ToolMetadataRegistry) => ReadonlySet<string>>> = {
  getWriteTools: (registry) => registry.getWriteTools(),
  getToolsByStage: (registry) => registry.getToolsByStage('reading'),
  getConflictingTools: (registry) => registry.getConflictingTools('w'),
  'getConflictingTools for an unknown tool': (registry) => registry.getConflictingTools('nobody'),
  getAllCategories: (registry) => registry.getAllCategories(),
  getCategoryKeywords: (registry) => registry.getCategoryKeywords('vcs'),
  getToolsMatchingMandatoryKeywords: (registry) =>
    registry.getToolsMatchingMandatoryKeywords('show'),
  detectCategoriesFromText: (registry) => registry.detectCategoriesFromText('git'),
};

const filled = () =>
  registryOf({ name: 'a', ...FULL }, { name: 'w', ...WRITING }, { name: 'x', ...WRITING });

/** Replaces, adds, and removes tools. */
function change(registry: ToolMetadataRegistry) {
  registry.registerAll(
    [
      sample({ name: 'later', ...WRITING, category: 'other', stages: ['new'] }),
      sample({ name: 'a', ...WRITING }),
    ],
    { replace: true },
  );
  registry.unregister('w');
}

it.each(Object.entries(LISTS))('the list returned by %s is a frozen snapshot', (_, ask) => {
  const registry = filled();
  const list = ask(registry);
  const before = [...list];
  expect(() => (list as unknown[]).push('x')).toThrow(TypeError);
  expect(isDeepFrozen(list)).toBe(true);
  change(registry);
  ask(registry);
  expect([...list]).toEqual(before);
});

it.each(Object.entries(SETS))(
  "the set returned by %s is a snapshot that can't be changed",
  (_, ask) => {
    const registry = filled();
    const set = ask(registry) as Set<string>;
    const before = [...set];
    for (const edit of [() => set.add('forged'), () => set.delete(before[0]!), () => set.clear()])
      expect(edit).toThrow(TypeError);
    expect([...ask(registry)]).toEqual(before);
    change(registry);
    ask(registry);
    expect([...set]).toEqual(before);
  },
);
