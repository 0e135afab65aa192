import { toJSONSchema } from 'zod';
import type { $ZodType } from 'zod/v4/core';
import { ToolError, type Issue } from '../core/errors.js';
import { expectedGot, formatIssues } from '../core/issues.js';
import { isPlainObject } from '../core/plain-data.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Returns the JSON Schema of a zod schema.
 *
 * As input it describes what JSON can carry: `z.coerce.date()` and `z.coerce.bigint()` are the texts that they read,
 * branches of a union that no JSON meets are left out, with the optional fields of its other branches that none meets,
 * and nothing is demanded of what a `z.preprocess` makes itself.
 *
 * @throws ToolError `INVALID_INPUT_SCHEMA` naming every place of an input that no JSON value meets, with the way out; TypeError
 * for two schemas with one id.
 */
export function zodJsonSchema(schema: $ZodType, side: 'input' | 'output', target: string): Json {
  const override = ({
    zodSchema,
    jsonSchema,
  }: {
    readonly zodSchema: $ZodType;
    readonly jsonSchema: object;
  }) => mark(zodSchema._zod.def, jsonSchema as Record<string, unknown>);
  const json = converted(() =>
    toJSONSchema(schema, {
      target,
      io: side,
      unrepresentable: 'any',
      ...(side === 'input' && { override }),
    }),
  );
  if (side === 'output') return json;
  const { json: met, issues } = new MarkedSchema(json).read();
  if (issues.length > 0)
    throw new ToolError(
      'INVALID_INPUT_SCHEMA',
      `The schema is refused:\n  ${formatIssues(issues)}`,
      { details: { issues } },
    );
  return met;
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
  never: 'Leave the field out, or use .optional().',
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

/** A schema without its marks, and the places of it that no JSON meets. */
interface Read<Value = unknown> {
  readonly json: Value;
  readonly issues: readonly Issue[];
}

/** The way in which a place counts: as itself, as a part of one of several branches, as the result of a transform, or in a definition copied for one. */
type Mode = 'alone' | 'branch' | 'made' | 'copied';

/** Places that are named: a schema with an id that is used many times has each of its own as often. */
const MOST_ISSUES = 100;

// The path of an issue has neither these, `allOf` and `properties` nor the name of a definition: zod writes them, not the schema's author.
const UNIONS: ReadonlySet<string> = new Set(['anyOf', 'oneOf']);
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties']);
const PARTS: ReadonlySet<string> = new Set([
  'allOf',
  'prefixItems',
  'items',
  'additionalItems',
  'additionalProperties',
  'propertyNames',
  'not',
]);

/** A converted schema with its marks. */
class MarkedSchema {
  readonly #root: Json;
  readonly #definitions: Json;
  readonly #known: Readonly<Record<Mode, Map<unknown, Read | 'open'>>> = {
    alone: new Map(),
    branch: new Map(),
    made: new Map(),
    copied: new Map(),
  };

  constructor({ $defs, definitions, ...root }: Json) {
    this.#root = root;
    this.#definitions = { ...($defs as Json | undefined), ...(definitions as Json | undefined) };
  }

  /** Returns the schema with the definitions that it still uses. */
  read(): Read<Json> {
    const { json, issues } = this.#node(this.#root, 'alone') as Read<Json>;
    const used: Record<string, unknown> = {};
    let place = '$defs';
    const use = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return;
      const [, keyword, name] = referenceOf(node as Json);
      if (name !== undefined && name in this.#definitions && !(name in used)) {
        place = keyword!;
        use((used[name] = this.#node(this.#definitions[name], 'branch').json));
      }
      Object.values(node).forEach(use);
    };
    use(json);
    return { json: Object.keys(used).length === 0 ? json : { ...json, [place]: used }, issues };
  }

  /** Reads a schema once in each mode. One that holds itself is met if the rest of it is. */
  #node(node: unknown, mode: Mode): Read {
    const known = this.#known[mode].get(node);
    if (known !== undefined) return known === 'open' ? { json: {}, issues: [] } : known;
    this.#known[mode].set(node, 'open');
    const { json, issues } = isPlainObject(node)
      ? this.#schema(node, mode)
      : { json: node, issues: [] };
    const read = { json, issues: issues.slice(0, MOST_ISSUES) };
    this.#known[mode].set(node, read);
    return read;
  }

  #schema(node: Json, mode: Mode): Read {
    const { [UNMET]: unmet, [MADE]: isMade, ...schema } = node;
    if (isMade === true && (mode === 'alone' || mode === 'branch'))
      return { json: this.#node(node, 'made').json, issues: [] };
    const [, , name] = referenceOf(schema);
    if (name !== undefined && name in this.#definitions) return this.#reference(schema, name, mode);
    const issues: Issue[] = [];
    if (
      typeof unmet === 'string' &&
      unmet !== 'never' &&
      !(unmet === 'custom' && isDescribed(schema))
    )
      issues.push(issueOf(unmet));
    const json: Record<string, unknown> = {};
    let only: Json = {};
    for (const [keyword, value] of Object.entries(schema)) {
      const read = this.#keyword(schema, keyword, value, mode);
      issues.push(...read.issues);
      if (UNIONS.has(keyword) && !Array.isArray(read.json)) only = read.json as Json;
      else if (read.json !== undefined) json[keyword] = read.json;
    }
    return { json: { ...only, ...json }, issues };
  }

  #keyword(schema: Json, keyword: string, value: unknown, mode: Mode): Read {
    if (UNIONS.has(keyword) && Array.isArray(value)) return this.#union(value, mode);
    if (MAPS.has(keyword) && isPlainObject(value))
      return this.#fields(schema, keyword, value, mode);
    if (!PARTS.has(keyword)) return { json: value, issues: [] };
    if (!Array.isArray(value)) return below([keyword], this.#node(value, mode));
    const parts = value.map((each, index) =>
      below(keyword === 'allOf' ? [] : [keyword, index], this.#node(each, mode)),
    );
    return { json: parts.map(({ json }) => json), issues: parts.flatMap(({ issues }) => issues) };
  }

  /** Reads the fields of an object; of a branch, those that may be left out and no JSON meets are left out. */
  #fields({ required = [] }: Json, keyword: string, fields: Json, mode: Mode): Read {
    const json: Record<string, unknown> = {};
    const issues: Issue[] = [];
    for (const [name, field] of Object.entries(fields)) {
      const isRequired = keyword === 'properties' && (required as readonly string[]).includes(name);
      const read = below(
        keyword === 'properties' ? [name] : [keyword, name],
        isRequired && isNever(field)
          ? { json: field, issues: [issueOf('never')] }
          : this.#node(field, mode),
      );
      if (read.issues.length > 0 && mode === 'branch' && !isRequired) continue;
      json[name] = read.json;
      issues.push(...read.issues);
    }
    return { json, issues };
  }

  /** Leaves out the branches that no JSON meets, unless only null is left. One branch alone takes the place of the list. */
  #union(branches: readonly unknown[], mode: Mode): Read {
    const isChoice = branches.filter((branch) => !isNull(branch)).length > 1;
    const inside = mode === 'alone' && isChoice ? 'branch' : mode;
    const read = (all: readonly unknown[]) =>
      all.map((branch) =>
        isNever(branch) ? { json: branch, issues: [issueOf('never')] } : this.#node(branch, inside),
      );
    const asWritten = read(branches);
    const all = asWritten.every(({ issues }) => issues.length === 0)
      ? asWritten
      : read(branches.flatMap(flat));
    const met = all.filter(({ issues }) => issues.length === 0);
    const json = (met.every(({ json: branch }) => isNull(branch)) ? all : met).map(
      (branch) => branch.json,
    );
    if (json.length < all.length) return { json: json.length === 1 ? json[0] : json, issues: [] };
    return { json, issues: all.flatMap(({ issues }) => issues) };
  }

  /** Reads a reference as what it names. What a transform makes of a definition that no JSON meets has its own copy. */
  #reference(schema: Json, name: string, mode: Mode): Read {
    const definition = this.#definitions[name];
    if (mode === 'alone' || mode === 'branch')
      return { json: schema, issues: this.#node(definition, mode).issues };
    const { issues } = this.#node(definition, 'alone');
    if (issues.length === 0) return { json: schema, issues };
    const { $ref, ...remarks } = schema;
    return {
      json:
        mode === 'copied'
          ? remarks
          : { ...(this.#node(definition, 'copied').json as Json), ...remarks },
      issues,
    };
  }
}

function referenceOf({ $ref }: Json): readonly (string | undefined)[] {
  return (typeof $ref === 'string' ? /^#\/(\$defs|definitions)\/(.+)$/.exec($ref) : null) ?? [];
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

function below(path: Issue['path'], { json, issues }: Read): Read {
  return { json, issues: issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] })) };
}

/** Returns the branches of a branch that is a union itself and nothing else. */
function flat(branch: unknown): readonly unknown[] {
  return isPlainObject(branch) && Object.keys(branch).length === 1 && Array.isArray(branch['anyOf'])
    ? branch['anyOf'].flatMap(flat)
    : [branch];
}

function isNull(branch: unknown): boolean {
  return isPlainObject(branch) && branch['type'] === 'null';
}

function isNever(branch: unknown): boolean {
  return isPlainObject(branch) && branch[UNMET] === 'never';
}
