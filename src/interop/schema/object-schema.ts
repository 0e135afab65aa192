import { canonicalJson, mapValues } from '../../core/plain-data.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { asSchema, dereference, propertiesOf, requiredOf, schemasUnder } from './walk-schema.js';

/** The JSON Schema of an object, in the form that model APIs accept. */
export interface ObjectSchema {
  type: 'object';
  properties: Record<string, JsonSchema>;
  required?: string[];
  [keyword: string]: unknown;
}

/** The keywords that are replaced by properties, or that services reject at the top level. */
const FOLDED = /^(?:type|properties|required|\$ref|allOf|anyOf|oneOf|not|enum|const)$/;

/**
 * Returns a copy of a tool's input schema that has `type: 'object'` and lists all properties at the
 * top level, without alternatives at that level.
 *
 * OpenAI and Anthropic reject the whole request if a tool's schema has no type at the top level, or
 * if that level has `anyOf`, `oneOf`, `allOf`, `enum` or `not`. The services' error is
 * "input_schema does not support oneOf, allOf, or anyOf at the top level". The copy contains the
 * properties of all alternatives, and requires the properties that every alternative requires. The
 * copy's description explains which properties go together. The copy allows everything that the
 * original allows, and the executor validates the input against the original.
 */
export function objectSchema(schema: JsonSchema): ObjectSchema {
  const { properties, required, notes } = fold(schema, { root: schema, left: MOST_PARTS });
  const others = Object.entries(schema).filter(([keyword]) => !FOLDED.test(keyword));
  const kept: Record<string, unknown> = structuredClone(Object.fromEntries(others));
  if (notes.length > 0)
    kept['description'] = [schema['description'], ...notes]
      .filter((each) => typeof each === 'string')
      .join('\n');
  const unique = [...new Set(required)];
  return {
    type: 'object',
    properties: structuredClone(properties),
    ...(unique.length === 0 ? {} : { required: unique }),
    ...kept,
  };
}

interface Folded {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly notes: readonly string[];
}

/**
 * The maximum number of parts that are merged. Without a limit, merging a definition that contains
 * itself twice would never end.
 */
const MOST_PARTS = 1_000;

function fold(schema: JsonSchema, place: { readonly root: JsonSchema; left: number }): Folded {
  const node = (place.left -= 1) < 0 ? undefined : dereference(schema, place.root);
  if (node === undefined) return { properties: {}, required: [], notes: [] };
  const own: Folded = { properties: propertiesOf(node), required: requiredOf(node), notes: [] };
  let folded = own;
  for (const part of schemasUnder(node, 'allOf')) folded = both(folded, fold(part, place));
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = schemasUnder(node, keyword);
    if (branches.length > 0)
      folded = both(folded, either(branches.map((branch) => fold(branch, place))));
  }
  return folded;
}

function both(one: Folded, other: Folded): Folded {
  return {
    properties: merged(one.properties, other.properties, 'allOf'),
    required: [...one.required, ...other.required],
    notes: [...one.notes, ...other.notes],
  };
}

function either(branches: readonly Folded[]): Folded {
  let { properties, required } = branches[0]!;
  const notes: string[] = [];
  for (const branch of branches) {
    properties = merged(properties, branch.properties, 'anyOf');
    required = required.filter((name) => branch.required.includes(name));
    notes.push(...branch.notes);
  }
  const choices = new Set<string>();
  for (const branch of branches) {
    const own = branch.required.filter((name) => !required.includes(name));
    choices.add(own.map((name) => JSON.stringify(name)).join(' and '));
  }
  // If one alternative requires nothing more, there is nothing to explain.
  if (!choices.has('')) notes.push(`Provide one of these: ${[...choices].join('; or ')}.`);
  return { properties, required, notes };
}

/**
 * Merges the properties of two schemas. If both schemas define a property, its value must match
 * both definitions (`allOf`) or at least one (`anyOf`).
 */
function merged(
  a: Folded['properties'],
  b: Folded['properties'],
  how: 'allOf' | 'anyOf',
): Folded['properties'] {
  const others = Object.entries(b).filter(([name]) => !Object.hasOwn(a, name));
  const both = mapValues(a, ([name, schema]) =>
    Object.hasOwn(b, name) ? joined(asSchema(schema), b[name]!, how) : asSchema(schema),
  );
  return Object.fromEntries([...Object.entries(both), ...others]);
}

function joined(a: JsonSchema, b: JsonSchema, how: 'allOf' | 'anyOf'): JsonSchema {
  if (canonicalJson(a) === canonicalJson(b)) return a;
  if (Object.keys(b).length === 0) return how === 'allOf' ? a : b;
  if (Object.keys(a).length === 0) return how === 'allOf' ? b : a;
  const before = Array.isArray(a[how]) && Object.keys(a).length === 1 ? schemasUnder(a, how) : [a];
  return before.some((each) => canonicalJson(each) === canonicalJson(b))
    ? a
    : { [how]: [...before, b] };
}
