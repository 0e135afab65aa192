import { globalRegistry, toJSONSchema } from 'zod';
import type { $ZodType } from 'zod/v4/core';
import { ToolError, type Issue } from '../core/errors.js';
import { expectedGot, formatIssues } from '../core/issues.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Returns the JSON Schema of a zod schema. For an input schema, the result describes only values
 * that JSON can represent.
 *
 * zod's own conversion is adjusted where it would mislead a model: `z.coerce.date()` and
 * `z.coerce.bigint()` become strings, and union branches that no JSON value can match are omitted.
 *
 * @throws ToolError `INVALID_INPUT_SCHEMA` listing every part of an input schema that no JSON value
 * can match, and what to declare instead. TypeError if two schemas have the same id.
 */
export function zodJsonSchema(schema: $ZodType, side: 'input' | 'output', target: string): Json {
  const options = { target, io: side, unrepresentable: 'any' } as const;
  if (side === 'output') return converted(() => toJSONSchema(schema, options));
  const known = new Map<$ZodType, readonly Issue[]>();
  const issues = unmetIn(schema, known);
  if (issues.length > 0)
    throw new ToolError('INVALID_INPUT_SCHEMA', `Invalid schema:\n  ${formatIssues(issues)}`, {
      details: { issues },
    });
  return converted(() =>
    toJSONSchema(schema, {
      ...options,
      override: ({ zodSchema, jsonSchema }) =>
        adapt(zodSchema._zod.def, jsonSchema as Record<string, unknown>, known),
    }),
  );
}

function converted(convert: () => Json): Json {
  try {
    return convert();
  } catch (error) {
    const id = /^Duplicate schema id (".*?")/.exec(
      (error as Partial<Error> | null)?.message ?? '',
    )?.[1];
    throw id === undefined
      ? error
      : new TypeError(`one schema with the id ${id}, got two. Give one of them another id`);
  }
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
const COERCED: Readonly<Record<string, Json>> = {
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
  readonly options?: readonly $ZodType[];
  readonly defaultValue?: unknown;
}

/** Adjusts zod's JSON Schema where it would mislead a model. */
function adapt(
  { type, coerce, values = [], options = [], defaultValue }: Definition,
  json: Record<string, unknown>,
  known: Map<$ZodType, readonly Issue[]>,
): void {
  if (type === 'literal') {
    // zod would describe a bigint as a number, and then refuse a number.
    const carried = values.filter(isCarried);
    if (carried.length < values.length) Object.assign(json, { enum: carried, type: undefined });
  } else if (coerce === true && type in COERCED) {
    if (!isDescribed(json)) Object.assign(json, COERCED[type]);
  } else if (type === 'union') {
    const keyword = 'oneOf' in json ? 'oneOf' : 'anyOf';
    const branches = json[keyword];
    if (!Array.isArray(branches)) return;
    const met = branches.filter(
      (_branch, index) => unmetIn(options[index]!, known).length === 0,
    ) as readonly object[];
    if (met.length === branches.length || met.length === 0) return;
    json[keyword] = met.length === 1 ? undefined : met;
    if (met.length === 1) Object.assign(json, { ...met[0], ...json });
  }
  // A Date default is usually the time of definition, so it differs between processes.
  else if (defaultValue instanceof Date) delete json['default'];
}

function isCarried(value: unknown): boolean {
  return typeof value !== 'bigint' && value !== undefined;
}

/** The maximum number of issues, because a schema can be reused many times. */
const MOST_ISSUES = 100;

/**
 * Returns an issue for each part of a schema that no JSON value can match. A recursive reference
 * adds no issue.
 */
function unmetIn(schema: $ZodType, known: Map<$ZodType, readonly Issue[]>): readonly Issue[] {
  const done = known.get(schema);
  if (done !== undefined) return done;
  known.set(schema, []);
  const issues = findUnmet(schema, known).slice(0, MOST_ISSUES);
  known.set(schema, issues);
  return issues;
}

function findUnmet(schema: $ZodType, known: Map<$ZodType, readonly Issue[]>): readonly Issue[] {
  const def = schema._zod.def as Definition & Parts;
  if (schema._zod.toJSONSchema !== undefined || isDescribed(globalRegistry.get(schema) ?? {}))
    return [];
  const isUnmet =
    def.type === 'literal'
      ? !(def.values ?? []).some(isCarried)
      : def.type in WAY_OUT && def.coerce !== true;
  if (isUnmet) return [issueOf(def.type)];
  if (def.options !== undefined) {
    const branches = def.options.map((each) => unmetIn(each, known));
    return def.options.some(
      (each, index) => branches[index]!.length === 0 && each._zod.def.type !== 'null',
    )
      ? []
      : branches.flat();
  }
  return partsOf(schema, def).flatMap(([path, part]) =>
    unmetIn(part, known).map((issue) => ({ ...issue, path: [...path, ...issue.path] })),
  );
}

/** The schemas inside a zod schema, under zod's own names. */
interface Parts {
  readonly shape?: Readonly<Record<string, $ZodType>>;
  readonly catchall?: $ZodType;
  readonly element?: $ZodType;
  readonly items?: readonly $ZodType[];
  readonly rest?: $ZodType | null;
  readonly keyType?: $ZodType;
  readonly valueType?: $ZodType;
  readonly left?: $ZodType;
  readonly right?: $ZodType;
  readonly in?: $ZodType;
  readonly innerType?: $ZodType;
}

type Part = readonly [path: Issue['path'], part: $ZodType];

/**
 * Returns the nested schemas that a value must match, with their paths. Schemas for the output of
 * `z.preprocess` don't count.
 */
function partsOf(schema: $ZodType, def: Parts): readonly Part[] {
  const inner =
    def.innerType ?? (schema._zod as { readonly innerType?: $ZodType }).innerType ?? def.in;
  const parts: readonly (readonly [Issue['path'], $ZodType | null | undefined])[] = [
    ...Object.entries(def.shape ?? {}).map(([name, part]) => [[name], part] as const),
    ...(def.items ?? []).map((part, index) => [['prefixItems', index], part] as const),
    [['items'], def.element ?? def.rest],
    [['propertyNames'], def.keyType],
    [['additionalProperties'], def.valueType ?? def.catchall],
    [[], def.left],
    [[], def.right],
    [[], inner],
  ];
  return parts.filter((part): part is Part => part[1] !== null && part[1] !== undefined);
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
