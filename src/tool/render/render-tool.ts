import type { JsonSchema } from '../schema/standard-schema.js';
import type { ToolEntry } from '../tool-definition.js';

/** How much of a tool a model is shown. */
export const SCHEMA_LEVELS = Object.freeze(['full', 'compact', 'stub'] as const);
export type SchemaLevel = (typeof SCHEMA_LEVELS)[number];

/** A tool as a model sees it. */
export interface RenderedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

// Characters. Source: the caps of the system that the levels come from, which were chosen so that a compact tool takes
// about half and a stub about a quarter of the tokens of a full one.
const COMPACT_DESCRIPTION = 150;
const COMPACT_PARAMETER = 50;
const STUB_DESCRIPTION = 80;

/** Entries are frozen, so each level is made once. */
const rendered = new WeakMap<ToolEntry, Map<SchemaLevel, RenderedTool>>();

/**
 * A tool at one of three levels: `full` is everything; `compact` has the first sentence and short parameter
 * descriptions; `stub` one line (the tool's `summary`, if it has one) and only the required parameters.
 *
 * The same object every time, so its JSON has equal bytes every time.
 */
export function renderTool(entry: ToolEntry, level: SchemaLevel): RenderedTool {
  let levels = rendered.get(entry);
  if (levels === undefined) rendered.set(entry, (levels = new Map<SchemaLevel, RenderedTool>()));
  let tool = levels.get(level);
  if (tool === undefined) levels.set(level, (tool = Object.freeze(render(entry, level))));
  return tool;
}

/** The highest level at which a tool is shown: tools declared `compact` are stubs, and explained when the model asks. */
export function highestLevel(entry: ToolEntry): SchemaLevel {
  return entry.compact ? 'stub' : 'full';
}

/** About as many tokens as English JSON takes: four characters each. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function render(entry: ToolEntry, level: SchemaLevel): RenderedTool {
  const { name, description, summary, inputJsonSchema } = entry;
  if (level === 'full') return { name, description, inputSchema: inputJsonSchema };
  if (level === 'compact') return { name, description: firstSentence(description, COMPACT_DESCRIPTION), inputSchema: withShortDescriptions(inputJsonSchema) };
  return { name, description: cut(summary ?? firstSentence(description, STUB_DESCRIPTION), STUB_DESCRIPTION), inputSchema: requiredOnly(inputJsonSchema) };
}

function firstSentence(text: string, longest: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const end = line.search(/[.!?](?= |$)/);
  return cut(end === -1 ? line : line.slice(0, end + 1), longest);
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).trimEnd()}…`;
}

function withShortDescriptions(schema: JsonSchema): JsonSchema {
  return mapProperties(schema, (property) => (typeof property['description'] === 'string' ? { ...property, description: cut(property['description'], COMPACT_PARAMETER) } : property));
}

/** Names and types of the required parameters; what else there is, the model can ask for. */
function requiredOnly(schema: JsonSchema): JsonSchema {
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  const kept = mapProperties(schema, ({ description: _description, examples: _examples, default: _default, ...property }) => property);
  const properties = Object.entries((kept['properties'] ?? {})).filter(([name]) => required.includes(name));
  const { properties: _all, ...rest } = kept;
  return properties.length === 0 ? rest : { ...rest, properties: Object.fromEntries(properties) };
}

function mapProperties(schema: JsonSchema, map: (property: JsonSchema) => JsonSchema): JsonSchema {
  const properties = schema['properties'];
  if (typeof properties !== 'object' || properties === null) return schema;
  const mapped = Object.entries(properties).map(([name, property]: [string, unknown]) => [name, typeof property === 'object' && property !== null ? map(property as JsonSchema) : property]);
  return { ...schema, properties: Object.fromEntries(mapped) as JsonSchema };
}
