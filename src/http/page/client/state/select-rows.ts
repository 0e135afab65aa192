import type { WireHit, WireTool } from '../data/wire.js';
import { AXES } from './axes.js';
import type { Route } from './route.js';

/** A tool in the list, with why it was found when something was asked. */
export interface Row {
  readonly tool: WireTool;
  readonly hit: WireHit | null;
}

/** The values of one axis, and how many tools each would leave with the other filters as they are. */
export interface Facet {
  readonly axis: (typeof AXES)[number];
  readonly values: readonly { readonly value: string; readonly count: number; readonly chosen: boolean }[];
}

export interface Selected {
  readonly rows: readonly Row[];
  readonly facets: readonly Facet[];
}

/** The key that tells tools of one name apart. Names hold no `/`. */
export function keyOfTool(name: string, owner: string | null): string {
  return `${name}/${owner ?? ''}`;
}

/** Personas are the same however they are spelled. */
export function isSamePersona(a: string | null, b: string): boolean {
  return a !== null && a.trim().toLowerCase() === b.trim().toLowerCase();
}

/**
 * The tools that a persona sees: the shared ones it is allowed and does not replace, and its own.
 *
 * `null` sees everything.
 */
export function visibleTo(tools: readonly WireTool[], persona: string | null): readonly WireTool[] {
  if (persona === null) return tools;
  const isMine = (name: string | null) => isSamePersona(name, persona);
  const own = new Set(tools.filter((tool) => isMine(tool.persona)).map(({ name }) => name));
  return tools.filter((tool) => {
    if (tool.persona !== null) return isMine(tool.persona);
    return !own.has(tool.name) && (tool.persona_allowlist?.some(isMine) ?? true);
  });
}

/** Narrows tools down to what was asked and chosen, and counts what every other choice would leave. */
export function selectRows(tools: readonly WireTool[], hits: readonly WireHit[] | null, route: Route): Selected {
  const chosen = AXES.map(({ key }) => route.filters.get(key));
  const counts = AXES.map(() => new Map<string, number>());
  const rows: Row[] = [];
  for (const row of asked(tools, hits)) {
    const values = AXES.map((axis) => axis.valuesOf(row.tool));
    const failing = AXES.flatMap((axis, index) => (chosen[index] === undefined || holds(axis.all === true, values[index]!, chosen[index]) ? [] : [index]));
    if (failing.length === 0) rows.push(row);
    // Another value of the only axis that says no would let it in; a further one, where all must hold, would not.
    if (failing.length > 1 || failing.some((index) => AXES[index]!.all)) continue;
    for (const index of failing.length === 1 ? failing : AXES.keys()) {
      for (const value of new Set(values[index])) counts[index]!.set(value, (counts[index]!.get(value) ?? 0) + 1);
    }
  }
  return { rows, facets: AXES.map((axis, index) => ({ axis, values: facetValues(axis.order, counts[index]!, chosen[index]) })) };
}

function holds(all: boolean, values: readonly string[], chosen: ReadonlySet<string>): boolean {
  return all ? [...chosen].every((value) => values.includes(value)) : values.some((value) => chosen.has(value));
}

function asked(tools: readonly WireTool[], hits: readonly WireHit[] | null): readonly Row[] {
  if (hits === null) return tools.map((tool) => ({ tool, hit: null }));
  const byKey = new Map(tools.map((tool) => [keyOfTool(tool.name, tool.persona), tool]));
  return hits.flatMap((hit) => {
    const tool = byKey.get(keyOfTool(hit.name, hit.persona));
    return tool === undefined ? [] : [{ tool, hit }];
  });
}

/** Chosen values stay even when no tool is left that has them: they must be there to be taken back. */
function facetValues(order: readonly string[] | undefined, counts: ReadonlyMap<string, number>, chosen: ReadonlySet<string> | undefined): Facet['values'] {
  const values = [...new Set([...counts.keys(), ...(chosen ?? [])])].map((value) => ({ value, count: counts.get(value) ?? 0, chosen: chosen?.has(value) ?? false }));
  const place = (value: string) => (order === undefined || !order.includes(value) ? Infinity : order.indexOf(value));
  return values.sort((a, b) => (place(a.value) - place(b.value) || 0) || b.count - a.count || (a.value < b.value ? -1 : 1));
}
