import type { ToolEntry } from '../../tool/tool-definition.js';

/** The parts of a tool that ranked search reads; a field's number is its place. Identifiers come from all the others. */
export const SEARCH_FIELDS = ['name', 'keywords', 'examples', 'description', 'category', 'parameters', 'parameter descriptions', 'identifiers'] as const;
export type SearchField = (typeof SEARCH_FIELDS)[number];

/**
 * Everything known of a tool as pieces of text, by field.
 *
 * Words of different pieces are no neighbours. The first piece of the name is the name itself, aliases follow.
 */
export function textOf(entry: ToolEntry): readonly (readonly string[])[] {
  const parameters = parametersOf(entry.inputJsonSchema['properties']);
  return [
    [entry.name, ...entry.aliases],
    [...entry.keywords, ...entry.mandatoryKeywords],
    entry.examples,
    [entry.description],
    entry.category === undefined ? [] : [entry.category],
    parameters.map(([name]) => name),
    parameters.map(([, description]) => description),
  ];
}

/** Names and descriptions of the top-level parameters. */
function parametersOf(properties: unknown): readonly (readonly [string, string])[] {
  if (typeof properties !== 'object' || properties === null) return [];
  return Object.entries(properties).map(([name, schema]: [string, unknown]) => {
    const description = typeof schema === 'object' && schema !== null ? (schema as { description?: unknown }).description : undefined;
    return [name, typeof description === 'string' ? description : ''];
  });
}
