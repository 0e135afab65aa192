import type { ToolEntry } from '../tool/tool-definition.js';
import { derivedSetsOf, DERIVED_SETS, type DerivedSet } from './derived-sets.js';
import { isAvailable } from './tool-filter.js';
import { AccessMode, CostTier, DangerLevel, ExecutionCategory, Priority } from '../core/enums.js';

/** The number of tools in a registry for every axis and derived set. */
export interface RegistrySummary {
  readonly revision: number;
  readonly tools: number;
  readonly unavailable: number;
  readonly byPriority: Readonly<Record<keyof typeof Priority, number>>;
  readonly byAccessMode: Readonly<Record<AccessMode, number>>;
  readonly byDangerLevel: Readonly<Record<DangerLevel, number>>;
  readonly byExecutionCategory: Readonly<Record<ExecutionCategory, number>>;
  readonly byCostTier: Readonly<Record<CostTier, number>>;
  readonly byCategory: Readonly<Record<string, number>>;
  readonly byStage: Readonly<Record<string, number>>;
  readonly byTaskType: Readonly<Record<string, number>>;
  readonly derived: Readonly<Record<DerivedSet, number>>;
}

/** Counts entries for every axis and derived set. */
export function summarize(entries: readonly ToolEntry[], revision: number): RegistrySummary {
  const counts = (
    known: readonly string[],
    valuesOf: (entry: ToolEntry) => readonly string[],
  ): Record<string, number> => {
    const count = new Map(known.map((value) => [value, 0]));
    for (const entry of entries)
      for (const value of valuesOf(entry)) count.set(value, (count.get(value) ?? 0) + 1);
    // Assigning to the key of a category named `__proto__` wouldn't add the category.
    return Object.fromEntries(count);
  };
  const priorityNames = Object.keys(Priority);
  return {
    revision,
    tools: entries.length,
    unavailable: entries.filter((entry) => !isAvailable(entry)).length,
    byPriority: counts(priorityNames, (entry) => [
      priorityNames[entry.priority]!,
    ]) as RegistrySummary['byPriority'],
    byAccessMode: counts(Object.values(AccessMode), (entry) => [
      entry.accessMode,
    ]) as RegistrySummary['byAccessMode'],
    byDangerLevel: counts(Object.values(DangerLevel), (entry) => [
      entry.dangerLevel,
    ]) as RegistrySummary['byDangerLevel'],
    byExecutionCategory: counts(Object.values(ExecutionCategory), (entry) => [
      entry.executionCategory,
    ]) as RegistrySummary['byExecutionCategory'],
    byCostTier: counts(Object.values(CostTier), (entry) => [
      entry.costTier,
    ]) as RegistrySummary['byCostTier'],
    byCategory: counts([], (entry) => (entry.category === undefined ? [] : [entry.category])),
    byStage: counts([], (entry) => entry.stages),
    byTaskType: counts([], (entry) => entry.taskTypes),
    derived: counts(Object.keys(DERIVED_SETS), derivedSetsOf) as RegistrySummary['derived'],
  };
}
