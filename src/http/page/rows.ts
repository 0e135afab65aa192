import { FacetCounter } from './facet-counter.js';
import type { HitWire, SearchWire, ListedTool } from './wire.js';
import { AXES, type Axis, type Route } from './route.js';

/** A tool in the list, with the reason if it was searched for. */
export interface Row {
  readonly tool: ListedTool;
  readonly hit: HitWire | null;
}

/** The values of one axis, with the number of tools that each would leave under the other filters. */
export interface Facet {
  readonly axis: Axis;
  readonly values: readonly {
    readonly value: string;
    readonly count: number;
    readonly chosen: boolean;
  }[];
}

interface Selected {
  /** The rows; the best ones for a search, of which there may be more. */
  readonly rows: readonly Row[];
  /** The number of tools with these filters, and the number without. */
  readonly total: number;
  readonly of: number;
  readonly facets: readonly Facet[];
}

/** The key that tells tools of one name apart. Names hold no `/`. */
export function keyOfTool(name: string, owner: string | null): string {
  return `${name}/${owner ?? ''}`;
}

/** Returns true for the same persona, however it is spelled. */
export function isSamePersona(a: string | null, b: string): boolean {
  return a !== null && a.trim().toLowerCase() === b.trim().toLowerCase();
}

/**
 * Returns the tools that a persona sees: the shared ones it is allowed and does not replace, and its own.
 *
 * `null` sees everything.
 */
export function visibleTo(
  tools: readonly ListedTool[],
  persona: string | null,
): readonly ListedTool[] {
  if (persona === null) return tools;
  const isMine = (name: string | null) => isSamePersona(name, persona);
  const own = new Set(tools.filter((tool) => isMine(tool.persona)).map(({ name }) => name));
  return tools.filter((tool) => {
    if (tool.persona !== null) return isMine(tool.persona);
    return !own.has(tool.name) && (tool.persona_allowlist?.some(isMine) ?? true);
  });
}

/**
 * Narrows tools down to the chosen ones, and counts what every other choice would leave. For a search, the server has
 * narrowed and counted.
 */
export function selectRows(
  tools: readonly ListedTool[],
  found: SearchWire | null,
  route: Route,
): Selected {
  const facetsOf = (countsOf: (axis: Axis) => ReadonlyMap<string, number>) =>
    AXES.map((axis) => ({
      axis,
      values: facetValues(axis.order, countsOf(axis), route.filters.get(axis.key)),
    }));
  if (found !== null) {
    const byKey = new Map(tools.map((tool) => [keyOfTool(tool.name, tool.persona), tool]));
    const rows = found.results.flatMap((hit) => {
      const tool = byKey.get(keyOfTool(hit.name, hit.persona));
      return tool === undefined ? [] : [{ tool, hit }];
    });
    return {
      rows,
      total: found.total,
      of: found.searched,
      facets: facetsOf(({ key }) => new Map(Object.entries(found.facets?.[key] ?? {}))),
    };
  }
  const counter = new FacetCounter(AXES);
  const chosen = AXES.filter(({ key }) => route.filters.has(key));
  const rows = tools.filter((tool) =>
    counter.add(
      chosen.filter(
        ({ all, key, valuesOf }) => !holds(all, valuesOf(tool), route.filters.get(key)!),
      ),
      ({ valuesOf }) => valuesOf(tool),
    ),
  );
  return {
    rows: rows.map((tool) => ({ tool, hit: null })),
    total: rows.length,
    of: tools.length,
    facets: facetsOf((axis) => counter.of(axis)),
  };
}

function holds(all: boolean, values: readonly string[], chosen: ReadonlySet<string>): boolean {
  return all
    ? [...chosen].every((value) => values.includes(value))
    : values.some((value) => chosen.has(value));
}

/** Returns the values of an axis. Chosen ones stay even without tools: users must be able to take them back. */
function facetValues(
  order: readonly string[] | undefined,
  counts: ReadonlyMap<string, number>,
  chosen: ReadonlySet<string> | undefined,
): Facet['values'] {
  const values = [...new Set([...counts.keys(), ...(chosen ?? [])])].map((value) => ({
    value,
    count: counts.get(value) ?? 0,
    chosen: chosen?.has(value) ?? false,
  }));
  const place = (value: string) =>
    order === undefined || !order.includes(value) ? Infinity : order.indexOf(value);
  return values.sort(
    (a, b) =>
      place(a.value) - place(b.value) || 0 || b.count - a.count || (a.value < b.value ? -1 : 1),
  );
}
