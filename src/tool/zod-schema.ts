import { globalRegistry, toJSONSchema } from 'zod';
import type { $ZodType } from 'zod/v4/core';
import { ToolError, type Issue } from '../core/errors.js';
import { expectedGot, formatIssues } from '../core/issues.js';
import { isPlainObject } from '../core/plain-data.js';
import { SUBSCHEMAS } from '../json-schema/schema-document.js';

type Json = Record<string, unknown>;

/**
 * Returns the JSON Schema of a zod schema. For an input schema, the result describes only values
 * that JSON can represent.
 *
 * zod's own conversion is adjusted where it would mislead a model: `z.coerce.date()` and
 * `z.coerce.bigint()` become strings, and union branches that no JSON value can match are omitted.
 *
 * @throws ToolError `INVALID_INPUT_SCHEMA` listing every part of an input schema that no JSON value
 * can match, and what to declare instead. Error if two schemas have the same id.
 */
export function zodJsonSchema(schema: $ZodType, side: 'input' | 'output', target: string): Json {
  const options = { target, io: side, unrepresentable: 'any' } as const;
  if (side === 'output') return toJSONSchema(schema, options);
  const json: Json = toJSONSchema(schema, {
    ...options,
    override: ({ zodSchema, jsonSchema }) => mark(zodSchema, jsonSchema as Json),
  });
  const issues = new UnmetParts(json).in();
  if (issues.length > 0) throw invalidSchema(issues.slice(0, MOST_ISSUES));
  return json;
}

/** The maximum number of issues, because a schema can be reused many times. */
const MOST_ISSUES = 100;

/** Returns the error for a schema that a tool can't have. */
export function invalidSchema(issues: readonly Issue[]): ToolError {
  return new ToolError('INVALID_INPUT_SCHEMA', `Invalid schema:\n  ${formatIssues(issues)}`, {
    details: { issues },
  });
}

/** The types whose values JSON can't represent, with the type to declare instead. */
const WAY_OUT: Readonly<Record<string, string>> = {
  date: 'Use z.iso.datetime() or z.iso.date() for a string, or z.coerce.date(), which converts the string to a Date.',
  bigint: 'Use z.int(), or z.coerce.bigint(), which parses a string of digits.',
  map: 'Use z.record(z.string(), …).',
  set: 'Use z.array(…).',
  nan: 'Use z.number().nullable().',
  symbol: 'Use z.string() or z.enum([…]).',
  function: "Remove it, and call the function in the tool's code.",
  file: 'Use z.string() for the path of the file, or z.base64() for its content.',
  custom:
    'Use a JSON type, or declare the JSON Schema that z.custom() accepts with .meta({ type: … }).',
  undefined: 'Use .optional() on the type that can be missing.',
  void: 'Use .optional() on the type that can be missing.',
  literal: 'Use a string, a number, true, false or null.',
};

/** The JSON Schemas of the strings that coercion accepts. */
const COERCED: Readonly<Record<string, object>> = {
  date: { type: 'string', format: 'date-time' },
  bigint: { type: 'string', pattern: '^-?[0-9]+$' },
};

/** The keywords that don't restrict the allowed values. */
const REMARKS: ReadonlySet<string> = new Set([
  'title',
  'description',
  'examples',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
  'id',
  '$comment',
]);

function isDescribed(json: object): boolean {
  return Object.keys(json).some((keyword) => !REMARKS.has(keyword));
}

/** The parts of a zod schema's definition that determine how it handles JSON. */
interface Definition {
  readonly type: string;
  readonly coerce?: boolean;
  readonly values?: readonly unknown[];
  readonly defaultValue?: unknown;
  readonly in?: $ZodType;
}

/** A temporary keyword that marks a schema that no JSON value can match. Its value is zod's type. */
const UNMET = 'x-tooldex-unmet';
/** A temporary keyword that marks a schema for the output of `z.preprocess`, which any input can match. */
const OPEN = 'x-tooldex-open';

/** Adjusts zod's JSON Schema where it would mislead a model, and marks what no JSON value can match. */
function mark(schema: $ZodType, json: Json): void {
  const { type, coerce, values = [], defaultValue, in: first } = schema._zod.def as Definition;
  const carried = values.filter((value) => typeof value !== 'bigint' && value !== undefined);
  // zod would describe a bigint as a number, and then refuse a number.
  if (carried.length < values.length) Object.assign(json, { enum: carried, type: undefined });
  // A Date default is usually the time of definition, so it differs between processes.
  if (defaultValue instanceof Date) delete json['default'];
  if (first?._zod.def.type === 'transform') json[OPEN] = true;
  const { toJSONSchema: own = globalRegistry.get(schema) } = schema._zod;
  if (typeof own === 'function' || isDescribed(own ?? {})) delete json[UNMET];
  else if (coerce === true) Object.assign(json, COERCED[type]);
  else if (type in WAY_OUT && carried.length === 0) json[UNMET] = type;
}

/**
 * Finds the parts of a schema that no JSON value can match. Removes the marks, and the union branches
 * that have such parts.
 */
class UnmetParts {
  readonly #root: Json;
  readonly #known = new Map<Json, readonly Issue[]>();

  constructor(root: Json) {
    this.#root = root;
  }

  /** Returns an issue for each part. A recursive reference adds no issue. */
  in(json: Json = this.#root): readonly Issue[] {
    const { [UNMET]: type, [OPEN]: isOpen, $ref: reference } = json;
    const cached = this.#known.get(json);
    if (cached !== undefined) return cached;
    this.#known.set(json, []);
    delete json[UNMET];
    delete json[OPEN];
    const issues = Object.entries(json).flatMap(([keyword, value]) =>
      keyword === 'anyOf' || keyword === 'oneOf'
        ? this.#inBranches(json, keyword, value as readonly Json[])
        : SUBSCHEMAS.has(keyword) && keyword !== '$defs'
          ? this.#inParts(keyword, value)
          : [],
    );
    if (typeof reference === 'string') issues.push(...this.in(this.#target(reference)));
    if (typeof type === 'string') issues.push(issueOf(type));
    const found = isOpen === true ? [] : issues;
    this.#known.set(json, found);
    return found;
  }

  #target(reference: string): Json {
    const definitions = this.#root['$defs'] as Readonly<Record<string, Json>>;
    return reference === '#' ? this.#root : definitions[reference.slice('#/$defs/'.length)]!;
  }

  #inBranches(json: Json, keyword: string, branches: readonly Json[]): readonly Issue[] {
    const met = branches.filter((each) => this.in(each).length === 0);
    if (met.every((each) => each['type'] === 'null'))
      return branches.flatMap((each) => this.in(each));
    if (met.length > 1) json[keyword] = met;
    else {
      delete json[keyword];
      Object.assign(json, { ...met[0], ...json });
    }
    return [];
  }

  #inParts(keyword: string, value: unknown): readonly Issue[] {
    const isMany = Array.isArray(value) || SUBSCHEMAS.get(keyword) === 'map';
    return Object.entries(isMany ? (value as Json) : { [keyword]: value }).flatMap(
      ([name, part]) => {
        if (!isPlainObject(part)) return [];
        const path = Array.isArray(value) ? [keyword, Number(name)] : [name];
        const issues = this.in(part);
        return keyword === 'allOf'
          ? issues
          : issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
      },
    );
  }
}

function issueOf(type: string): Issue {
  const got =
    type === 'custom'
      ? 'z.custom() or z.instanceof()'
      : type === 'literal'
        ? 'z.literal() of another value'
        : `z.${type}()`;
  return {
    path: [],
    message: expectedGot('a schema for values that JSON can represent', got, WAY_OUT[type]),
  };
}
