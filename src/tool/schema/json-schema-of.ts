import { toJSONSchema } from 'zod';
import type { $ZodType } from 'zod/v4/core';
import { cloneFrozen, describeValue, isPlainObject } from '../../core/plain-data.js';
import { withOriginOf } from '../../json-schema/compile-json-schema.js';
import { isStandardSchema, type JsonSchema, type StandardSchema, type ToolSchema } from './standard-schema.js';

/** The draft in which schemas are shown to models and clients. */
const TARGET = 'draft-2020-12';

interface WithJsonSchema {
  readonly '~standard': { readonly jsonSchema?: { readonly input?: (options: { target: string }) => unknown; readonly output?: (options: { target: string }) => unknown } };
}

/**
 * Returns the frozen JSON Schema of a tool's input or output.
 *
 * Types that JSON Schema cannot express (dates, bigints, transforms) become the empty schema, which accepts anything:
 * the schema itself still checks them.
 *
 * @throws TypeError saying what was expected and what came, when the value is no schema or none of an object.
 */
export function jsonSchemaOf(schema: ToolSchema, side: 'input' | 'output'): JsonSchema {
  const json = withOriginOf(schema, cloneFrozen(convert(schema, side)) as JsonSchema);
  assertWellFormed(json);
  if (side === 'input' && json['type'] !== undefined && json['type'] !== 'object') {
    throw new TypeError(`a schema of an object (a tool's input has named parameters), got one of type ${describeValue(json['type'])}`);
  }
  return json;
}

function convert(schema: ToolSchema, side: 'input' | 'output'): unknown {
  if (!isStandardSchema(schema)) {
    if (!isPlainObject(schema)) throw new TypeError(`a zod schema, a Standard Schema with JSON Schema, or a JSON Schema object, got ${describeValue(schema)}`);
    if (Object.values(schema).some(isStandardSchema)) throw new TypeError('a schema, got an object of schemas. Wrap it in z.object({…})');
    return schema;
  }
  if (isZod(schema)) return withoutDialect(toJSONSchema(schema, { target: TARGET, io: side, unrepresentable: 'any' }));
  const toJson = (schema as unknown as WithJsonSchema)['~standard'].jsonSchema?.[side];
  if (typeof toJson !== 'function') {
    throw new TypeError(
      `a Standard Schema that carries JSON Schema ("~standard".jsonSchema), got one of ${describeValue(schema['~standard'].vendor)} without. Give plain JSON Schema instead`,
    );
  }
  const json: unknown = toJson({ target: TARGET });
  return typeof json === 'object' && json !== null ? withoutDialect(json) : json;
}

function isZod(schema: StandardSchema): schema is StandardSchema & $ZodType {
  return schema['~standard'].vendor === 'zod' && '_zod' in schema;
}

/** Removes what costs the model tokens: the `$schema` line, equal for all tools, and `~standard`, zod's own addition. */
function withoutDialect(json: object): object {
  return Object.fromEntries(Object.entries(json).filter(([keyword]) => keyword !== '$schema' && keyword !== '~standard'));
}

const TYPES: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const KEYWORDS = ['type', 'properties', 'required', 'additionalProperties', 'patternProperties', 'anyOf', 'oneOf', 'allOf', 'not', 'if', '$ref', '$defs', 'definitions', 'description', 'title', '$schema', '$id', 'enum', 'const'];

/** Refuses a value that is no JSON Schema at all: it would be taken for one that allows everything. */
function assertWellFormed(json: unknown): asserts json is JsonSchema {
  if (!isPlainObject(json)) throw new TypeError(`a JSON Schema object, got ${describeValue(json)}`);
  const { type, properties, required } = json;
  const keys = Object.keys(json);
  if (keys.length > 0 && !keys.some((key) => KEYWORDS.includes(key))) {
    throw new TypeError(`a JSON Schema, got an object with none of its keywords (${keys.slice(0, 3).join(', ')}). Give {type: 'object', properties: {…}}`);
  }
  if (!isType(type)) throw new TypeError(`a JSON Schema type, got ${describeValue(type)}`);
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string'))) throw new TypeError(`"required" as a list of names, got ${describeValue(required)}`);
  if (properties === undefined) return;
  if (!isPlainObject(properties)) throw new TypeError(`"properties" as an object of schemas, got ${describeValue(properties)}`);
  for (const [name, property] of Object.entries(properties)) {
    if (typeof property === 'boolean') continue;
    if (!isPlainObject(property)) throw new TypeError(`a schema of the property ${JSON.stringify(name)}, got ${describeValue(property)}`);
    if (!isType(property['type'])) throw new TypeError(`a JSON Schema type of the property ${JSON.stringify(name)}, got ${describeValue(property['type'])}`);
  }
}

function isType(type: unknown): boolean {
  return type === undefined || (Array.isArray(type) ? type.every((each) => TYPES.has(each)) : TYPES.has(type));
}
