import { describe, expect, it } from 'vitest';
import { isToolError } from '../../src/index.js';
import { issuesWith, registryOf, sample, sampleEntry } from '../tool/sample-tools.js';
import { present, readShared, registryOfRows, warnIfAbsent } from './victor-catalogue.js';

// Recorded edge cases of the recorded system. Each case shows what happens in tooldex instead.
warnIfAbsent('golden-victor-scenarios.test.ts');

const recorded = present
  ? (readShared('golden/victor.json') as { readonly scenarios: Readonly<Record<string, never>> })
      .scenarios
  : {};
const names = (entries: Iterable<{ readonly name: string }>) =>
  [...entries].map(({ name }) => name);
const replace = { replace: true };

const SCENARIOS: Readonly<Record<string, () => void>> = {
  alias_collision_last_wins() {
    const registry = registryOf({ name: 'a', aliases: ['x'] });
    registry.register(sample({ name: 'b', aliases: ['x'] }), replace);
    expect(registry.get('x')?.name).toBe(recorded['alias_collision_last_wins']);
  },
  alias_after_unregister_winner() {
    // In the recorded system, the alias is lost. Here, the earlier tool gets it back.
    expect(recorded['alias_after_unregister_winner']).toBeNull();
    const registry = registryOf({ name: 'a', aliases: ['x'] });
    registry.register(sample({ name: 'b', aliases: ['x'] }), replace);
    registry.unregister('b');
    expect(registry.get('x')?.name).toBe('a');
  },
  alias_shadow() {
    // In the recorded system, a global table of 68 aliases applies to every registry. Here, only declared
    // aliases apply.
    expect(recorded['alias_shadow']).toEqual({ global_alias_read_file: 'read' });
    expect(registryOf({ name: 'read' }).has('read_file')).toBe(false);
    expect(registryOf({ name: 'read', aliases: ['read_file'] }).get('read_file')?.name).toBe(
      'read',
    );
  },
  category_case() {
    // In the recorded system, categories are case-sensitive. Here, they're case-insensitive.
    expect(recorded['category_case']).toEqual({ exact: 1, lower: 0 });
    const registry = registryOf({ category: 'FileSystem' });
    expect([
      registry.getByCategory('FileSystem').length,
      registry.getByCategory('filesystem').length,
    ]).toEqual([1, 1]);
  },
  class_tool_without_metadata_fails_open() {
    // In the recorded system, a tool loses its danger when its metadata is generated. Here, a tool that
    // declares no danger never counts as safe.
    expect(recorded['class_tool_without_metadata_fails_open']).toMatchObject({
      stored: 'MEDIUM/readonly/safe',
      idempotent: true,
      requires_approval: false,
    });
    const registry = registryOf({ name: 'danger', description: 'Deletes things' });
    expect(registry.require('danger')).toMatchObject({
      accessMode: 'mixed',
      dangerLevel: 'high',
      keywords: [],
    });
    expect(registry.require('danger').category).toBeUndefined();
    expect([
      registry.getIdempotentTools().has('danger'),
      registry.getToolsRequiringApproval().has('danger'),
    ]).toEqual([false, true]);
    expect(
      sampleEntry({ priority: 0, accessMode: 'write', dangerLevel: 'critical' }),
    ).toMatchObject({ priority: 0, accessMode: 'write', dangerLevel: 'critical' });
  },
  empty_mandatory_matches_everything() {
    expect(recorded['empty_mandatory_matches_everything']).toEqual(['a']);
    expect(issuesWith({ mandatoryKeywords: [''] })[0]!.path).toEqual(['mandatoryKeywords', 0]);
  },
  hash_misses_metadata_property_change() {
    expect(recorded['hash_misses_metadata_property_change']).toEqual({ needs_reindex: false });
    expect(sampleEntry({ keywords: ['a'] }).digest).not.toBe(
      sampleEntry({ keywords: ['b'] }).digest,
    );
  },
  keyword_normalisation() {
    // In the recorded system, `Abc` and `abc ` are two keywords, and `ab` is dropped. Here, keywords are
    // trimmed and none is dropped.
    expect(recorded['keyword_normalisation']).toEqual(['abc', 'abc ']);
    expect(sampleEntry({ keywords: ['Abc', 'abc ', 'ab'] }).keywords).toEqual(['abc', 'ab']);
  },
  network_access_mode() {
    // In the recorded system, network tools are neither writing nor idempotent and need no approval. Here, that
    // access mode doesn't exist.
    expect(recorded['network_access_mode']).toEqual({
      approval: 0,
      idempotent: false,
      safe: 0,
      write: false,
    });
    expect(issuesWith({ accessMode: 'network' })).toHaveLength(1);
    const registry = registryOf({ name: 'a', accessMode: 'mixed', executionCategory: 'network' });
    expect([
      registry.getWriteTools().has('a'),
      registry.getToolsRequiringApproval().has('a'),
      registry.getParallelizableTools().has('a'),
    ]).toEqual([true, true, false]);
  },
  overlap_differs_with_rust_wheel() {
    // In the recorded system, finding overlapping keywords depends on an optional native module. Here, all are
    // found, and scores aren't capped at 1.
    const { regex } = recorded['overlap_differs_with_rust_wheel'] as unknown as {
      regex: [[string[], number]];
    };
    expect(regex[0]).toEqual([['run tests', 'test'], 1.1]);
    const [result] = registryOf({ keywords: ['run tests', 'test'] }).getToolsMatchingTextScored(
      'run tests',
    );
    expect([...result!.matchedKeywords].sort()).toEqual(regex[0][0]);
    expect(result!.score).toBeCloseTo(1 + 0.2 + 0.1, 12);
  },
  priority_boosts() {
    const boosts = recorded['priority_boosts'] as unknown as Readonly<
      Record<string, readonly [score: number, boost: number, total: number]>
    >;
    for (const [priority, name] of ['critical', 'high', 'medium', 'low'].entries()) {
      expect(
        registryOf({ keywords: ['abc'], priority }).getToolsMatchingTextScored('abc')[0]!
          .priorityBoost,
      ).toBe(boosts[name]![1]);
    }
    // Here, every priority has a boost.
    expect(boosts['contextual']![1]).toBe(0);
    expect(issuesWith({ priority: 4 })).toHaveLength(1);
  },
  refresh_drops_dynamic() {
    expect(recorded['refresh_drops_dynamic']).toMatchObject({
      refreshed: false,
      needs_reindex: false,
    });
    const registry = registryOf({ name: 'static' });
    registry.register(sample({ name: 'dynamic' }));
    registry.registerAll([sample({ name: 'static' })], replace);
    expect(registry.size).toBe(2);
  },
  refresh_force_drops_dynamic() {
    // In the recorded system, a refresh drops tools from other sources. Here, a registration never removes
    // another tool.
    expect(recorded['refresh_force_drops_dynamic']).toBe(1);
    const registry = registryOf({ name: 'dynamic' });
    registry.registerAll([sample({ name: 'static' })], replace);
    expect(names(registry).sort()).toEqual(['dynamic', 'static']);
  },
  reregister_changed_metadata() {
    // In the recorded system, the old rows stay in every index. Here, they don't.
    expect(recorded['reregister_changed_metadata']).toMatchObject({
      categories: ['x', 'y'],
      match_old_keyword: ['a'],
      by_priority: { CRITICAL: ['a'], LOW: ['a'] },
    });
    const registry = registryOf({ name: 'a', priority: 0, category: 'x', keywords: ['one'] });
    registry.register(
      sample({ name: 'a', priority: 3, category: 'y', keywords: ['two'] }),
      replace,
    );
    expect([
      names(registry.getByPriority(0)),
      names(registry.getByPriority(3)),
      [...registry.getAllCategories()],
      registry.getToolsMatchingTextScored('one'),
      [...registry.getCategoryKeywords('x')],
    ]).toEqual([[], ['a'], ['y'], [], []]);
  },
  schema_cache_at_250_tools() {
    expect(recorded['schema_cache_at_250_tools']).toEqual({ cached: 200 });
    const registry = registryOf(
      ...Array.from({ length: 250 }, (_, index) => ({ name: `t${index}` })),
    );
    expect(
      [...registry].filter(({ inputJsonSchema }) => inputJsonSchema['type'] === 'object'),
    ).toHaveLength(250);
  },
  score_by_keyword_count() {
    const scores = recorded['score_by_keyword_count'] as unknown as Readonly<
      Record<string, number>
    >;
    for (const [tool, score] of Object.entries(scores)) {
      const count = Number(tool.slice(1));
      const [result] = registryOf({
        keywords: Array.from({ length: count }, (_, index) => `word${index}`),
      }).getToolsMatchingTextScored('word0');
      // With one keyword, the recorded score was capped at 1.
      if (count === 1) expect([score, result!.base + result!.specificity]).toEqual([1, 1.2]);
      else expect(result!.base + result!.specificity).toBeCloseTo(score, 12);
    }
  },
  specificity_is_constant() {
    for (const [keyword, score] of Object.entries(
      recorded['specificity_is_constant'] as unknown as Readonly<Record<string, number>>,
    )) {
      const [result] = registryOf({
        keywords: [keyword, 'x1', 'x2', 'x3'],
      }).getToolsMatchingTextScored(keyword);
      expect(result!.base + result!.specificity).toBeCloseTo(score, 12);
    }
    // The score differs only for one-letter keywords, which the recorded system couldn't find.
    expect(registryOf({ keywords: ['r'] }).getToolsMatchingTextScored('r')[0]!.specificity).toBe(
      0.1,
    );
  },
  unregister_after_reregister() {
    expect(recorded['unregister_after_reregister']).toContain('KeyError');
    const registry = registryOf({ name: 'a', priority: 0 });
    registry.register(sample({ name: 'a', priority: 3 }), replace);
    registry.unregister('a');
    expect([registry.getByPriority(0), registry.getByPriority(3)]).toEqual([[], []]);
  },
};

describe.skipIf(!present)('the recorded scenarios', () => {
  it.each(Object.entries(SCENARIOS))('include %s, which has the expected result', (_, scenario) => {
    scenario();
  });

  it('all have a case in this test', () => {
    expect(Object.keys(SCENARIOS).sort()).toEqual(Object.keys(recorded).sort());
  });

  it("include two tools with a misspelled access mode, and the error for each contains the tool's name", () => {
    const rows = readShared('data/victor-tools.json') as Parameters<typeof registryOfRows>[0];
    const misspelt = rows.filter(({ kind }) => kind === 'unimportable');
    expect(misspelt).toHaveLength(2);
    for (const row of misspelt) {
      try {
        registryOfRows([row]);
        expect.unreachable('access mode READ is none');
      } catch (error) {
        if (!isToolError(error)) throw error;
        expect([error.code, error.details['name']]).toEqual(['INVALID_METADATA', row.name]);
        expect(error.message).toContain(
          'accessMode: Expected one of "readonly", "write", "execute", "mixed", got "read".',
        );
      }
    }
  });
});
