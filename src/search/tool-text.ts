import type { ToolEntry } from '../tool/tool-definition.js';

/** The parts of a tool that ranked search reads, with how much a word in each counts. */
export const SEARCH_FIELDS = {
  name: 3,
  keywords: 2,
  examples: 1.5,
  description: 1,
  category: 1,
  parameters: 0.7,
} as const;
export type SearchField = keyof typeof SEARCH_FIELDS;

/** Everything known of a tool as text, by field. */
export function textOf(entry: ToolEntry): Record<SearchField, string> {
  return {
    name: [entry.name, ...entry.aliases].join(' '),
    keywords: [...entry.keywords, ...entry.mandatoryKeywords].join(' | '),
    examples: entry.examples.join(' | '),
    description: entry.description,
    category: entry.category ?? '',
    parameters: parameterText(entry.inputJsonSchema['properties']),
  };
}

/** Names and descriptions of the top-level parameters. */
function parameterText(properties: unknown): string {
  if (typeof properties !== 'object' || properties === null) return '';
  return Object.entries(properties)
    .map(([name, schema]: [string, unknown]) => {
      const description = typeof schema === 'object' && schema !== null ? (schema as { description?: unknown }).description : undefined;
      return typeof description === 'string' ? `${name} ${description}` : name;
    })
    .join(' | ');
}
