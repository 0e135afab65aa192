import { regexes } from 'zod';
import { cloneFrozen, isPlainObject, mapValues } from '../core/plain-data.js';
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

// The maximum length of a compact description, in characters. The system that these levels come
// from chose its limits so that a compact tool takes about half the tokens of a full one, and a
// stub about a quarter.
const COMPACT_DESCRIPTION = 150;
const COMPACT_PARAMETER = 50;
const STUB_DESCRIPTION = 80;

/** The rendered tools. Entries are frozen, so each level is rendered once. */
const rendered = new WeakMap<ToolEntry, Map<SchemaLevel, RenderedTool>>();

/**
 * Returns a tool at one of three levels. `full` is everything except noise. `compact` has the first
 * sentence and short parameter descriptions. `stub` has one line (the tool's `summary` if it has
 * one) and the required parameters.
 *
 * It returns the same object every time, so its JSON is byte-identical every time.
 */
export function renderTool(entry: ToolEntry, level: SchemaLevel): RenderedTool {
  let levels = rendered.get(entry);
  if (levels === undefined) rendered.set(entry, (levels = new Map<SchemaLevel, RenderedTool>()));
  let tool = levels.get(level);
  if (tool === undefined) levels.set(level, (tool = Object.freeze(render(entry, level))));
  return tool;
}

/**
 * Returns the highest level at which a tool is shown. Tools declared `compact` are shown as stubs;
 * the model can ask for the rest.
 */
export function highestLevel(entry: ToolEntry): SchemaLevel {
  return entry.compact ? 'stub' : 'full';
}

/** Estimates the number of tokens in a text, at four characters per token, as in English JSON. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function render(entry: ToolEntry, level: SchemaLevel): RenderedTool {
  const { name, description, summary } = entry;
  const schema = withoutNoise(entry.inputJsonSchema);
  // Deeply frozen, because a change would reach everyone who uses it.
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

/** The end of a sentence, but not of an abbreviation. */
const SENTENCE_END = /(?<!\b(?:e\.g|i\.e|cf|vs))[.!?](?= |$)/i;

function firstSentence(text: string, longest: number): string {
  const line = oneLine(text);
  const end = line.search(SENTENCE_END);
  return cut(end === -1 ? line : line.slice(0, end + 1), longest);
}

/** Half a surrogate pair at the end of a cut text. Model services refuse it. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;

function cut(text: string, longest: number): string {
  return text.length <= longest
    ? text
    : `${text
        .slice(0, longest - 1)
        .replace(HALF_CHARACTER, '')
        .trimEnd()}…`;
}

/** The patterns with which zod checks formats. */
const FORMAT_PATTERNS: ReadonlySet<string> = new Set(
  [
    ...Object.values(regexes),
    ...[undefined, 1, 2, 3, 4, 5, 6, 7, 8].map((version) => regexes.uuid(version)),
  ].flatMap((each) => (each instanceof RegExp ? [each.source] : [])),
);
/** The beginning of zod's patterns for date-times. Their ends differ by precision and offset. */
const MOMENT = regexes.date.source.slice(0, -1);

/**
 * Removes what costs tokens without telling a model anything: the dialect, the bounds of safe
 * integers, and the pattern of a named format. Inputs are still checked against the declared
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
 * Returns a schema with only the names and types of the required parameters. The model can ask for
 * the rest.
 */
function requiredOnly(schema: JsonSchema): JsonSchema {
  const undescribed = mapSchemas(
    schema,
    ({ description: _description, examples: _examples, default: _default, ...rest }) => rest,
  );
  const { properties, required } = undescribed;
  // A reference from elsewhere can lead to one of the parameters, so that parameter must stay.
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

/** A reference to a definition whose name needs no escaping. */
const DEFINITION = /^#\/\$defs\/([^/%~]+)$/;

/** Removes the definitions that nothing refers to any more, directly or indirectly. */
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

/**
 * The keywords that hold schemas by name, and the keywords that hold one schema or a list of them.
 * All other keywords hold data.
 */
const BY_NAME: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
const WITHIN: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'additionalProperties',
  'propertyNames',
  'contains',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Returns a copy of a schema in which every schema has been mapped, from the inside out. */
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
      BY_NAME.has(keyword) ? byName(value) : WITHIN.has(keyword) ? each(value) : value,
    ),
  );
}
