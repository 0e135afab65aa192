import type { ToolEntry } from '../tool/tool-definition.js';
import { derivedSetsOf, DERIVED_SETS, type DerivedSet } from './derived-sets.js';
import { isAvailable } from './tool-filter.js';
import { AXES, AXIS_NAMES, type AxisName, type AxisValue } from '../tool/axes.js';

/** The values of an axis. Numbered values are counted under their names. */
type Counted<Name extends AxisName> =
  AxisValue<Name> extends string ? AxisValue<Name> : keyof (typeof AXES)[Name]['values'];

/** The number of tools with each value, for every axis. */
type AxisCounts = {
  readonly [Name in AxisName as `by${Capitalize<Name>}`]: Readonly<Record<Counted<Name>, number>>;
};

/** The number of tools in a registry for every axis and derived set. */
export interface RegistrySummary extends AxisCounts {
  readonly revision: number;
  readonly tools: number;
  readonly unavailable: number;
  readonly byCategory: Readonly<Record<string, number>>;
  readonly byStage: Readonly<Record<string, number>>;
  readonly byTaskType: Readonly<Record<string, number>>;
  readonly derived: Readonly<Record<DerivedSet, number>>;
}

/** Counts entries for every axis and derived set. */
export function summarize(entries: readonly ToolEntry[], revision: number): RegistrySummary {
  const counts = (
    values: readonly string[],
    valuesOf: (entry: ToolEntry) => readonly string[],
  ): Record<string, number> => {
    const count = new Map(values.map((value) => [value, 0]));
    for (const entry of entries)
      for (const value of valuesOf(entry)) count.set(value, (count.get(value) ?? 0) + 1);
    // Assigning to the key of a category named `__proto__` wouldn't add the category.
    return Object.fromEntries(count);
  };
  const axisCounts = (name: AxisName): [string, Record<string, number>] => {
    const names = new Map(
      Object.entries<string | number>(AXES[name].values).map(([key, value]) => [
        value,
        typeof value === 'number' ? key : value,
      ]),
    );
    return [
      `by${name[0]!.toUpperCase()}${name.slice(1)}`,
      counts([...names.values()], (entry) => [names.get(entry[name])!]),
    ];
  };
  return {
    revision,
    tools: entries.length,
    unavailable: entries.filter((entry) => !isAvailable(entry)).length,
    ...(Object.fromEntries(AXIS_NAMES.map(axisCounts)) as AxisCounts),
    byCategory: counts([], (entry) => (entry.category === undefined ? [] : [entry.category])),
    byStage: counts([], (entry) => entry.stages),
    byTaskType: counts([], (entry) => entry.taskTypes),
    derived: counts(Object.keys(DERIVED_SETS), derivedSetsOf) as RegistrySummary['derived'],
  };
}
