import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
} from '../../src/index.js';
import { acceptedEntry, issuesWith, sampleEntry } from './sample-tools.js';
import { propertyRuns } from '../property-runs.js';

const maybe = <T>(values: readonly T[]) =>
  fc.option(fc.constantFrom(...values), { nil: undefined });
const effects = fc.oneof(
  fc.constant<SideEffect[]>(['none']),
  fc.uniqueArray(
    fc.constantFrom(...Object.values(SideEffect).filter((effect) => effect !== 'none')),
    { maxLength: 3 },
  ),
);

/** All combinations of declarations that don't contradict each other. */
const declarations = fc
  .record({
    priority: maybe(Object.values(Priority)),
    accessMode: maybe(Object.values(AccessMode)),
    dangerLevel: maybe(Object.values(DangerLevel)),
    executionCategory: maybe(Object.values(ExecutionCategory)),
    costTier: maybe(Object.values(CostTier)),
    allowParallel: maybe([true, false]),
    reads: maybe([[], ['private'], ['untrusted'], ['private', 'untrusted']] as const),
    sends: maybe(['nowhere', 'outside'] as const),
    sideEffects: fc.option(effects, { nil: undefined }),
    costPerCall: maybe([0, 0.01]),
  })
  .filter(
    ({ accessMode, executionCategory, sideEffects = [] }) =>
      !(
        accessMode === 'readonly' &&
        (executionCategory === 'write' ||
          executionCategory === 'execute' ||
          sideEffects.includes('write') ||
          sideEffects.includes('system'))
      ),
  );

const AXES = [
  'priority',
  'accessMode',
  'dangerLevel',
  'executionCategory',
  'costTier',
  'allowParallel',
  'reads',
  'sends',
] as const;

/** The least access that a side effect implies, or undefined if it implies no access. */
const ACCESS_OF_EFFECT: Readonly<Record<SideEffect, AccessMode>> = {
  none: 'readonly',
  read_external_service: 'readonly',
  write: 'write',
  system: 'execute',
  network: 'mixed',
  filesystem: 'mixed',
  compute: 'mixed',
  database: 'mixed',
};
const ACCESS_OF_CATEGORY: Readonly<Partial<Record<ExecutionCategory, AccessMode>>> = {
  write: 'write',
  execute: 'execute',
};
const DANGER_OF_ACCESS: Readonly<Record<AccessMode, DangerLevel>> = {
  readonly: 'low',
  write: 'medium',
  execute: 'high',
  mixed: 'high',
};
const CATEGORY_OF_ACCESS: Readonly<Record<AccessMode, ExecutionCategory>> = {
  readonly: 'read_only',
  write: 'write',
  execute: 'execute',
  mixed: 'mixed',
};

/** Returns true if access `a` allows everything that access `b` allows. */
const covers = (a: AccessMode, b: AccessMode) => a === b || a === 'mixed' || b === 'readonly';

it('a tool that declares nothing gets mixed access, high danger, and medium cost, and runs alone', () => {
  const entry = sampleEntry();
  expect(AXES.map((axis) => entry[axis])).toEqual([
    Priority.MEDIUM,
    'mixed',
    'high',
    'mixed',
    'medium',
    false,
    ['private', 'untrusted'],
    'outside',
  ]);
  expect(entry.inferred).toEqual([
    'priority',
    'accessMode',
    'dangerLevel',
    'executionCategory',
    'costTier',
    'allowParallel',
    'reads',
    'sends',
  ]);
  expect(sampleEntry({ sideEffects: [] })).toMatchObject({
    accessMode: 'mixed',
    dangerLevel: 'high',
    costTier: 'medium',
  });
});

it.each(Object.values(SideEffect))(
  'the other axes are inferred from the side effect %s',
  (effect) => {
    const access = ACCESS_OF_EFFECT[effect];
    expect(sampleEntry({ sideEffects: effect })).toMatchObject({
      accessMode: access,
      executionCategory: CATEGORY_OF_ACCESS[access],
      dangerLevel: DANGER_OF_ACCESS[access],
    });
  },
);

it.each([
  [['write', 'read_external_service'], 'write'],
  [['system', 'read_external_service'], 'execute'],
  [['write', 'system'], 'mixed'],
  [['write', 'database'], 'mixed'],
])('the side effects %s imply the access mode %s', (sideEffects, accessMode) => {
  expect(sampleEntry({ sideEffects }).accessMode).toBe(accessMode);
});

it.each(Object.values(AccessMode))(
  'the other axes are inferred from the access mode %s',
  (accessMode) => {
    expect(sampleEntry({ accessMode })).toMatchObject({
      executionCategory: CATEGORY_OF_ACCESS[accessMode],
      dangerLevel: DANGER_OF_ACCESS[accessMode],
    });
  },
);

it.each([
  [{ costPerCall: 0 }, 'free'],
  [{ costPerCall: 0, sideEffects: 'network' }, 'free'],
  [{ costPerCall: 0.01, sideEffects: 'none' }, 'high'],
  [{ sideEffects: 'read_external_service' }, 'medium'],
  [{ executionCategory: 'network' }, 'medium'],
  [{ sideEffects: 'filesystem' }, 'medium'],
  [{ sideEffects: ['filesystem'], accessMode: 'readonly' }, 'free'],
  [{ sideEffects: 'compute' }, 'low'],
  [{ executionCategory: 'mixed' }, 'medium'],
  [{ accessMode: 'readonly' }, 'free'],
  [{}, 'medium'],
])('the declaration %o implies the cost tier %s', (declared, tier) => {
  expect(sampleEntry(declared).costTier).toBe(tier);
});

it("inferred lists exactly the axes that weren't declared", () => {
  fc.assert(
    fc.property(declarations, (declared) => {
      const entry = acceptedEntry(declared);
      if (entry === undefined) return; // A refused declaration has no entry.
      expect(entry.inferred).toEqual(AXES.filter((axis) => declared[axis] === undefined));
      for (const axis of AXES)
        if (declared[axis] !== undefined) expect(entry[axis]).toEqual(declared[axis]);
    }),
    { numRuns: propertyRuns(500) },
  );
});

it('the inferred access mode always covers the side effects and the category', () => {
  fc.assert(
    fc.property(declarations, (declared) => {
      const entry = acceptedEntry(declared);
      if (entry === undefined) return;
      const { accessMode, inferred } = entry;
      fc.pre(inferred.includes('accessMode'));
      for (const effect of declared.sideEffects ?? [])
        expect(covers(accessMode, ACCESS_OF_EFFECT[effect])).toBe(true);
      const needed = declared.executionCategory && ACCESS_OF_CATEGORY[declared.executionCategory];
      if (needed !== undefined) expect(covers(accessMode, needed)).toBe(true);
      if (!declared.sideEffects?.length && needed === undefined) expect(accessMode).toBe('mixed');
    }),
    { numRuns: propertyRuns(1_000) },
  );
});

it.each(['write', 'execute'])(
  'a readonly tool with category %s is refused',
  (executionCategory) => {
    expect(issuesWith({ accessMode: 'readonly', executionCategory })[0]!.message).toMatch(
      /readonly.*executionCategory/,
    );
    expect(issuesWith({ accessMode: 'readonly', executionCategory })[0]!.message).toContain(
      `"${executionCategory}"`,
    );
  },
);

it.each(['write', 'system'])('a readonly tool with side effect %s is refused', (effect) => {
  const [issue, ...others] = issuesWith({
    accessMode: 'readonly',
    sideEffects: ['network', effect],
  });
  expect(others).toEqual([]);
  expect(issue!.message).toContain('side effect');
  expect(issue!.message).toContain(`"${effect}"`);
});
