import type { CapabilityTool } from '../capability/state/capability-items.js';
import { fieldsOn } from '../tool/tool-fields.js';
import { healthLevelOf, valuesOn } from './values-on.js';
import { valueOf } from './wire-tool.js';

/**
 * The fields by which tools can be filtered. If `all` is true, a tool must have every chosen value.
 * If `all` is false, a tool must have at least one of the chosen values.
 */
const AXES = fieldsOn('axis').map(([field, { wire, filter }]) => ({
  field,
  key: filter?.param ?? wire,
  all: filter?.all === true,
}));

type Counts = Readonly<Record<string, number>>;

/**
 * Counts the tools with each value of each axis, ignoring the filter on that axis but not the other
 * filters. Also counts the tools with each combination of access and danger.
 *
 * @param toolsWithout Returns the tools that pass all filters except the filters of the given
 * parameters.
 */
export function countFacets(
  query: Readonly<Record<string, unknown>>,
  toolsWithout: (...parameters: readonly string[]) => readonly CapabilityTool[],
) {
  const passing = toolsWithout();
  const facets = AXES.map(({ field, key, all }): [string, Counts] => {
    // The filter on an axis isn't ignored if a tool must have every chosen value, because choosing
    // a second value then matches fewer tools.
    const tools = query[key] === undefined || all ? passing : toolsWithout(key);
    return [key, countBy(tools, (tool) => axisValues(tool, field))];
  });
  const cells = countBy(toolsWithout('access_mode', 'danger_level'), ({ entry }) => [
    `${entry.accessMode} ${entry.dangerLevel}`,
  ]);
  return { facets: Object.fromEntries(facets), cells };
}

/** Returns the number of items that have each value. */
export function countBy<Item>(
  items: readonly Item[],
  valuesFor: (item: Item) => readonly string[],
): Counts {
  const counts = new Map<string, number>();
  for (const item of items)
    for (const value of new Set(valuesFor(item))) counts.set(value, (counts.get(value) ?? 0) + 1);
  return Object.fromEntries(counts);
}

function axisValues(
  tool: CapabilityTool,
  field: (typeof AXES)[number]['field'],
): readonly string[] {
  return field === 'health'
    ? [healthLevelOf(tool.health.tool.successRate)]
    : valuesOn(valueOf(tool, field));
}
