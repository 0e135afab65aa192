import { describe, expect, it } from 'vitest';
import { type AccessMode, type Priority, type ToolMetadataRegistry } from '../../src/index.js';
import {
  activeRows,
  declaredAs,
  declaredList,
  present,
  readShared,
  registryOfRows,
  warnIfAbsent,
  type Row,
} from './victor-catalogue.js';

// Recorded answers of the recorded system about the same 64 tools. Each difference must follow from a
// rule below. The recorded system's manual lists (core read-only tools, fallbacks by category), task classes,
// and global alias table aren't compared, because tooldex doesn't have them.
warnIfAbsent('golden-victor.test.ts');

type Sets = Readonly<Record<string, readonly string[]>>;

const rows = new Map(activeRows().map((row) => [row.name, row]));
const golden = present
  ? (readShared('golden/victor.json') as { readonly derived: Readonly<Record<string, unknown>> })
      .derived
  : {};
const registry: ToolMetadataRegistry = registryOfRows([...rows.values()]);

type Rule = (row: Row, label: string) => boolean;
/** Undeclared tools are no longer read-only. */
const UNDECLARED: Rule = (row) => declaredAs(row, 'access_mode') === undefined;
/** Network access is mixed. */
const NETWORK: Rule = (row) => declaredAs(row, 'access_mode') === 'NETWORK';
/** The execution category no longer defaults to read_only. */
const EXECUTION: Rule = (row) =>
  declaredAs(row, 'access_mode') !== undefined &&
  declaredAs(row, 'execution_category') === undefined &&
  registry.require(row.name).executionCategory !== 'read_only';
/** Access and category both decide what runs in parallel. */
const BOTH_AXES: Rule = (row) =>
  declaredAs(row, 'access_mode') !== 'READONLY' &&
  ['READ_ONLY', 'COMPUTE', 'NETWORK'].includes(declaredAs(row, 'execution_category') ?? '');
/** Approval by danger begins at high and not at medium. */
const THRESHOLD: Rule = (row) =>
  declaredAs(row, 'danger_level') === 'MEDIUM' && declaredAs(row, 'access_mode') === 'READONLY';
/** Priority CONTEXTUAL is LOW, and an undeclared priority is MEDIUM. */
const PRIORITY: Rule = (row) => [undefined, 'CONTEXTUAL'].includes(declaredAs(row, 'priority'));
/** Categories and keywords of undeclared tools are not invented. */
const CATEGORY: Rule = (row) => row.declared['category'] === undefined;
const KEYWORDS: Rule = (row) => row.declared['keywords'] === undefined;
/** Keywords under three letters are kept. */
const SHORT: Rule = (row, keyword) =>
  keyword.length < 3 && declaredList(row, 'keywords').includes(keyword);

const names = (entries: Iterable<{ readonly name: string }>) =>
  [...entries].map(({ name }) => name);
const index = (name: string) => (golden[name] ?? {}) as Sets;
const set = (name: string): Sets => ({ '': (golden[name] ?? []) as readonly string[] });

/** What is compared, the recorded sets, the sets of today, the possible direction, and the rules. */
type Compared = [
  what: string,
  recorded: Sets,
  now: (label: string) => Iterable<string>,
  change: 'gain' | 'lose' | 'either',
  rules: readonly Rule[],
];
const COMPARED: readonly Compared[] = [
  [
    'write tools',
    set('write_tools'),
    () => registry.getWriteTools(),
    'gain',
    [UNDECLARED, NETWORK],
  ],
  [
    'cache-invalidating tools',
    set('cache_invalidating_tools'),
    () => registry.getCacheInvalidatingTools(),
    'gain',
    [UNDECLARED, NETWORK],
  ],
  [
    'idempotent tools',
    set('idempotent_tools'),
    () => registry.getIdempotentTools(),
    'lose',
    [UNDECLARED],
  ],
  [
    'tools requiring approval',
    set('tools_requiring_approval'),
    () => registry.getToolsRequiringApproval(),
    'either',
    [UNDECLARED, NETWORK, THRESHOLD],
  ],
  [
    'dangerous tools',
    set('dangerous_tools'),
    () => registry.getDangerousTools(),
    'gain',
    [UNDECLARED],
  ],
  [
    'parallelizable tools',
    set('parallelizable_tools'),
    () => registry.getParallelizableTools(),
    'lose',
    [UNDECLARED, EXECUTION, BOTH_AXES],
  ],
  ['critical tools', set('critical_tools'), () => registry.getCriticalTools(), 'either', []],
  [
    'available tools',
    set('available_tools'),
    () => names(registry.filter({ available: true })),
    'either',
    [],
  ],
  [
    'unavailable tools',
    set('unavailable_tools'),
    () => names(registry.filter({ available: false })),
    'either',
    [],
  ],
  [
    'priorities',
    index('by_priority'),
    (level) => {
      const value = ['CRITICAL', 'HIGH', 'MEDIUM', 'LOW'].indexOf(level);
      return value < 0 ? [] : names(registry.getByPriority(value as Priority));
    },
    'either',
    [PRIORITY],
  ],
  [
    'access modes',
    index('by_access_mode'),
    // The recorded mode network doesn't exist here.
    (mode) => (mode === 'network' ? [] : names(registry.getByAccessMode(mode as AccessMode))),
    'either',
    [UNDECLARED, NETWORK],
  ],
  [
    'danger levels',
    index('by_danger_level'),
    (level) => names(registry.getByDangerLevel(level as 'safe')),
    'either',
    [UNDECLARED],
  ],
  [
    'execution categories',
    index('by_execution_category'),
    (category) => names(registry.getByExecutionCategory(category as 'write')),
    'either',
    [UNDECLARED, EXECUTION],
  ],
  [
    'stages',
    labels(index('by_stage'), registry.getAllStages()),
    (stage) => registry.getToolsByStage(stage),
    'either',
    [],
  ],
  [
    'task types',
    labels(index('by_task_type'), registry.getAllTaskTypes()),
    (type) => registry.getToolsByTaskType(type),
    'either',
    [],
  ],
  [
    'categories',
    labels(index('by_category'), registry.getAllCategories()),
    (category) => names(registry.getByCategory(category)),
    'either',
    [CATEGORY],
  ],
  [
    'keywords',
    labels(index('by_keyword'), registry.getAllKeywords()),
    (keyword) => names(registry.getByKeyword(keyword)),
    'either',
    [KEYWORDS, SHORT],
  ],
  [
    'mandatory keywords',
    index('by_mandatory_keyword'),
    (keyword) =>
      names([...registry].filter(({ mandatoryKeywords }) => mandatoryKeywords.includes(keyword))),
    'either',
    [],
  ],
];

/** Returns the recorded sets, with an empty set for each label that only exists today. */
function labels(recorded: Sets, now: Iterable<string>): Sets {
  return { ...Object.fromEntries([...now].map((label) => [label, []])), ...recorded };
}

describe.skipIf(!present)('the recorded catalogue', () => {
  it.each<Compared>(COMPARED)(
    'has the %s of today, except for known differences',
    (_, recorded, now, change, rules) => {
      for (const [label, list] of Object.entries(recorded)) {
        const [before, after] = [new Set(list), new Set(now(label))];
        for (const name of new Set([...before, ...after])) {
          if (before.has(name) === after.has(name)) continue;
          const what = `${label}: ${name} ${before.has(name) ? 'was in and is not' : 'was not in and is'}`;
          expect(['either', before.has(name) ? 'lose' : 'gain'], what).toContain(change);
          expect(
            rules.some((rule) => rule(rows.get(name)!, label)),
            what,
          ).toBe(true);
        }
      }
    },
  );

  it('has the progress parameters of today', () => {
    const progress = [...registry]
      .filter(({ progressParams }) => progressParams.length > 0)
      .map(({ name, progressParams }) => [name, [...progressParams].sort()] as const);
    expect(Object.fromEntries(progress)).toEqual(golden['signature_params']);
  });

  it('has the category keywords of today, except for those that the recorded system invented or dropped', () => {
    for (const [category, recorded] of Object.entries(index('category_keywords'))) {
      const now = registry.getCategoryKeywords(category);
      for (const keyword of new Set([...recorded, ...now])) {
        const what = `${category}: ${keyword}`;
        if (recorded.includes(keyword) === now.has(keyword)) continue;
        if (now.has(keyword)) {
          expect(keyword.length, what).toBeLessThan(3);
          continue;
        }
        const owners = index('by_keyword')[keyword]!.filter((name) =>
          index('by_category')[category]!.includes(name),
        );
        expect(owners.length, what).toBeGreaterThan(0);
        expect(
          owners.every((owner) => KEYWORDS(rows.get(owner)!, keyword)),
          what,
        ).toBe(true);
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
    const reasons = new Set<string>();
    for (const [first, recorded] of Object.entries(golden['conflicting_tools'] as Sets)) {
      const now = registry.getConflictingTools(first);
      for (const second of rows.keys()) {
        if (first === second) continue;
        const [a, b] = [categoryBefore(first), categoryBefore(second)];
        expect(recorded.includes(second), `${first}, ${second}: the relation as recorded`).toBe(
          listed(a, b),
        );
        if (recorded.includes(second) === now.has(second)) continue;
        expect(now.has(second), `${first}, ${second}: only gained`).toBe(true);
        const [c, d] = [categoryNow(first), categoryNow(second)];
        if (a === c && b === d) {
          expect(listed(b, a) || [a, b].includes('mixed'), `${first}, ${second}`).toBe(true);
          reasons.add(listed(b, a) ? 'conflicts are symmetric' : 'mixed tools run alone');
        } else {
          const isKnown = [first, second].some((name) =>
            [UNDECLARED, EXECUTION, BOTH_AXES].some((rule) => rule(rows.get(name)!, '')),
          );
          expect(isKnown, `${first}, ${second}`).toBe(true);
        }
      }
    }
    expect(reasons.size).toBe(2);
  });
});
