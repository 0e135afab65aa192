import type { CapabilityTool } from '../capability/state/capability-items.js';
import { FILTERS } from './read-query.js';
import { healthLevelOf, valuesOn } from './values-on.js';
import { valueOf, type WireField } from './wire-tool.js';

/** The filters whose values are counted. */
const COUNTED = [
  ...FILTERS,
  ...(['requires_approval', 'available', 'health'] as const).map((param) => ({
    param,
    counts: param,
    all: undefined,
  })),
].filter(({ counts }) => counts !== undefined);

type Counts = Readonly<Record<string, number>>;

/**
 * Counts the tools with each value of each filter, ignoring that filter but not the other filters. Also counts the tools with each combination of access and danger.
 *
 * @param toolsWithout Returns the tools that pass all filters except the filters of the given
 * parameters.
 */
export function countFacets(
  query: Readonly<Record<string, unknown>>,
  toolsWithout: (...parameters: readonly string[]) => readonly CapabilityTool[],
) {
  const passing = toolsWithout();
  const facets = COUNTED.map(({ param, counts, all }): [string, Counts] => {
    // A filter ignored if a tool must have every chosen value, because choosing a second value
    // then matches fewer tools.
    const tools = query[param] === undefined || all ? passing : toolsWithout(param);
    return [param, countBy(tools, (tool) => valuesIn(tool, counts!))];
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

function valuesIn(tool: CapabilityTool, field: WireField): readonly string[] {
  return field === 'health'
    ? [healthLevelOf(tool.health.tool.successRate)]
    : valuesOn(valueOf(tool, field));
}
