import { toJSONSchema } from 'zod';
import type { $ZodType } from 'zod/v4/core';
import { cloneFrozen, describeValue } from '../core/plain-data.js';
import { isStandardSchema, type JsonSchema, type StandardSchema, type ToolSchema } from './standard-schema.js';

/** The draft in which schemas are shown to models and clients. */
const TARGET = 'draft-2020-12';

interface WithJsonSchema {
  readonly '~standard': { readonly jsonSchema?: { readonly input?: (options: { target: string }) => unknown; readonly output?: (options: { target: string }) => unknown } };
}

/**
 * The frozen JSON Schema of a tool's input or output.
 *
 * Types that JSON Schema cannot express (dates, bigints, transforms) become the empty schema, which accepts anything:
 * the schema itself still checks them.
 *
 * @throws TypeError saying what was expected and found, when the value is no schema or none of an object.
 */
export function jsonSchemaOf(schema: ToolSchema, side: 'input' | 'output'): JsonSchema {
  const json = cloneFrozen(convert(schema, side)) as JsonSchema;
  if (side === 'input' && json['type'] !== undefined && json['type'] !== 'object') {
    throw new TypeError(`a schema of an object (a tool's input has named parameters), found one of type ${describeValue(json['type'])}`);
  }
  return json;
}

function convert(schema: ToolSchema, side: 'input' | 'output'): unknown {
  if (!isStandardSchema(schema)) {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
      throw new TypeError(`a zod schema, a Standard Schema with JSON Schema, or a JSON Schema object, found ${describeValue(schema)}`);
    }
    return schema;
  }
  if (isZod(schema)) return withoutDialect(toJSONSchema(schema, { target: TARGET, io: side, unrepresentable: 'any' }));
  const toJson = (schema as unknown as WithJsonSchema)['~standard'].jsonSchema?.[side];
  if (typeof toJson !== 'function') {
    throw new TypeError(
      `a Standard Schema that carries JSON Schema ("~standard".jsonSchema), found one of ${describeValue(schema['~standard'].vendor)} without; give plain JSON Schema instead`,
    );
  }
  const json: unknown = toJson({ target: TARGET });
  return typeof json === 'object' && json !== null ? withoutDialect(json) : json;
}

function isZod(schema: StandardSchema): schema is StandardSchema & $ZodType {
  return schema['~standard'].vendor === 'zod' && '_zod' in schema;
}

/** The `$schema` line is the same for every tool and costs the model tokens; `~standard` is zod's own addition. */
function withoutDialect(json: object): object {
  return Object.fromEntries(Object.entries(json).filter(([keyword]) => keyword !== '$schema' && keyword !== '~standard'));
}
