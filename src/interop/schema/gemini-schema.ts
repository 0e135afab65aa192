import { isPlainObject, mapValues } from '../../core/plain-data.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { noted, objectSchema, withoutKeys } from './object-schema.js';
import {
  alternativesOf,
  asSchema,
  dereference,
  propertiesOf,
  requiredOf,
  schemasUnder,
  typesOf,
} from './walk-schema.js';

/**
 * The part of `Schema` in the @google/genai package that function parameters are written in.
 *
 * An alternative stands alone: beside `anyOf` the service takes no other field. Counts are text: they are 64-bit numbers.
 */
export interface GeminiSchema extends Partial<
  Record<
    | 'description'
    | 'format'
    | 'pattern'
    | 'minItems'
    | 'maxItems'
    | 'minProperties'
    | 'maxProperties'
    | 'minLength'
    | 'maxLength',
    string
  >
> {
  type?: Uppercase<JsonType>;
  nullable?: boolean;
  enum?: string[];
  items?: GeminiSchema;
  properties?: Record<string, GeminiSchema>;
  required?: string[];
  minimum?: number;
  maximum?: number;
  anyOf?: GeminiSchema[];
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const;
type JsonType = (typeof TYPES)[number];
/** The formats that are taken, by type. Source: the comments of `Schema.format`, and the service's own refusals: only `enum` and `date-time` for STRING. */
const FORMATS: Readonly<Partial<Record<JsonType, readonly unknown[]>>> = {
  string: ['date-time'],
  number: ['float', 'double'],
  integer: ['int32', 'int64'],
};
/** Keywords that narrow a value and have no field: written into the description. */
const NOTED = [
  'const',
  'not',
  'multipleOf',
  'uniqueItems',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'patternProperties',
  'propertyNames',
  'contains',
  'dependentRequired',
  'contentEncoding',
  'contentMediaType',
  'default',
];
const COUNTS = {
  string: ['minLength', 'maxLength'],
  array: ['minItems', 'maxItems'],
  object: ['minProperties', 'maxProperties'],
  number: [],
  integer: [],
  boolean: [],
  null: [],
} as const;
/** Schemas within one tool: references are written out, and a few that each name the next twice would grow without end. */
const MOST_NODES = 2_000;
const MOST_LEVELS = 16;
const ANY_TYPE = ['string', 'number', 'boolean', 'object', 'array'] as const;

/**
 * Returns a tool's parameters in the subset that Gemini accepts; undefined when there are none.
 *
 * The service refuses the whole request for one unknown keyword. References are written out (a recursion once, then by
 * its type alone), `const` and `enum` of text become `enum`, lists of types `nullable` or `anyOf`, `oneOf` becomes
 * `anyOf`, `allOf` is merged; what has no field goes into the description. It never allows less than the tool, but for one
 * thing: within values of any type there are no lists of lists.
 */
export function geminiSchema(schema: JsonSchema): GeminiSchema | undefined {
  const top = objectSchema(schema);
  if (Object.keys(top.properties).length === 0) return undefined;
  return convert(top, { root: { ...schema, ...top }, nodes: { left: MOST_NODES }, open: [] });
}

interface Place {
  readonly root: JsonSchema;
  readonly nodes: { left: number };
  /** The references that are being written out, from the outside in. */
  readonly open: readonly string[];
}

function convert(value: unknown, place: Place, level = 0): GeminiSchema {
  const schema = asSchema(value);
  const reference = typeof schema['$ref'] === 'string' ? schema['$ref'] : undefined;
  const node = dereference(schema, place.root);
  place.nodes.left -= 1;
  if (
    node === undefined ||
    place.nodes.left < 0 ||
    level > MOST_LEVELS ||
    (reference !== undefined && place.open.includes(reference))
  )
    return ofTypes({ type: node?.['type'], description: schema['description'] }, place, level);
  const within = reference === undefined ? place : { ...place, open: [...place.open, reference] };

  const all = schemasUnder(node, 'allOf');
  if (all.length > 0) return convert(mergedWith(node, all, within), within, level + 1);
  const alternatives = alternativesOf(node);
  if (alternatives.length > 0) return eitherOf(node, alternatives, within, level);
  if (Array.isArray(node['enum'])) return ofValues(node, node['enum'] as unknown[], within, level);
  if (Object.hasOwn(node, 'const'))
    return ofValues(withoutKeys(node, ['const']), [node['const']], within, level);
  return ofTypes(node, within, level);
}

/** Merges schemas that all hold into one. */
function mergedWith(node: JsonSchema, all: readonly JsonSchema[], { root }: Place): JsonSchema {
  const parts = all.map((each) => dereference(each, root) ?? {});
  const base = withoutKeys(node, ['allOf']);
  if (
    [base, ...parts].some(
      (each) => typesOf(each).includes('object') || each['properties'] !== undefined,
    )
  )
    return withDefinitions(objectSchema(withDefinitions(node, root)), {});
  return Object.assign({}, ...parts, base) as JsonSchema;
}

/** Pointers start at the root, also for a schema that is looked at on its own. */
function withDefinitions(node: JsonSchema, root: JsonSchema): JsonSchema {
  const { $defs, definitions } = root;
  return {
    ...withoutKeys(node, ['$defs', 'definitions']),
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

function eitherOf(
  node: JsonSchema,
  alternatives: readonly JsonSchema[],
  place: Place,
  level: number,
): GeminiSchema {
  const { anyOf: _anyOf, oneOf: _oneOf, description, ...beside } = node;
  if (typesOf(node).includes('object') || node['properties'] !== undefined) {
    return convert(objectSchema(withDefinitions(node, place.root)), place, level + 1);
  }
  const given = alternatives.filter((each) => !isNull(each));
  const isNullable = given.length < alternatives.length;
  const branches = given
    .map((each) => convert({ ...beside, ...each }, place, level + 1))
    .flatMap((each) => each.anyOf ?? [each]);
  return joined(branches, description, isNullable);
}

/** Joins several alternatives into one schema. Nothing may stand beside `anyOf`, so the first says what is common to all. */
function joined(
  branches: readonly GeminiSchema[],
  description: unknown,
  isNullable: boolean,
): GeminiSchema {
  const different = [...new Map(branches.map((each) => [JSON.stringify(each), each])).values()];
  if (different.length === 0) return { type: 'NULL', ...described({ description }, []) };
  const [first, ...others] = different.map((each) =>
    isNullable && each.type !== 'NULL' ? { ...each, nullable: true } : each,
  ) as [GeminiSchema, ...GeminiSchema[]];
  const text = [description, first.description]
    .filter((each) => typeof each === 'string' && each !== '')
    .join('\n');
  const head = text === '' ? first : { ...first, description: text };
  return others.length === 0 ? head : { anyOf: [head, ...others] };
}

function isNull(schema: JsonSchema): boolean {
  return (
    schema['const'] === null || (typesOf(schema).length === 1 && typesOf(schema)[0] === 'null')
  );
}

/** A choice of values: only of text that is not empty there is an `enum`, others are told. */
function ofValues(
  node: JsonSchema,
  values: readonly unknown[],
  place: Place,
  level: number,
): GeminiSchema {
  const given = values.filter((each) => each !== null);
  const isNullable = given.length < values.length;
  const rest = withoutKeys(node, ['enum', 'const']);
  if (given.length > 0 && given.every((each) => typeof each === 'string' && each !== '')) {
    return {
      type: 'STRING',
      ...described(node, notesOf(rest, 'string')),
      ...(isNullable ? { nullable: true } : {}),
      enum: [...new Set(given as string[])],
    };
  }
  const types = [
    ...new Set(
      given.map((each) =>
        Number.isInteger(each) ? 'integer' : Array.isArray(each) ? 'array' : typeof each,
      ),
    ),
  ];
  const type =
    given.length === 0
      ? 'null'
      : types.every((each) => each === 'integer' || each === 'number') && types.length > 1
        ? 'number'
        : types;
  const told = { ...rest, type, description: noted(node['description'], [['one of', values]]) };
  const result = ofTypes(told, place, level);
  return isNullable && given.length > 0
    ? joined(result.anyOf ?? [result], undefined, true)
    : result;
}

function ofTypes(node: JsonSchema, place: Place, level: number): GeminiSchema {
  const named = typesOf(node).filter((type): type is JsonType =>
    (TYPES as readonly string[]).includes(type),
  );
  const implied: readonly JsonType[] =
    node['properties'] !== undefined
      ? ['object']
      : node['items'] !== undefined || node['prefixItems'] !== undefined
        ? ['array']
        : ANY_TYPE;
  const types = [...new Set(named.length > 0 ? named : implied)];
  if (types.length === 1) return ofType(types[0]!, node, place, level);
  const isNullable = types.includes('null') || (named.length === 0 && implied === ANY_TYPE);
  const branches = types
    .filter((type) => type !== 'null')
    .map((type) => ofType(type, withoutKeys(node, ['description']), place, level));
  return joined(branches, node['description'], isNullable);
}

function ofType(type: JsonType, node: JsonSchema, place: Place, level: number): GeminiSchema {
  const notes = notesOf(node, type);
  const result: GeminiSchema = { type: type.toUpperCase() as Uppercase<JsonType> };
  if (FORMATS[type]?.includes(node['format']) === true) result.format = node['format'] as string;
  if (type === 'string' && isPlainPattern(node['pattern'])) result.pattern = node['pattern'];
  if (type === 'integer' || type === 'number') Object.assign(result, boundsOf(type, node));
  for (const keyword of COUNTS[type])
    if (isCount(node[keyword])) result[keyword] = String(node[keyword]);
  if (type === 'array') result.items = itemsOf(node, place, level);
  if (type === 'object') Object.assign(result, fieldsOf(node, place, level));
  return { ...result, ...described(node, notes) };
}

function itemsOf(node: JsonSchema, place: Place, level: number): GeminiSchema {
  const first = schemasUnder(node, Array.isArray(node['items']) ? 'items' : 'prefixItems');
  const others = isPlainObject(node['items']) ? [node['items']] : [];
  // Lists of anything are lists of all but lists, or there would be no end.
  if (first.length + others.length === 0)
    return ofTypes(
      { type: [...ANY_TYPE.filter((type) => type !== 'array'), 'null'] },
      place,
      level,
    );
  return convert(
    first.length === 0 ? others[0] : { anyOf: [...first, ...others] },
    place,
    level + 1,
  );
}

/** Returns the fields of an object. One without `properties` is one of any form: the service refuses an empty list of them. */
function fieldsOf(
  node: JsonSchema,
  place: Place,
  level: number,
): Pick<GeminiSchema, 'properties' | 'required'> {
  const properties = mapValues(propertiesOf(node), ([, property]) =>
    convert(property, place, level + 1),
  );
  if (Object.keys(properties).length === 0) return {};
  const required = [...new Set(requiredOf(node))].filter((name) => Object.hasOwn(properties, name));
  return { properties, ...(required.length === 0 ? {} : { required }) };
}

function boundsOf(type: JsonType, node: JsonSchema): Pick<GeminiSchema, 'minimum' | 'maximum'> {
  const bound = (
    keyword: 'minimum' | 'maximum',
    exclusive: 'exclusiveMinimum' | 'exclusiveMaximum',
    step: 1 | -1,
  ) => {
    const candidates = [
      node[keyword],
      isWholeBound(type, node[exclusive]) ? node[exclusive] + step : undefined,
    ].filter((each): each is number => typeof each === 'number' && Number.isFinite(each));
    return candidates.length === 0
      ? {}
      : { [keyword]: step === 1 ? Math.max(...candidates) : Math.min(...candidates) };
  };
  return {
    ...bound('minimum', 'exclusiveMinimum', 1),
    ...bound('maximum', 'exclusiveMaximum', -1),
  };
}

/** "More than 0" of whole numbers is "at least 1". */
function isWholeBound(type: JsonType, value: unknown): value is number {
  return type === 'integer' && Number.isSafeInteger(value);
}

function notesOf(node: JsonSchema, type: JsonType): [string, unknown][] {
  const lost = NOTED.filter(
    (keyword) =>
      node[keyword] !== undefined &&
      !(keyword.startsWith('exclusive') && isWholeBound(type, node[keyword])),
  );
  if (node['format'] !== undefined && FORMATS[type]?.includes(node['format']) !== true)
    lost.push('format');
  if (node['pattern'] !== undefined && !(type === 'string' && isPlainPattern(node['pattern'])))
    lost.push('pattern');
  return lost.map((keyword) => [keyword, node[keyword]]);
}

/** The service reads patterns as RE2, which knows no look-around. */
function isPlainPattern(pattern: unknown): pattern is string {
  return typeof pattern === 'string' && !/\(\?|\\[1-9ux]/.test(pattern);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function described(
  node: JsonSchema,
  notes: readonly (readonly [string, unknown])[],
): { description?: string } {
  const description = noted(node['description'], notes);
  return description === undefined ? {} : { description };
}
