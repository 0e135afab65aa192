import fc from 'fast-check';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
} from '../../src/index.js';
import type { LooseOptions } from '../tool/sample-tools.js';

/** A few names, so tools often clash. Some are also used as aliases. */
export const NAMES = [
  'alpha',
  'beta',
  'gamma',
  'delta',
  'epsilon',
  'zeta',
  '__proto__',
  'constructor',
] as const;
export const ALIASES = ['alpha', 'beta', 'one', 'two', 'three', 'toString'] as const;
export const CATEGORIES = ['git', 'Files', 'web', '__proto__'] as const;
export const KEYWORDS = [
  'git',
  'diff',
  'git diff',
  'Tests',
  'test',
  'run tests',
  'ls',
  'c++',
  '🔥',
  'constructor',
] as const;
export const STAGES = ['reading', 'Execution', 'my stage'] as const;
export const TASK_TYPES = ['search', 'edit', 'toString'] as const;

const some = <T>(values: readonly T[], maxLength = 3) =>
  fc.uniqueArray(fc.constantFrom(...values), { maxLength });
const maybe = <T>(values: readonly T[]) =>
  fc.option(fc.constantFrom(...values), { nil: undefined });

const effects: fc.Arbitrary<SideEffect[]> = fc.oneof(
  fc.constant<SideEffect[]>(['none']),
  some<SideEffect>(Object.values(SideEffect).filter((effect) => effect !== 'none')),
);

const anyOptions = fc.record({
  name: fc.constantFrom(...NAMES),
  aliases: some(ALIASES, 2),
  description: fc.constantFrom('Shows changes', 'Runs the tests', 'Reads a file'),
  priority: maybe(Object.values(Priority)),
  accessMode: maybe(Object.values(AccessMode)),
  dangerLevel: maybe(Object.values(DangerLevel)),
  executionCategory: maybe(Object.values(ExecutionCategory)),
  costTier: maybe(Object.values(CostTier)),
  sideEffects: effects,
  requiresConsent: maybe([true, false]),
  category: maybe(CATEGORIES),
  keywords: some(KEYWORDS, 5),
  mandatoryKeywords: some(KEYWORDS, 2),
  stages: some(STAGES),
  taskTypes: some(TASK_TYPES),
  capabilities: some(['Vision', 'vision']),
  available: maybe([
    () => true,
    () => false,
    () => 1,
    () => {
      throw new Error('no');
    },
  ]),
});

/** Options of a tool with everything that a registry indexes, without contradictions. */
export const toolOptions: fc.Arbitrary<LooseOptions & { readonly name: string }> =
  anyOptions.filter(({ accessMode, executionCategory, sideEffects }) => {
    const changes =
      executionCategory === 'write' ||
      executionCategory === 'execute' ||
      sideEffects.includes('write') ||
      sideEffects.includes('system');
    // A readonly tool can't change anything, whether the access mode or the side effects say so.
    const reads =
      sideEffects.length > 0 &&
      sideEffects.every((effect) => effect === 'none' || effect === 'read_external_service');
    return !(changes && (accessMode === 'readonly' || reads));
  });
