import { regexes } from 'zod';
import { cloneFrozen, isPlainObject, mapValues } from '../core/plain-data.js';
import { SUBSCHEMAS } from '../json-schema/schema-document.js';
import type { JsonSchema } from './tool-schema.js';
import type { ToolEntry } from './tool-definition.js';

/** The level of detail at which a model sees a tool. */
export const SCHEMA_LEVELS = Object.freeze(['full', 'compact', 'stub'] as const);
export type SchemaLevel = (typeof SCHEMA_LEVELS)[number];

/** A tool as a model sees it. */
export interface RenderedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

// The maximum length of a compact description, in characters.
// A compact tool takes about half the tokens of a full tool, and a stub about a quarter.
const COMPACT_DESCRIPTION = 150;
const COMPACT_PARAMETER = 50;
const STUB_DESCRIPTION = 80;

/** Rendered tools. Entries are frozen, so each level is rendered only once. */
const rendered = new WeakMap<ToolEntry, Map<SchemaLevel, RenderedTool>>();

/**
 * Renders a tool at one of three levels of detail. `full` includes everything except noise.
 * `compact` includes the first sentence and short parameter descriptions. `stub` includes one line
 * (the tool's `summary`, if any) and the required parameters.
 *
 * Always returns the same object for a tool and level, so its JSON is byte-identical.
 */
export function renderTool(entry: ToolEntry, level: SchemaLevel): RenderedTool {
  let levels = rendered.get(entry);
  if (levels === undefined) rendered.set(entry, (levels = new Map<SchemaLevel, RenderedTool>()));
  let tool = levels.get(level);
  if (tool === undefined) levels.set(level, (tool = Object.freeze(render(entry, level))));
  return tool;
}

/**
 * Returns the most detailed level at which a tool is shown. Tools declared `compact` are shown as
 * stubs; the model can ask for the full definition.
 */
export function highestLevel(entry: ToolEntry): SchemaLevel {
  return entry.compact ? 'stub' : 'full';
}

/**
 * Estimates the number of tokens in a text at four characters per token, which is typical for
 * English JSON.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function render(entry: ToolEntry, level: SchemaLevel): RenderedTool {
  const { name, description, summary } = entry;
  const schema = withoutNoise(entry.inputJsonSchema);
  // The tool is deeply frozen, because a change to a shared object would affect every user.
  if (level === 'full') return { name, description, inputSchema: cloneFrozen(schema) };
  if (level === 'compact')
    return {
      name,
      description: firstSentence(description, COMPACT_DESCRIPTION),
      inputSchema: cloneFrozen(withShortDescriptions(schema)),
    };
  return {
    name,
    description: cut(
      summary === undefined ? firstSentence(description, STUB_DESCRIPTION) : oneLine(summary),
      STUB_DESCRIPTION,
    ),
    inputSchema: cloneFrozen(requiredOnly(schema)),
  };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Matches the end of a sentence, but not of an abbreviation. */
const SENTENCE_END = /(?<!\b(?:e\.g|i\.e|cf|vs))[.!?](?= |$)/i;

function firstSentence(text: string, longest: number): string {
  const line = oneLine(text);
  const end = line.search(SENTENCE_END);
  return cut(end === -1 ? line : line.slice(0, end + 1), longest);
}

/** Matches half a surrogate pair at the end of truncated text. Model APIs reject such text. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;

function cut(text: string, longest: number): string {
  return text.length <= longest
    ? text
    : `${text
        .slice(0, longest - 1)
        .replace(HALF_CHARACTER, '')
        .trimEnd()}…`;
}

/** The patterns that zod uses to validate formats. */
const FORMAT_PATTERNS: ReadonlySet<string> = new Set(
  [
    ...Object.values(regexes),
    ...[undefined, 1, 2, 3, 4, 5, 6, 7, 8].map((version) => regexes.uuid(version)),
  ].flatMap((each) => (each instanceof RegExp ? [each.source] : [])),
);
/**
 * The start of zod's date-time patterns. The ends of these patterns differ by precision and offset.
 */
const MOMENT = regexes.date.source.slice(0, -1);

/**
 * Removes schema noise, which costs tokens without helping the model: the dialect, the bounds of
 * safe integers, and the pattern of a named format. Inputs are still validated against the declared
 * schema.
 */
function withoutNoise(schema: JsonSchema): JsonSchema {
  return mapSchemas(schema, (node) =>
    Object.fromEntries(
      Object.entries(node).filter(([keyword, value]) => !isNoise(keyword, value, node)),
    ),
  );
}

function isNoise(keyword: string, value: unknown, { format }: JsonSchema): boolean {
  switch (keyword) {
    case '$schema':
      return true;
    case 'minimum':
      return value === Number.MIN_SAFE_INTEGER;
    case 'maximum':
      return value === Number.MAX_SAFE_INTEGER;
    case 'pattern':
      return (
        typeof format === 'string' &&
        typeof value === 'string' &&
        (FORMAT_PATTERNS.has(value) || value.startsWith(MOMENT))
      );
    case 'propertyNames':
      return isPlainObject(value) && value['type'] === 'string' && Object.keys(value).length === 1;
    default:
      return false;
  }
}

function withShortDescriptions(schema: JsonSchema): JsonSchema {
  return mapSchemas(schema, (each) =>
    typeof each['description'] === 'string'
      ? { ...each, description: cut(each['description'], COMPACT_PARAMETER) }
      : each,
  );
}

/**
 * Reduces a schema to the names and types of its required parameters. The model can ask for the
 * full schema.
 */
function requiredOnly(schema: JsonSchema): JsonSchema {
  const undescribed = mapSchemas(
    schema,
    ({ description: _description, examples: _examples, default: _default, ...rest }) => rest,
  );
  const { properties, required } = undescribed;
  // A `$ref` elsewhere in the schema can point to a parameter, so that parameter must be kept.
  if (
    !isPlainObject(properties) ||
    referencesIn(undescribed).some((each) => each.startsWith('#/properties'))
  )
    return undescribed;
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  return withoutUnused({
    ...undescribed,
    properties: Object.fromEntries(
      Object.entries(properties).filter(([name]) => names.includes(name)),
    ),
  });
}

/** Matches a `$ref` to a definition whose name needs no escaping. */
const DEFINITION = /^#\/\$defs\/([^/%~]+)$/;

/** Removes the definitions that aren't referenced any more, directly or indirectly. */
function withoutUnused(schema: JsonSchema): JsonSchema {
  const { $defs: definitions, ...rest } = schema;
  if (
    !isPlainObject(definitions) ||
    referencesIn(schema).some((each) => each !== '#' && !DEFINITION.test(each))
  )
    return schema;
  const used = new Set<string>();
  const use = (value: unknown) => {
    for (const reference of referencesIn(value)) {
      const name = DEFINITION.exec(reference)?.[1];
      if (name === undefined || used.has(name) || !Object.hasOwn(definitions, name)) continue;
      used.add(name);
      use(definitions[name]);
    }
  };
  use(rest);
  return used.size === 0
    ? rest
    : {
        ...rest,
        $defs: Object.fromEntries(Object.entries(definitions).filter(([name]) => used.has(name))),
      };
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]: [string, unknown]) =>
    typeof item !== 'string' ? referencesIn(item) : key === '$ref' ? [item] : [],
  );
}

/** Maps every schema inside a schema, innermost first, and returns the result. */
export function mapSchemas(
  schema: JsonSchema,
  map: (schema: JsonSchema) => JsonSchema,
): JsonSchema {
  const each = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(each) : isPlainObject(value) ? mapSchemas(value, map) : value;
  const byName = (value: unknown): unknown =>
    isPlainObject(value) ? mapValues(value, ([, item]) => each(item)) : value;
  return map(
    mapValues(schema, ([keyword, value]) =>
      SUBSCHEMAS.get(keyword) === 'map'
        ? byName(value)
        : SUBSCHEMAS.has(keyword)
          ? each(value)
          : value,
    ),
  );
}
