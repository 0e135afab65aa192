import type { $ZodType } from 'zod/v4/core';
import type { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { cloneFrozen, describeValue, isPlainObject } from '../core/plain-data.js';
import { withOriginOf } from '../json-schema/compile-json-schema.js';
import { modernSchema } from '../json-schema/modern-schema.js';
import { SUBSCHEMAS, type Plain } from '../json-schema/schema-document.js';
import { invalidSchema, zodJsonSchema } from './zod-schema.js';

/**
 * The parts of the Standard Schema and Standard JSON Schema interfaces (https://standardschema.dev)
 * that tooldex uses.
 *
 * The interfaces are copied here, so the published types don't depend on a schema library.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A JSON Schema object in any draft. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/**
 * A tool's input or output schema: zod, another Standard Schema with JSON Schema, or plain JSON
 * Schema.
 */
export type ToolSchema = StandardSchema<unknown> | JsonSchema;

/**
 * The type that `execute` receives: the schema's parsed output, or `any` for plain JSON Schema.
 *
 * The first condition matches `z.infer`, so a function that is generic in its schema can use either
 * type.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type InputOf<S> = S extends { _zod: { output: any } }
  ? S['_zod']['output']
  : S extends { readonly '~standard': { readonly types?: infer Types } }
    ? NonNullable<Types> extends { readonly output: infer Output }
      ? Output
      : unknown
    : // The compiler knows nothing about plain JSON Schema, and `unknown` would refuse every annotated parameter.
      // eslint-disable-next-line @typescript-eslint/no-explicit-any
      any;

/**
 * The type that a schema accepts before parsing. The type of an output schema is the type that `execute` may return.
 *
 * `never` means that the compiler hasn't inferred the schema yet. The result is then `unknown`, which becomes the
 * type of expressions such as `new Promise((resolve) => …)`.
 */
export type SchemaInput<S> = [S] extends [never]
  ? unknown
  : S extends { readonly '~standard': { readonly types?: infer Types } }
    ? NonNullable<Types> extends { readonly input: infer Input }
      ? Input
      : unknown
    : unknown;

/** Returns true for a Standard Schema, such as a zod schema. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard = (value as Partial<StandardSchema>)['~standard'];
  return (
    typeof standard === 'object' && standard !== null && typeof standard.validate === 'function'
  );
}

/** The JSON Schema draft that models and clients receive. */
const TARGET = 'draft-2020-12';

interface WithJsonSchema {
  readonly '~standard': {
    readonly jsonSchema?: {
      readonly input?: (options: { target: string }) => JsonSchema;
      readonly output?: (options: { target: string }) => JsonSchema;
    };
  };
}

/**
 * Returns the frozen JSON Schema of a tool's input or output, in draft 2020-12.
 *
 * In an output schema, types that JSON Schema can't express (dates, bigints) become the empty
 * schema, which accepts anything. The original schema still validates these values.
 *
 * @throws ToolError `INVALID_INPUT_SCHEMA` if the value isn't the schema of an object, or listing
 * every part of an input schema that no JSON value can match.
 */
export function jsonSchemaOf(schema: ToolSchema, side: 'input' | 'output'): JsonSchema {
  const converted = cloneFrozen(convert(schema, side)) as Plain;
  const json: JsonSchema = withOriginOf(schema, cloneFrozen(modernSchema(converted)));
  const { type } = json;
  if (side === 'input' && type !== undefined && type !== 'object')
    throw wrongSchema(
      "an object schema (a tool's input has named parameters)",
      `one of type ${describeValue(type)}`,
    );
  return json;
}

function convert(schema: ToolSchema, side: 'input' | 'output'): unknown {
  if (isZod3(schema) || (isPlainObject(schema) && Object.values(schema).some(isZod3)))
    throw wrongSchema(
      'a zod 4 schema',
      'a zod 3 schema',
      'Install zod 4 (npm install zod@4) and import z from "zod".',
    );
  if (!isStandardSchema(schema)) return plainSchema(schema);
  if (isZod(schema)) return withoutDialect(zodJsonSchema(schema, side, TARGET));
  const { vendor, jsonSchema } = (schema as StandardSchema & WithJsonSchema)['~standard'];
  const json = jsonSchema?.[side]?.({ target: TARGET });
  if (json !== undefined) return withoutDialect(json);
  throw wrongSchema(
    'a Standard Schema that includes JSON Schema ("~standard".jsonSchema)',
    `one from ${describeValue(vendor)} without it`,
    CONVERTERS[vendor] ?? 'Pass plain JSON Schema instead.',
  );
}

/** Advice on getting JSON Schema from libraries whose schemas don't include it. */
const CONVERTERS: Readonly<Record<string, string>> = {
  valibot: 'Wrap it in toStandardJsonSchema(…) from @valibot/to-json-schema.',
};

function isZod(schema: StandardSchema): schema is StandardSchema & $ZodType {
  return schema['~standard'].vendor === 'zod' && '_zod' in schema;
}

/** Returns true for a zod 3 schema, which can't produce JSON Schema. */
function isZod3(schema: unknown): boolean {
  const definition: unknown =
    typeof schema === 'object' && schema !== null && !('_zod' in schema)
      ? (schema as { readonly _def?: unknown })._def
      : undefined;
  return isPlainObject(definition) && typeof definition['typeName'] === 'string';
}

/**
 * Removes `$schema`, which is the same for all tools and costs tokens, and `~standard`, which zod
 * adds.
 */
function withoutDialect(json: JsonSchema): JsonSchema {
  const { $schema: _dialect, '~standard': _standard, ...rest } = json;
  return rest;
}

const KEYWORDS: ReadonlySet<string> = new Set([
  ...SUBSCHEMAS.keys(),
  'type',
  'required',
  '$ref',
  'description',
  'title',
  '$schema',
  '$id',
  'enum',
  'const',
]);

/**
 * Returns a JSON Schema as it is declared. @throws ToolError for an object without any keyword, because it
 * would be treated as a schema that allows everything.
 */
function plainSchema(json: unknown): JsonSchema {
  if (!isPlainObject(json))
    throw wrongSchema(
      'a zod schema, a Standard Schema with JSON Schema, or a JSON Schema object',
      describeValue(json),
      json === undefined ? 'Use z.object({}) if the tool takes no input.' : undefined,
    );
  if (Object.values(json).some(isStandardSchema))
    throw wrongSchema('a schema', 'an object of schemas', 'Wrap it in z.object({…}).');
  const keys = Object.keys(json);
  if (keys.length === 0 || keys.some((key) => KEYWORDS.has(key))) return json;
  throw wrongSchema(
    'a JSON Schema',
    `an object with none of its keywords (${keys.slice(0, 3).join(', ')})`,
    'jsonSchema' in json
      ? 'Pass its jsonSchema: inputSchema: schema.jsonSchema.'
      : "Pass {type: 'object', properties: {…}}.",
  );
}

function wrongSchema(expected: string, got: string, advice?: string): ToolError {
  return invalidSchema([{ path: [], message: expectedGot(expected, got, advice) }]);
}
