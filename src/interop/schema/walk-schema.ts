import { isPlainObject, MAX_DATA_DEPTH, mapValues } from '../../core/plain-data.js';
import type { JsonSchema } from '../../tool/tool-schema.js';

/** Returns the list of schemas under a keyword; empty when there is none. */
export function schemasUnder(schema: JsonSchema, keyword: string): readonly JsonSchema[] {
  const value = schema[keyword];
  return Array.isArray(value) ? value.map(asSchema) : [];
}

/** Returns the alternatives of a schema, of which at least or exactly one holds. */
export function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  return [...schemasUnder(schema, 'anyOf'), ...schemasUnder(schema, 'oneOf')];
}

/** Returns a schema in place of a boolean: `true` allows everything. `false` allows nothing, and does so in no target; it is dropped as well. */
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

/** Returns the types that a schema names, in lower case. */
export function typesOf({ type }: JsonSchema): readonly string[] {
  return (Array.isArray(type) ? type : [type])
    .filter((each) => typeof each === 'string')
    .map((each) => each.toLowerCase());
}

/** Returns what `$ref` of a schema means, followed to the end; the schema itself without one, undefined when it leads nowhere or in a circle. */
export function dereference(schema: JsonSchema, root: JsonSchema): JsonSchema | undefined {
  const seen = new Set<string>();
  let current = schema;
  while (typeof current['$ref'] === 'string') {
    const reference = current['$ref'];
    if (seen.has(reference) || !/^#(?:\/|$)/.test(reference)) return undefined;
    seen.add(reference);
    const target = pointed(root, reference);
    if (target === undefined) return undefined;
    const { $ref: _reference, ...beside } = current;
    current = { ...target, ...beside };
  }
  return current;
}

/** Returns the schema to which a JSON pointer leads. */
function pointed(root: JsonSchema, reference: string): JsonSchema | undefined {
  let current: unknown = root;
  try {
    for (const part of reference.split('/').slice(1)) {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key))
        return undefined;
      current = (current as Record<string, unknown>)[key];
    }
  } catch {
    return undefined; // Not decodable.
  }
  return isPlainObject(current) ? current : undefined;
}

/** Values that are looked at in all: a definition may be several parts of itself, which then all hold for one value. */
const MOST_VISITS = 10_000;

/**
 * Returns a copy of a value in which every object that a schema describes has gone through `visit`, from the inside out.
 *
 * The first alternative of a schema that the value looks like counts.
 */
export function alongSchema(
  value: unknown,
  schema: JsonSchema,
  visit: (object: Readonly<Record<string, unknown>>, schema: JsonSchema) => Record<string, unknown>,
): unknown {
  const place = { root: schema, closed: false, visits: { left: MOST_VISITS } };
  const along = (current: unknown, within: JsonSchema, depth: number): unknown => {
    const node = dereference(within, schema);
    if (
      node === undefined ||
      depth > MAX_DATA_DEPTH ||
      (place.visits.left -= 1) < 0 ||
      typeof current !== 'object' ||
      current === null
    )
      return current;
    const alternatives = alternativesOf(node);
    const chosen =
      alternatives.find((each) => looksLike(current, each, { ...place, closed: true })) ??
      alternatives.find((each) => looksLike(current, each, place));
    const parts = [...schemasUnder(node, 'allOf'), ...(chosen === undefined ? [] : [chosen])];
    const inner = parts.reduce(
      (changed, part) => along(changed, part, depth + 1),
      current as unknown,
    );
    const items = node['items'];
    if (Array.isArray(inner))
      return isPlainObject(items) ? inner.map((each) => along(each, items, depth + 1)) : inner;
    const properties = propertiesOf(node);
    const copy = mapValues(inner as Record<string, unknown>, ([key, each]) =>
      Object.hasOwn(properties, key) ? along(each, properties[key]!, depth + 1) : each,
    );
    return visit(copy, node);
  };
  return along(value, schema, 0);
}

/** Decides whether a value has the shape that a schema describes: types, choices and names of keys, on every level; `closed` allows objects no keys beside those that are named. */
function looksLike(
  value: unknown,
  schema: JsonSchema,
  look: { readonly root: JsonSchema; readonly closed: boolean; readonly visits: { left: number } },
  depth = 0,
): boolean {
  const node =
    depth > MAX_DATA_DEPTH || (look.visits.left -= 1) < 0
      ? undefined
      : dereference(schema, look.root);
  if (node === undefined) return false;
  const types = typesOf(node);
  if (
    types.length > 0 &&
    !types.includes(typeOf(value)) &&
    !(types.includes('integer') && Number.isInteger(value))
  )
    return false;
  const allowed = Object.hasOwn(node, 'const') ? [node['const']] : node['enum'];
  if (Array.isArray(allowed) && !allowed.includes(value)) return false;
  const alternatives = alternativesOf(node);
  if (
    alternatives.length > 0 &&
    !alternatives.some((each) => looksLike(value, each, look, depth + 1))
  )
    return false;
  if (typeof value !== 'object' || value === null) return true;
  const items = node['items'];
  if (Array.isArray(value))
    return !isPlainObject(items) || value.every((each) => looksLike(each, items, look, depth + 1));
  const properties = propertiesOf(node);
  const required = requiredOf(node);
  if (!required.every((name) => Object.hasOwn(value, name))) return false;
  return Object.entries(value).every(([name, each]: [string, unknown]) => {
    if (!Object.hasOwn(properties, name)) return !look.closed || alternatives.length > 0;
    // In strict mode null stands for an optional one that is missing.
    return (
      (each === null && !required.includes(name)) ||
      looksLike(each, properties[name]!, look, depth + 1)
    );
  });
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}
