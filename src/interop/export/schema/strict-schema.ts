import { isPlainObject } from '../../../core/plain-data.js';
import type { JsonSchema } from '../../../tool/schema/standard-schema.js';
import { noted, withoutKeys, type ObjectSchema } from './object-schema.js';
import { alongSchema, asSchema, dereference, mapValues, propertiesOf, requiredOf, schemasUnder, typesOf } from './walk-schema.js';

/** What strict mode takes. Source: "Supported schemas" in OpenAI's guide to structured outputs. */
const KEPT: ReadonlySet<string> = new Set(['type', 'enum', 'const', 'items', 'properties', 'required', 'anyOf', '$ref', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems', 'title']);
const FORMATS: ReadonlySet<unknown> = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);
/** Keywords that leave open which keys or items there are: no strict schema says the same. */
const OPEN: readonly string[] = ['patternProperties', 'prefixItems', 'allOf', 'definitions', '$dynamicRef', '$anchor', '$id'];
/** Left out: what only narrows is written into the description, and the tool checks it itself. */
const SILENT: ReadonlySet<string> = new Set(['description', '$defs', '$schema', '$comment', 'additionalProperties', 'examples', 'deprecated', 'readOnly', 'writeOnly', 'oneOf', 'unevaluatedProperties']);
const MOST_LEVELS = 5;
const MOST_VALUES = 1_000;

/** Thrown and caught in this file only: a schema that has no strict form is an answer, not a mistake. */
class NoStrictForm extends Error {}

/**
 * A schema in the form that strict mode demands, or undefined when it has none: objects with free keys, values of any
 * type, tuples, more than 5 levels, more than 1,000 listed values.
 *
 * Every object is closed and requires all its properties; optional ones may be null instead, which `withoutNulls` undoes.
 */
export function strictSchema(schema: ObjectSchema): ObjectSchema | undefined {
  const budget = { values: MOST_VALUES };
  const convert = (value: unknown, level: number): JsonSchema => {
    const node = asSchema(value);
    if (level > MOST_LEVELS || OPEN.some((keyword) => node[keyword] !== undefined)) throw new NoStrictForm();
    const kept: Record<string, unknown> = withoutKeys(node, Object.keys(node).filter((keyword) => !KEPT.has(keyword)));
    const notes = Object.entries(node).filter(([keyword, each]) => !KEPT.has(keyword) && !SILENT.has(keyword) && keyword !== 'format' && keyword !== 'pattern' && each !== undefined);
    keepOrNote('format', FORMATS.has(node['format']));
    keepOrNote('pattern', typeof node['pattern'] === 'string' && !node['pattern'].includes('(?'));
    const description = noted(node['description'], notes);
    if (description !== undefined) kept['description'] = description;
    if (Array.isArray(node['enum']) && (budget.values -= node['enum'].length) < 0) throw new NoStrictForm();

    const alternatives = [...schemasUnder(node, 'anyOf'), ...schemasUnder(node, 'oneOf')];
    if (alternatives.length > 0) {
      if (node['anyOf'] !== undefined && node['oneOf'] !== undefined) throw new NoStrictForm();
      if (['type', 'properties', 'items', 'enum', 'const', '$ref'].some((keyword) => node[keyword] !== undefined)) throw new NoStrictForm();
      return { ...kept, anyOf: alternatives.map((each) => convert(each, level)) };
    }
    if (node['$ref'] !== undefined) {
      if (typeof node['$ref'] !== 'string' || !/^#(?:\/\$defs\/[^/]+)?$/.test(node['$ref']) || dereference(node, schema) === undefined) throw new NoStrictForm();
      return { $ref: node['$ref'], ...(description === undefined ? {} : { description }) };
    }
    const types = typesOf(node);
    if (types.length === 0) return withValueType(kept);
    if (types.includes('array')) {
      if (!isPlainObject(node['items'])) throw new NoStrictForm();
      kept['items'] = convert(node['items'], level + 1);
    }
    if (types.includes('object')) Object.assign(kept, closed(node, level));
    return kept;

    function keepOrNote(keyword: string, isKept: boolean): void {
      if (node[keyword] === undefined) return;
      if (isKept) kept[keyword] = node[keyword];
      else notes.push([keyword, node[keyword]]);
    }
  };

  const closed = (node: JsonSchema, level: number): JsonSchema => {
    const properties = propertiesOf(node);
    const isOpen = node['additionalProperties'] !== undefined && node['additionalProperties'] !== false;
    const saysNothing = Object.keys(properties).length === 0 && node['additionalProperties'] === undefined && level > 0;
    if (isOpen || saysNothing) throw new NoStrictForm();
    const required = requiredOf(node);
    return {
      properties: mapValues(properties, ([name, property]) => (required.includes(name) ? convert(property, level + 1) : nullable(convert(property, level + 1)))),
      required: Object.keys(properties),
      additionalProperties: false,
    };
  };

  try {
    const definitions = isPlainObject(schema['$defs']) ? { $defs: mapValues(schema['$defs'], ([, each]) => convert(each, 1)) } : {};
    return structuredClone({ ...convert(schema, 0), ...definitions }) as ObjectSchema;
  } catch (error) {
    if (error instanceof NoStrictForm) return undefined;
    throw error;
  }
}

/** The schema with a type: strict mode wants one beside `enum` and `const`. */
function withValueType(schema: Record<string, unknown>): JsonSchema {
  const values = Array.isArray(schema['enum']) ? (schema['enum'] as unknown[]) : Object.hasOwn(schema, 'const') ? [schema['const']] : [];
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))];
  if (types.length === 0 || types.includes('object')) throw new NoStrictForm();
  return { ...schema, type: types.length === 1 ? types[0] : types };
}

function nullable(schema: JsonSchema): JsonSchema {
  const { anyOf, const: constant, enum: values, type, description, ...rest } = schema;
  const described = description === undefined ? {} : { description };
  if (Array.isArray(anyOf)) return acceptsNull(schema, schema) ? schema : { ...schema, anyOf: [...(anyOf as unknown[]), { type: 'null' }] };
  if (type === undefined) return { ...described, anyOf: [withoutKeys(schema, ['description']), { type: 'null' }] };
  const allowed = Array.isArray(values) ? (values as unknown[]) : Object.hasOwn(schema, 'const') ? [constant] : undefined;
  return { type: [...new Set([...typesOf(schema), 'null'])], ...(allowed === undefined ? {} : { enum: [...new Set([...allowed, null])] }), ...described, ...rest };
}

/** Takes out the nulls that stand for a missing optional parameter; nulls that the tool itself allows stay. */
export function withoutNulls(input: unknown, schema: ObjectSchema): unknown {
  return alongSchema(input, schema, (object, node) => {
    const properties = propertiesOf(node);
    const required = requiredOf(node);
    const isPlaceholder = (name: string, value: unknown) => value === null && Object.hasOwn(properties, name) && !required.includes(name) && !acceptsNull(properties[name]!, schema);
    return Object.fromEntries(Object.entries(object).filter(([name, value]) => !isPlaceholder(name, value)));
  });
}

function acceptsNull(schema: JsonSchema, root: JsonSchema, depth = 0): boolean {
  const node = depth > MOST_LEVELS ? undefined : dereference(schema, root);
  if (node === undefined) return false;
  if (Array.isArray(node['enum'])) return node['enum'].includes(null);
  if (Object.hasOwn(node, 'const')) return node['const'] === null;
  const alternatives = [...schemasUnder(node, 'anyOf'), ...schemasUnder(node, 'oneOf')];
  if (alternatives.length > 0) return alternatives.some((each) => acceptsNull(each, root, depth + 1));
  const types = typesOf(node);
  return types.length === 0 || types.includes('null');
}
