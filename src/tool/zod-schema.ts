import { toJSONSchema } from 'zod';
import type { $ZodType } from 'zod/v4/core';
import { ToolError, type Issue } from '../core/errors.js';
import { expectedGot, formatIssues } from '../core/issues.js';
import { isPlainObject, mapValues } from '../core/plain-data.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Returns the JSON Schema of a zod schema.
 *
 * As input it describes what JSON can carry, where a model would misread zod's own: `z.coerce.date()` and
 * `z.coerce.bigint()` are the texts that they read, branches of a union that no JSON meets are left out, and nothing is
 * demanded of what a `z.preprocess` makes itself.
 *
 * @throws ToolError `INVALID_INPUT_SCHEMA` naming every place of an input that no JSON value meets, with the way out; TypeError
 * for two schemas with one id.
 */
export function zodJsonSchema(schema: $ZodType, side: 'input' | 'output', target: string): Json {
  const json = converted(() =>
    toJSONSchema(schema, {
      target,
      io: side,
      unrepresentable: 'any',
      ...(side === 'input' && {
        override: (at: { readonly zodSchema: $ZodType; readonly jsonSchema: object }) =>
          mark(at.zodSchema._zod.def, at.jsonSchema as Record<string, unknown>),
      }),
    }),
  );
  if (side === 'output') return json;
  const { json: met, issues } = new Marks(json).read(json);
  if (issues.length === 0) return met;
  throw new ToolError('INVALID_INPUT_SCHEMA', `The schema is refused:\n  ${formatIssues(issues)}`, {
    details: { issues: issues.slice(0, MOST_ISSUES) },
  });
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

/** The parts of a zod schema's definition that say how it treats JSON. */
interface Definition {
  readonly type: string;
  readonly coerce?: boolean;
  readonly values?: readonly unknown[];
  readonly in?: $ZodType;
  readonly defaultValue?: unknown;
}

/** The keyword that marks, while a schema is converted, what no JSON meets: the type that came. */
const UNMET = '~tooldex/unmet';
/** The keyword that marks the result of a transform: the author's function makes it of any JSON. */
const MADE = '~tooldex/made';

/** The types whose values JSON cannot carry, and what to declare instead. */
const WAY_OUT: Readonly<Record<string, string>> = {
  date: 'Use z.iso.datetime() or z.iso.date() for a text, or z.coerce.date(), which makes a Date of one.',
  bigint: 'Use z.int(), or z.coerce.bigint(), which reads a text of digits.',
  map: 'Use z.record(z.string(), …).',
  set: 'Use z.array(…).',
  nan: 'Use z.number().nullable().',
  symbol: 'Use z.string() or z.enum([…]).',
  function: 'Leave it out, and give the tool the function in its code.',
  file: 'Use a z.string() with the path of the file, or z.base64() with its content.',
  custom: 'Use a type of JSON, or say with .meta({ type: … }) which JSON Schema z.custom() takes.',
  undefined: 'Use .optional() on the type that may be left out.',
  void: 'Use .optional() on the type that may be left out.',
  literal: 'Use a text, a number, true, false or null.',
};

/** The texts that coercion reads. */
const COERCED: Readonly<Record<string, Json>> = {
  date: { type: 'string', format: 'date-time' },
  bigint: { type: 'string', pattern: '^-?[0-9]+$' },
};

/** The keywords that say nothing of which values are meant. */
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
  UNMET,
]);

function isDescribed(json: Json): boolean {
  return Object.keys(json).some((keyword) => !REMARKS.has(keyword));
}

function mark(
  { type, coerce, values = [], in: from, defaultValue }: Definition,
  json: Record<string, unknown>,
): void {
  if (type === 'pipe' && from?._zod.def.type === 'transform') json[MADE] = true;
  else if (type === 'literal') markLiteral(values, json);
  else if (coerce === true && type in COERCED)
    Object.assign(json, isDescribed(json) ? {} : COERCED[type]);
  else if (type in WAY_OUT) json[UNMET] = type;
  else if (defaultValue instanceof Date) delete json['default']; // Mostly the time of the definition, which no two processes share.
}

/** Leaves out the values of a literal that JSON cannot carry: zod would show a bigint as a number, which it refuses. */
function markLiteral(values: readonly unknown[], json: Record<string, unknown>): void {
  const carried = values.filter((value) => typeof value !== 'bigint' && value !== undefined);
  if (carried.length === 0) json[UNMET] = 'literal';
  else if (carried.length < values.length) Object.assign(json, { enum: carried, type: undefined });
}

/** The keywords of definitions. */
const DEFINITIONS = ['$defs', 'definitions'];
/** The places that are named at most: parts with an id may be used many times. */
const MOST_ISSUES = 100;
/** The keywords that hold no schemas. */
const DATA: ReadonlySet<string> = new Set(['default', 'examples', 'enum', 'const', 'required']);
/** The keywords that hold schemas by name. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', ...DEFINITIONS]);

/** A schema without its marks, and an issue for each place that no JSON meets. */
interface Read {
  readonly json: Json;
  readonly issues: readonly Issue[];
}

class Marks {
  readonly #root: Json;
  readonly #known = new Map<string, readonly Issue[]>();

  constructor(root: Json) {
    this.#root = root;
  }

  read({ [UNMET]: unmet, [MADE]: isMade, ...schema }: Json): Read {
    const issues: Issue[] = [];
    if (typeof unmet === 'string' && !(unmet === 'custom' && isDescribed(schema)))
      issues.push(issueOf(unmet));
    if (typeof schema['$ref'] === 'string') issues.push(...this.#definition(schema['$ref']));
    let only: Json = {};
    const kept: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      const take = (path: Issue['path'], part: unknown): unknown => {
        if (!isPlainObject(part)) return part;
        const read = this.read(part);
        issues.push(...read.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] })));
        return read.json;
      };
      if (DATA.has(keyword)) kept[keyword] = value;
      else if (keyword === 'anyOf' || keyword === 'oneOf') {
        const branches = this.#branches(value as readonly Json[]);
        issues.push(...branches.flatMap((branch) => branch.issues));
        if (branches.length === 1) only = branches[0]!.json;
        else kept[keyword] = branches.map(({ json }) => json);
      } else if (DEFINITIONS.includes(keyword))
        // Their issues count where they are used.
        kept[keyword] = mapValues(value as Json, ([, part]) => this.read(part as Json).json);
      else if (MAPS.has(keyword))
        kept[keyword] = mapValues(value as Json, ([name, part]) =>
          take(keyword === 'properties' ? [name] : [keyword, name], part),
        );
      else if (Array.isArray(value))
        kept[keyword] = value.map((part: unknown, index) =>
          take(keyword === 'allOf' ? [] : [keyword, index], part),
        );
      else kept[keyword] = take([keyword], value);
    }
    return {
      json: { ...only, ...kept },
      issues: isMade === true ? [] : issues.slice(0, MOST_ISSUES),
    };
  }

  /** Leaves out the branches of a union that no JSON meets, unless only null is left. */
  #branches(given: readonly Json[]): readonly Read[] {
    const all = given.flatMap(flat).map((branch) => this.read(branch));
    const met = all.filter(({ issues }) => issues.length === 0);
    if (met.length === all.length) return given.map((branch) => this.read(branch));
    return met.some(({ json }) => json['type'] !== 'null') ? met : all;
  }

  /** The issues of a definition. One that holds itself is met if the rest of it is. */
  #definition(reference: string): readonly Issue[] {
    let issues = this.#known.get(reference);
    if (issues !== undefined) return issues;
    this.#known.set(reference, []);
    const [, keyword = '', name = ''] = /^#\/([^/]+)\/(.+)$/.exec(reference) ?? [];
    const definition = (this.#root[keyword] as Json | undefined)?.[name];
    issues = isPlainObject(definition) ? this.read(definition).issues : [];
    this.#known.set(reference, issues);
    return issues;
  }
}

/** Returns the branches of a branch that is a union itself and nothing else. */
function flat(branch: Json): readonly Json[] {
  return Object.keys(branch).length === 1 && Array.isArray(branch['anyOf'])
    ? (branch['anyOf'] as Json[]).flatMap(flat)
    : [branch];
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
    message: expectedGot('a schema of values that JSON can carry', got, WAY_OUT[type]),
  };
}
