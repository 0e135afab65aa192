import { afterAll, describe, expect, it } from 'vitest';
import {
  AccessMode,
  type DangerLevel,
  type ExecutionCategory,
  type Priority,
  type ToolMetadataRegistry,
} from '../../src/index.js';
import {
  activeRows,
  declaredAs,
  declaredList,
  present,
  readShared,
  registryOfRows,
  Tally,
  warnIfAbsent,
  type Row,
} from './victor-catalogue.js';

// Recorded answers of the recorded system about the same 64 tools. Each difference must follow from a
// rule below. The recorded system's manual lists (core read-only tools, fallbacks by category), task classes,
// and global alias table aren't compared, because tooldex doesn't have them.
warnIfAbsent('golden-victor.test.ts');

type Sets = Readonly<Record<string, readonly string[]>>;
interface Golden {
  readonly derived: Readonly<Record<string, unknown>>;
}

const rows = new Map(activeRows().map((row) => [row.name, row]));
const golden = (present ? (readShared('golden/victor.json') as Golden) : { derived: {} }).derived;
const registry: ToolMetadataRegistry = registryOfRows([...rows.values()]);
const tally = new Tally();
afterAll(() => {
  if (present) tally.print('Recorded sets and indexes, by tool and set:');
});

const RULES: Readonly<Record<string, (row: Row) => boolean>> = {
  'undeclared tools are no longer read-only': (row) => declaredAs(row, 'access_mode') === undefined,
  'network access is mixed': (row) => declaredAs(row, 'access_mode') === 'NETWORK',
  'execution category no longer defaults to read_only': (row) =>
    declaredAs(row, 'access_mode') !== undefined &&
    declaredAs(row, 'execution_category') === undefined &&
    registry.require(row.name).executionCategory !== 'read_only',
  'access and category both decide what runs in parallel': (row) =>
    declaredAs(row, 'access_mode') !== 'READONLY' &&
    ['READ_ONLY', 'COMPUTE', 'NETWORK'].includes(declaredAs(row, 'execution_category') ?? ''),
  'approval by danger begins at high and not at medium': (row) =>
    declaredAs(row, 'danger_level') === 'MEDIUM' && declaredAs(row, 'access_mode') === 'READONLY',
  'priority CONTEXTUAL is LOW': (row) => declaredAs(row, 'priority') === 'CONTEXTUAL',
  'undeclared priority is MEDIUM': (row) => declaredAs(row, 'priority') === undefined,
  'categories of undeclared tools are not invented': (row) =>
    row.declared['category'] === undefined,
  'keywords of undeclared tools are not invented': (row) => row.declared['keywords'] === undefined,
};
const [
  UNDECLARED,
  NETWORK,
  EXECUTION,
  BOTH_AXES,
  THRESHOLD,
  CONTEXTUAL,
  PRIORITY,
  CATEGORY,
  KEYWORDS,
] = Object.keys(RULES) as [string, string, string, string, string, string, string, string, string];
const SHORT = 'keywords under three letters are kept';

/**
 * Compares a set of tools with the recorded set. Every difference must follow from one of the given
 * rules.
 */
function compare(
  what: string,
  recorded: readonly string[],
  now: Iterable<string>,
  ...rules: readonly string[]
): void {
  const before = new Set(recorded);
  const after = new Set(now);
  for (const name of new Set([...before, ...after])) {
    if (before.has(name) === after.has(name)) {
      tally.add('agree');
      continue;
    }
    const rule = rules.find((each) => RULES[each]!(rows.get(name)!));
    expect(
      rule,
      `${what}: ${name} ${before.has(name) ? 'was in and is not' : 'was not in and is'}`,
    ).toBeDefined();
    tally.add(rule!);
  }
}

const names = (entries: Iterable<{ readonly name: string }>) =>
  [...entries].map(({ name }) => name);

describe.skipIf(!present)('the recorded derived sets', () => {
  const set = (name: string) => golden[name] as readonly string[];

  it('write and idempotent tools differ from the recorded sets only if access is undeclared or network', () => {
    compare('write', set('write_tools'), registry.getWriteTools(), UNDECLARED, NETWORK);
    compare(
      'cache invalidating',
      set('cache_invalidating_tools'),
      registry.getCacheInvalidatingTools(),
      UNDECLARED,
      NETWORK,
    );
    compare('idempotent', set('idempotent_tools'), registry.getIdempotentTools(), UNDECLARED);
    for (const name of set('write_tools'))
      expect(registry.getWriteTools().has(name), `${name} was a write tool`).toBe(true);
    for (const name of registry.getIdempotentTools())
      expect(set('idempotent_tools')).toContain(name);
  });

  it('the approval set has every recorded tool, except tools below the new danger threshold', () => {
    compare(
      'requiring approval',
      set('tools_requiring_approval'),
      registry.getToolsRequiringApproval(),
      UNDECLARED,
      NETWORK,
      THRESHOLD,
    );
    compare('dangerous', set('dangerous_tools'), registry.getDangerousTools(), UNDECLARED);
    for (const name of set('dangerous_tools'))
      expect(registry.getDangerousTools().has(name)).toBe(true);
  });

  it('the parallelizable set contains only tools recorded as parallelizable', () => {
    compare(
      'parallelizable',
      set('parallelizable_tools'),
      registry.getParallelizableTools(),
      UNDECLARED,
      EXECUTION,
      BOTH_AXES,
    );
    for (const name of registry.getParallelizableTools())
      expect(set('parallelizable_tools')).toContain(name);
  });

  it('critical, unavailable, and progress-tracked tools match the recorded sets', () => {
    compare('critical', set('critical_tools'), registry.getCriticalTools());
    compare('available', set('available_tools'), names(registry.filter({ available: true })));
    compare('unavailable', set('unavailable_tools'), names(registry.filter({ available: false })));
    const progress = Object.fromEntries(
      [...registry]
        .filter(({ progressParams }) => progressParams.length > 0)
        .map(({ name, progressParams }) => [name, [...progressParams].sort()]),
    );
    expect(progress).toEqual(golden['signature_params']);
  });
});

// A recorded mode, such as network, may not exist here.
const isAccessMode = (mode: string): mode is AccessMode =>
  (Object.values(AccessMode) as string[]).includes(mode);

describe.skipIf(!present)('the recorded indexes', () => {
  const index = (name: string) => golden[name] as Sets;

  it("priorities differ from the recorded priorities only if they're undeclared or no longer supported", () => {
    for (const [level, recorded] of Object.entries(index('by_priority'))) {
      const value = (['CRITICAL', 'HIGH', 'MEDIUM', 'LOW'] as const).indexOf(level as 'LOW');
      compare(
        `priority ${level}`,
        recorded,
        value < 0 ? [] : names(registry.getByPriority(value as Priority)),
        CONTEXTUAL,
        PRIORITY,
      );
    }
  });

  it("access modes differ from the recorded access modes only if they're undeclared or network", () => {
    for (const [mode, recorded] of Object.entries(index('by_access_mode')))
      compare(
        `access ${mode}`,
        recorded,
        isAccessMode(mode) ? names(registry.getByAccessMode(mode)) : [],
        UNDECLARED,
        NETWORK,
      );
  });

  it("danger levels differ from the recorded danger levels only if they're undeclared", () => {
    for (const [level, recorded] of Object.entries(index('by_danger_level')))
      compare(
        `danger ${level}`,
        recorded,
        names(registry.getByDangerLevel(level as DangerLevel)),
        UNDECLARED,
      );
  });

  it("execution categories differ from the recorded execution categories only if they're undeclared", () => {
    for (const [category, recorded] of Object.entries(index('by_execution_category')))
      compare(
        `execution ${category}`,
        recorded,
        names(registry.getByExecutionCategory(category as ExecutionCategory)),
        UNDECLARED,
        EXECUTION,
      );
  });

  it('stages and task types equal the recorded stages and task types', () => {
    for (const [stage, recorded] of Object.entries(index('by_stage')))
      compare(`stage ${stage}`, recorded, registry.getToolsByStage(stage));
    for (const [taskType, recorded] of Object.entries(index('by_task_type')))
      compare(`task type ${taskType}`, recorded, registry.getToolsByTaskType(taskType));
    expect([...registry.getAllStages()]).toEqual(Object.keys(index('by_stage')).sort());
    expect([...registry.getAllTaskTypes()]).toEqual(Object.keys(index('by_task_type')).sort());
  });

  it("categories differ from the recorded categories only if they're undeclared", () => {
    const categories = new Set([
      ...Object.keys(index('by_category')),
      ...registry.getAllCategories(),
    ]);
    for (const category of categories)
      compare(
        `category ${category}`,
        index('by_category')[category] ?? [],
        names(registry.getByCategory(category)),
        CATEGORY,
      );
  });

  it('keywords differ from the recorded keywords only if the recorded system invented or dropped a keyword', () => {
    for (const keyword of new Set([
      ...Object.keys(index('by_keyword')),
      ...registry.getAllKeywords(),
    ])) {
      const recorded = index('by_keyword')[keyword] ?? [];
      const now = names(registry.getByKeyword(keyword));
      if (keyword.length < 3) {
        expect(recorded).toEqual([]);
        for (const name of now) {
          expect(declaredList(rows.get(name)!, 'keywords')).toContain(keyword);
          tally.add(SHORT);
        }
      } else compare(`keyword ${keyword}`, recorded, now, KEYWORDS);
    }
    expect(tally.get(SHORT)).toBe(2);
  });

  it('mandatory keywords equal the recorded mandatory keywords', () => {
    for (const [keyword, recorded] of Object.entries(index('by_mandatory_keyword')))
      compare(
        `mandatory ${keyword}`,
        recorded,
        names([...registry].filter(({ mandatoryKeywords }) => mandatoryKeywords.includes(keyword))),
      );
  });

  it('category keywords match the recorded keywords, except for keywords that the recorded system invented or dropped', () => {
    for (const [category, recorded] of Object.entries(index('category_keywords'))) {
      const now = registry.getCategoryKeywords(category);
      for (const keyword of new Set([...recorded, ...now])) {
        if (recorded.includes(keyword) === now.has(keyword)) tally.add('agree');
        else if (now.has(keyword)) {
          expect(keyword.length, `${category}: ${keyword}`).toBeLessThan(3);
          tally.add(SHORT);
        } else {
          const owners = index('by_keyword')[keyword]!.filter((name) =>
            index('by_category')[category]!.includes(name),
          );
          expect(owners.length).toBeGreaterThan(0);
          for (const owner of owners)
            expect(RULES[KEYWORDS]!(rows.get(owner)!), `${category}: ${keyword} of ${owner}`).toBe(
              true,
            );
          tally.add(KEYWORDS);
        }
      }
    }
  });
});

describe.skipIf(!present)('the recorded conflicts', () => {
  /**
   * The conflicts in the recorded system: those that the first tool's category lists. A tool without a category
   * counted as read_only.
   */
  const LISTED: Sets = {
    write: ['write', 'mixed'],
    execute: ['execute', 'write', 'mixed'],
    mixed: ['write', 'execute', 'mixed'],
    read_only: [],
    compute: [],
    network: [],
  };
  const categoryBefore = (name: string) =>
    declaredAs(rows.get(name)!, 'execution_category')?.toLowerCase() ?? 'read_only';
  const categoryNow = (name: string) => {
    const { accessMode, executionCategory } = registry.require(name);
    return accessMode === 'readonly' ||
      executionCategory === 'execute' ||
      executionCategory === 'mixed'
      ? executionCategory
      : accessMode;
  };
  const listed = (a: string, b: string) => LISTED[a]!.includes(b);

  it('no recorded conflict is missing, and new conflicts follow from category, access, symmetry, or mixed tools', () => {
    for (const [first, recorded] of Object.entries(golden['conflicting_tools'] as Sets)) {
      const now = registry.getConflictingTools(first);
      for (const second of rows.keys()) {
        if (first === second) continue;
        const [a, b] = [categoryBefore(first), categoryBefore(second)];
        expect(recorded.includes(second), `${first}, ${second}: the relation as recorded`).toBe(
          listed(a, b),
        );
        if (recorded.includes(second) === now.has(second)) {
          tally.add('agree');
          continue;
        }
        expect(now.has(second), `${first}, ${second}: only gained`).toBe(true);
        const [c, d] = [categoryNow(first), categoryNow(second)];
        if (a === c && b === d) {
          expect(listed(b, a) || [a, b].includes('mixed'), `${first}, ${second}`).toBe(true);
          tally.add(listed(b, a) ? 'conflicts are symmetric' : 'mixed tools run alone');
        } else {
          const rule = [first, second]
            .map((name) =>
              [UNDECLARED, EXECUTION, BOTH_AXES].find((each) => RULES[each]!(rows.get(name)!)),
            )
            .find((each) => each !== undefined);
          expect(rule, `${first}, ${second}`).toBeDefined();
          tally.add(rule!);
        }
      }
    }
    expect(tally.get('conflicts are symmetric')).toBeGreaterThan(0);
    expect(tally.get('mixed tools run alone')).toBeGreaterThan(0);
  });
});
