import { describe, expect, it } from 'vitest';
import { ToolMetadataRegistry } from '../../src/index.js';
import { refusal, registryOf, sample } from '../tool/sample-tools.js';

const names = (entries: Iterable<{ readonly name: string }>) =>
  [...entries].map(({ name }) => name);

describe('lookups by label', () => {
  const registry = registryOf({
    name: 'a',
    category: 'Code Search',
    keywords: ['Git Diff'],
    stages: ['Reading'],
    taskTypes: ['Edit'],
  });

  it.each(['code search', 'CODE SEARCH', '  Code Search '])(
    'lookups ignore case and surrounding spaces: %j',
    (category) => {
      expect(names(registry.getByCategory(category))).toEqual(['a']);
      expect([...registry.getCategoryKeywords(category)]).toEqual(['git diff']);
    },
  );
});

describe('the derived sets', () => {
  const registry = registryOf(
    { name: 'reads', accessMode: 'readonly', priority: 0 },
    { name: 'writes', accessMode: 'write' },
    { name: 'runs', accessMode: 'execute' },
    {
      name: 'fetches',
      accessMode: 'readonly',
      executionCategory: 'network',
      dangerLevel: 'medium',
    },
    { name: 'asks', accessMode: 'readonly', requiresConsent: true },
    { name: 'harms', accessMode: 'readonly', dangerLevel: 'critical' },
    { name: 'unknown' },
  );

  it('derived sets contain the tools that match their rules', () => {
    expect([...registry.getWriteTools()]).toEqual(['writes', 'runs', 'unknown']);
    expect([...registry.getCacheInvalidatingTools()]).toEqual(['writes', 'runs', 'unknown']);
    expect([...registry.getIdempotentTools()]).toEqual(['reads', 'fetches', 'asks', 'harms']);
    expect([...registry.getParallelizableTools()]).toEqual(['reads', 'fetches', 'asks', 'harms']);
    expect([...registry.getDangerousTools()]).toEqual(['runs', 'harms', 'unknown']);
    expect([...registry.getToolsRequiringApproval()]).toEqual([
      'writes',
      'runs',
      'asks',
      'harms',
      'unknown',
    ]);
    expect([...registry.getCriticalTools()]).toEqual(['reads']);
  });

  it('requiresApproval accepts aliases, and requires approval for unknown names', () => {
    const registry = registryOf(
      { name: 'read', accessMode: 'readonly' },
      { name: 'remove', accessMode: 'write', aliases: ['rm'] },
    );
    expect(
      ['read', 'remove', 'rm', 'raed', '__proto__'].map((name) => registry.requiresApproval(name)),
    ).toEqual([false, true, true, true, true]);
  });

  it('getConflictingTools accepts aliases, and returns every tool for an unknown name', () => {
    const two = registryOf(
      { name: 'a', aliases: ['x'], accessMode: 'write' },
      { name: 'b', accessMode: 'write' },
    );
    expect([...two.getConflictingTools('x')]).toEqual(['b']);
    expect([...two.getConflictingTools('nobody')]).toEqual(['a', 'b']);
  });
});

it.each([
  ['whose check returns a promise', () => Promise.resolve(true), false],
  [
    'whose check throws',
    () => {
      throw new Error('down');
    },
    false,
  ],
])('isAvailable returns false for a tool %s', (_, available, expected) => {
  const registry = registryOf({ name: 'a', aliases: ['b'], available });
  expect([registry.isAvailable('a'), registry.isAvailable('b')]).toEqual([expected, expected]);
  expect(registry.filter({ available: true })).toHaveLength(expected ? 1 : 0);
  expect(registry.filter({ available: false })).toHaveLength(expected ? 0 : 1);
  expect(registry.summary().unavailable).toBe(expected ? 0 : 1);
});

it('availability is checked on every query, but never on registration', () => {
  let calls = 0;
  const registry = registryOf({ name: 'a', available: () => calls++ > 0 });
  expect(calls).toBe(0);
  expect([
    registry.isAvailable('a'),
    registry.isAvailable('a'),
    registry.isAvailable('nobody'),
  ]).toEqual([false, true, false]);
  expect(calls).toBe(2);
});

describe('require', () => {
  const registry = registryOf(
    { name: 'git_diff', aliases: ['changes'] },
    { name: 'git_commit' },
    { name: 'read_file' },
  );

  it('require suggests similar names for an unknown name', () => {
    const error = refusal(() => registry.require('git_dif'));
    expect(error.code).toBe('TOOL_NOT_FOUND');
    expect(error.message).toContain('"git_dif"');
    expect(error.message).toContain('Did you mean git_diff');
    expect(error.details['suggestions']).toContain('git_diff');
  });

  it("require doesn't repeat an overlong name in the error", () => {
    const error = refusal(() => registry.require('g'.repeat(1 << 20)));
    expect(error.code).toBe('TOOL_NOT_FOUND');
    expect(error.message.length).toBeLessThan(300);
    expect(String(error.details['name']).length).toBeLessThanOrEqual(128);
  });
});

it('summary counts tools by every axis, label, and derived set', () => {
  const registry = registryOf(
    {
      name: 'a',
      accessMode: 'readonly',
      priority: 0,
      category: 'Git',
      stages: ['reading', 'analysis'],
      taskTypes: ['search'],
      costTier: 'free',
    },
    { name: 'b', accessMode: 'write', category: 'git', costTier: 'free', available: () => false },
    { name: 'c' },
  );
  expect(registry.summary()).toEqual({
    revision: 1,
    tools: 3,
    unavailable: 1,
    byPriority: { CRITICAL: 1, HIGH: 0, MEDIUM: 2, LOW: 0 },
    byAccessMode: { readonly: 1, write: 1, execute: 0, mixed: 1 },
    byDangerLevel: { safe: 0, low: 1, medium: 1, high: 1, critical: 0 },
    byExecutionCategory: { read_only: 1, write: 1, execute: 0, compute: 0, network: 0, mixed: 1 },
    byCostTier: { free: 2, low: 0, medium: 1, high: 0 },
    byCategory: { git: 2 },
    byStage: { reading: 1, analysis: 1 },
    byTaskType: { search: 1 },
    derived: {
      write: 2,
      idempotent: 1,
      parallelizable: 1,
      dangerous: 1,
      requiringApproval: 2,
      cacheInvalidating: 2,
      critical: 1,
    },
  });
});

function measured() {
  let time = 0;
  const registry = new ToolMetadataRegistry({ now: () => (time += 4) });
  registry.registerAll([
    sample({ name: 'a', category: 'vcs', keywords: ['git', 'diff'] }),
    sample({ name: 'b', category: 'files', keywords: ['git'] }),
  ]);
  return registry;
}

it('metrics count texts, results, empty results, time, keywords, and categories', () => {
  const registry = measured();
  registry.getToolsMatchingTextScored('git git git');
  registry.getToolsMatchingTextScored('diff');
  registry.getToolsMatchingTextScored('nothing');
  registry.getToolsMatchingTextScored('git', { maxResults: 1 });
  registry.detectCategoriesFromText('diff');
  registry.detectCategoriesFromText('git');
  registry.getToolsMatchingMandatoryKeywords('git');
  registry.search('git');
  expect(JSON.parse(JSON.stringify(registry.metrics))).toEqual({
    queries: 4,
    matches: 4,
    emptyResults: 1,
    averageTimeMs: 4,
    topKeywords: [
      { name: 'git', hits: 2 },
      { name: 'diff', hits: 1 },
    ],
    topCategories: [
      { name: 'vcs', hits: 2 },
      { name: 'files', hits: 1 },
    ],
  });
});
