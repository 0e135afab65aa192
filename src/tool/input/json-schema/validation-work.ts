import { isPlainObject, type Json } from '../../../core/plain-data.js';
import { stepsOf } from '../pattern/safe-pattern.js';
import type { SchemaNode, ScreenedSchema } from './schema-node.js';

/**
 * The work that one check may take, in units of ten to twenty nanoseconds: less than half a second.
 *
 * Honest inputs take thousands of units.
 */
const MAX_WORK = 20_000_000;
/** One schema looking at one value. */
const VISIT = 50;
/** A name of an object: the validator lists the names at each visit. */
const NAME = 8;
/** A step of the pattern matcher, and a character that is counted or compared. */
const STEP = 1 / 8;

const SAME_ONE = ['not', 'if', 'then', 'else'] as const;
const SAME_LIST = ['allOf', 'anyOf', 'oneOf'] as const;
const SAME_MAP = ['dependentSchemas', 'dependencies'] as const;
const ITEMS_ONE = ['items', 'additionalItems', 'unevaluatedItems', 'contains'] as const;
const ITEMS_LIST = ['items', 'prefixItems'] as const;

/**
 * Whether checking a value against a schema takes bounded time, found out by walking both as the validator will.
 *
 * The validator tries every branch of every combination. A schema that refers to itself from two branches, a list of
 * thousands of unique objects, or a quadratic pattern on a long text take minutes although schema and input are small.
 */
export function isWorkBounded(schema: ScreenedSchema, value: Json): boolean {
  return new WorkCounter(schema).count(schema.root, value) <= MAX_WORK;
}

class WorkCounter {
  readonly #schema: ScreenedSchema;
  #work = 0;

  constructor(schema: ScreenedSchema) {
    this.#schema = schema;
  }

  /** The work so far, this visit included; it stops counting soon after the bound is passed. */
  count(node: SchemaNode, value: Json): number {
    this.#work += VISIT + (this.#schema.weights.get(node) ?? 0) * STEP;
    if (this.#work > MAX_WORK) return this.#work;
    if (node.$ref !== undefined) this.count(this.#schema.targets[node.$ref]!, value);
    for (const keyword of SAME_ONE) if (node[keyword] !== undefined) this.count(node[keyword] as SchemaNode, value);
    for (const keyword of SAME_LIST) for (const each of (node[keyword] as readonly SchemaNode[] | undefined) ?? []) this.count(each, value);
    if (typeof value === 'string') this.#countText(node, value);
    else if (Array.isArray(value)) this.#countList(node, value as readonly Json[]);
    else if (isPlainObject(value)) this.#countObject(node, value);
    return this.#work;
  }

  #countText(node: SchemaNode, text: string): void {
    this.#work += text.length * STEP;
    if (node['pattern'] !== undefined) this.#work += this.#matching(node['pattern'] as string, text);
  }

  #matching(pattern: string, text: string): number {
    const cost = this.#schema.patterns.get(pattern);
    return cost === undefined ? Infinity : VISIT + stepsOf(cost, text.length) * STEP;
  }

  #countList(node: SchemaNode, list: readonly Json[]): void {
    this.#work += list.length;
    // Every item is compared with every other.
    if (node['uniqueItems'] === true) this.#work += list.length * sizeOf(list);
    if (node['const'] !== undefined || node['enum'] !== undefined) this.#work += sizeOf(list);
    for (const keyword of ITEMS_ONE) {
      const schema = node[keyword];
      if (isPlainObject(schema)) for (const item of list) if (this.count(schema, item) > MAX_WORK) return;
    }
    for (const keyword of ITEMS_LIST) {
      const schemas = node[keyword];
      if (Array.isArray(schemas)) schemas.slice(0, list.length).forEach((schema, index) => this.count(schema as SchemaNode, list[index]!));
    }
  }

  #countObject(node: SchemaNode, object: Readonly<Record<string, Json>>): void {
    const names = Object.keys(object);
    this.#work += names.length * NAME;
    if (node['const'] !== undefined || node['enum'] !== undefined) this.#work += sizeOf(object);
    for (const keyword of SAME_MAP) {
      for (const [name, schema] of entriesOf(node[keyword])) if (!Array.isArray(schema) && Object.hasOwn(object, name)) this.count(schema, object);
    }
    const properties = node['properties'] as Readonly<Record<string, SchemaNode>> | undefined;
    for (const [name, schema] of entriesOf(properties)) if (Object.hasOwn(object, name)) this.count(schema, object[name]!);
    const patterns = entriesOf(node['patternProperties']);
    for (const name of names) {
      if (this.#work > MAX_WORK) return;
      if (node['propertyNames'] !== undefined) this.count(node['propertyNames'] as SchemaNode, name);
      for (const [pattern, schema] of patterns) {
        this.#work += this.#matching(pattern, name);
        this.count(schema, object[name]!);
      }
      if (properties !== undefined && Object.hasOwn(properties, name)) continue;
      // How many of them a pattern covers is not known here: as if none.
      if (node['additionalProperties'] !== undefined) this.count(node['additionalProperties'] as SchemaNode, object[name]!);
      if (node['unevaluatedProperties'] !== undefined) this.count(node['unevaluatedProperties'] as SchemaNode, object[name]!);
    }
  }
}

function entriesOf(map: unknown): readonly [string, SchemaNode][] {
  return map === undefined ? [] : Object.entries(map as Record<string, SchemaNode>);
}

/** How many values there are inside, itself included. */
function sizeOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  for (const item of Object.values<Json>(value)) size += sizeOf(item);
  return size;
}
