import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
  type ToolEntry,
  type ToolFilter,
} from '../../src/index.js';
import { refusal, registryOf } from '../tool/sample-tools.js';
import { CATEGORIES, KEYWORDS, NAMES, STAGES, TASK_TYPES, toolOptions } from './arbitrary-tools.js';
import { available, DERIVED } from './naive-registry.js';
import { propertyRuns } from '../property-runs.js';

const oneOrMore = <T extends string | number>(values: readonly T[]) =>
  fc.oneof(
    fc.constant(undefined),
    fc.constantFrom(...values),
    fc.uniqueArray(fc.constantFrom(...values), { maxLength: 3 }),
  );
const maybe = <T>(values: readonly T[]) =>
  fc.option(fc.constantFrom(...values), { nil: undefined });

const conditions = {
  name: oneOrMore(NAMES),
  priority: oneOrMore(Object.values(Priority)),
  accessMode: oneOrMore(Object.values(AccessMode)),
  dangerLevel: oneOrMore(Object.values(DangerLevel)),
  executionCategory: oneOrMore(Object.values(ExecutionCategory)),
  costTier: oneOrMore(Object.values(CostTier)),
  sideEffect: oneOrMore(Object.values(SideEffect)),
  category: oneOrMore(CATEGORIES),
  keyword: oneOrMore(KEYWORDS),
  stage: oneOrMore(STAGES),
  taskType: oneOrMore(TASK_TYPES),
  capability: oneOrMore(['vision', 'Vision']),
  derived: oneOrMore(Object.keys(DERIVED) as (keyof typeof DERIVED)[]),
  maxDanger: maybe(Object.values(DangerLevel)),
  maxCostTier: maybe(Object.values(CostTier)),
  available: maybe([true, false]),
} satisfies Record<Exclude<keyof ToolFilter, 'metadata'>, unknown>;

/** A filter with one condition, or with all of them. */
const filters: fc.Arbitrary<ToolFilter> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .constantFrom(...(Object.keys(conditions) as (keyof typeof conditions)[]))
      .chain((key) =>
        (conditions[key] as fc.Arbitrary<unknown>).map((value) => ({ [key]: value })),
      ),
  },
  { weight: 1, arbitrary: fc.record(conditions, { requiredKeys: [] }) as fc.Arbitrary<ToolFilter> },
);

function passesNaively(entry: ToolEntry, filter: ToolFilter): boolean {
  const list = <T>(value: T | readonly T[] | undefined) =>
    value === undefined ? undefined : Array.isArray(value) ? (value as readonly T[]) : [value as T];
  const has = <T>(
    wanted: T | readonly T[] | undefined,
    values: readonly (T | undefined)[],
    normalize: (value: T) => T = (value) => value,
  ) => list(wanted)?.some((value) => values.includes(normalize(value))) ?? true;
  const low = (label: string) => label.toLowerCase();
  const rank = (values: object, value: string) => Object.values(values).indexOf(value);
  return (
    has(filter.name, [entry.name]) &&
    has(filter.priority, [entry.priority]) &&
    has(filter.accessMode, [entry.accessMode]) &&
    has(filter.dangerLevel, [entry.dangerLevel]) &&
    has(filter.executionCategory, [entry.executionCategory]) &&
    has(filter.costTier, [entry.costTier]) &&
    has(filter.sideEffect, entry.sideEffects) &&
    has(filter.category, [entry.category], low) &&
    has(filter.keyword, entry.keywords, low) &&
    has(filter.stage, entry.stages, low) &&
    has(filter.taskType, entry.taskTypes, low) &&
    has(filter.capability, entry.capabilities) &&
    (list(filter.derived)?.some((set) => DERIVED[set](entry)) ?? true) &&
    (filter.maxDanger === undefined ||
      rank(DangerLevel, entry.dangerLevel) <= rank(DangerLevel, filter.maxDanger)) &&
    (filter.maxCostTier === undefined ||
      rank(CostTier, entry.costTier) <= rank(CostTier, filter.maxCostTier)) &&
    (filter.available === undefined || filter.available === available(entry))
  );
}

it('filter matches custom metadata by one value, by several values, and within lists', () => {
  const registry = registryOf(
    { name: 'invoice', metadata: { team: 'billing', regions: ['eu', 'us'] } },
    { name: 'chat', metadata: { team: 'support', owner: { id: 7 } } },
    { name: 'plain' },
  );
  const found = (metadata: NonNullable<ToolFilter['metadata']>) =>
    registry.filter({ metadata }).map(({ name }) => name);
  expect(found({ team: 'billing' })).toEqual(['invoice']);
  expect(found({ team: ['billing', 'support'] })).toEqual(['invoice', 'chat']);
  expect(found({ regions: 'us' })).toEqual(['invoice']);
  expect(found({ owner: { id: 7 } })).toEqual(['chat']);
  expect(found({ team: 'billing', regions: 'asia' })).toEqual([]);
  expect(found({ __proto__: null, toString: 'x' })).toEqual([]);
});

it('filter returns exactly the tools that match every condition, in registration order', () => {
  const tools = fc.uniqueArray(toolOptions, { selector: ({ name }) => name, minLength: 3 });
  fc.assert(
    fc.property(tools, fc.array(filters, { minLength: 5, maxLength: 20 }), (options, asked) => {
      const registry = registryOf(...options.map((each) => ({ ...each, aliases: [] })));
      for (const filter of asked)
        expect(registry.filter(filter).map(({ name }) => name)).toEqual(
          [...registry].filter((entry) => passesNaively(entry, filter)).map(({ name }) => name),
        );
    }),
    { numRuns: propertyRuns(200) },
  );
});

const registry = registryOf(
  { name: 'a', aliases: ['b'], category: 'git', accessMode: 'readonly' },
  { name: 'c' },
);

it('filter by name ignores aliases', () => {
  expect(registry.filter({ name: 'b' })).toEqual([]);
  expect(registry.filter({ name: ['a', 'b'] })).toHaveLength(1);
});

it.each([
  [
    'a condition named __proto__',
    JSON.parse('{"__proto__":{"accessMode":"write"}}'),
    '"__proto__"',
  ],
  ['an unknown derived set', { derived: 'constructor' }, 'derived'],
])('filter refuses %s instead of matching everything', (_, filter, found) => {
  const error = refusal(() => registry.filter(filter as ToolFilter));
  expect(error.code).toBe('INVALID_ARGUMENT');
  expect(error.message).toContain(found);
});
