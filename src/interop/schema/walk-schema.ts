import { isPlainObject, mapValues } from '../../core/plain-data.js';
import { pointedAt } from '../../json-schema/schema-document.js';
import type { JsonSchema } from '../../tool/tool-schema.js';

/** Returns the list of schemas under a keyword, or an empty list if there is none. */
export function schemasUnder(schema: JsonSchema, keyword: string): readonly JsonSchema[] {
  const value = schema[keyword];
  return Array.isArray(value) ? value.map(asSchema) : [];
}

/**
 * Returns a schema, or an empty schema in place of a boolean. Most targets have no way to express
 * `false`.
 */
export function asSchema(value: unknown): JsonSchema {
  return isPlainObject(value) ? value : {};
}

/** Returns the schemas of an object's properties. */
export function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return isPlainObject(schema['properties'])
    ? mapValues(schema['properties'], ([, property]) => asSchema(property))
    : {};
}

/** Returns the names of the required properties. */
export function requiredOf(schema: JsonSchema): readonly string[] {
  return Array.isArray(schema['required'])
    ? schema['required'].filter((name) => typeof name === 'string')
    : [];
}

/** Returns the types that a schema allows, in lowercase. */
export function typesOf({ type }: JsonSchema): readonly string[] {
  return (Array.isArray(type) ? type : [type])
    .filter((each) => typeof each === 'string')
    .map((each) => each.toLowerCase());
}

/**
 * Follows all `$ref`s of a schema. @returns The schema without `$ref`, or `undefined` if the
 * reference is dangling or circular.
 */
export function dereference(schema: JsonSchema, root: JsonSchema): JsonSchema | undefined {
  const seen = new Set<string>();
  let current = schema;
  while (typeof current['$ref'] === 'string') {
    const reference = current['$ref'];
    if (seen.has(reference) || !/^#(?:\/|$)/.test(reference)) return undefined;
    seen.add(reference);
    const target = pointedAt(root, reference);
    if (!isPlainObject(target)) return undefined;
    const { $ref: _reference, ...beside } = current;
    current = { ...target, ...beside };
  }
  return current;
}
