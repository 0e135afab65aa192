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
 * branches of a union that no JSON meets are left out, and nothing is demanded of what a `z.preprocess` makes itself.
 *
 * @throws ToolError `INVALID_INPUT_SCHEMA` naming every place of an input that no JSON value meets, with the way out.
 */
export function zodJsonSchema(schema: $ZodType, side: 'input' | 'output', target: string): Json {
  const override = ({ zodSchema, jsonSchema }: { readonly zodSchema: $ZodType; readonly jsonSchema: object }) => mark(zodSchema._zod.def, jsonSchema as Record<string, unknown>);
  const json = toJSONSchema(schema, { target, io: side, unrepresentable: 'any', ...(side === 'input' && { override }) }) as Json;
  if (side === 'output') return json;
  const issues: Issue[] = [];
  const met = withoutMarks(json, [], issues) as Json;
  if (issues.length > 0) throw new ToolError('INVALID_INPUT_SCHEMA', `The schema is refused:\n  ${formatIssues(issues)}`, { details: { issues } });
  return met;
}

/** The parts of a zod schema's definition that say how it treats JSON. */
interface Definition {
  readonly type: string;
  readonly coerce?: boolean;
  readonly values?: readonly unknown[];
  readonly in?: $ZodType;
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
const COERCED: Readonly<Record<string, Json>> = { date: { type: 'string', format: 'date-time' }, bigint: { type: 'string', pattern: '^-?[0-9]+$' } };

/** The keywords that say nothing of which values are meant. */
const REMARKS: ReadonlySet<string> = new Set(['title', 'description', 'examples', 'default', 'deprecated', 'id', '$comment', UNMET]);

function mark({ type, coerce, values = [], in: from }: Definition, json: Record<string, unknown>): void {
  const isDescribed = Object.keys(json).some((keyword) => !REMARKS.has(keyword));
  if (type === 'pipe' && from?._zod.def.type === 'transform') json[MADE] = true;
  else if (coerce === true && type in COERCED) Object.assign(json, isDescribed ? {} : COERCED[type]);
  else if (type === 'literal' ? values.length > 0 && values.every((value) => typeof value === 'bigint' || value === undefined) : type in WAY_OUT && !(type === 'custom' && isDescribed)) json[UNMET] = type;
}

/** Returns a copy without marks; the places that no JSON meets are added to the issues. */
function withoutMarks(node: unknown, path: Issue['path'], issues: Issue[]): unknown {
  if (Array.isArray(node)) return node.map((each, index) => withoutMarks(each, [...path, index], issues));
  if (!isPlainObject(node)) return node;
  const { [UNMET]: unmet, [MADE]: isMade, ...rest } = meetable(node);
  if (isMade === true) return withoutMarks(rest, path, []);
  if (typeof unmet === 'string') issues.push({ path, message: expectedGot('a schema of values that JSON can carry', unmet === 'custom' ? 'z.custom() or z.instanceof()' : unmet === 'literal' ? 'z.literal() of another value' : `z.${unmet}()`, WAY_OUT[unmet]) });
  return Object.fromEntries(
    Object.entries(rest).map(([keyword, value]) => {
      if (BRANCHES.has(keyword) && Array.isArray(value)) return [keyword, value.map((branch) => withoutMarks(branch, path, issues))];
      return [keyword, withoutMarks(value, keyword === 'properties' ? path : [...path, keyword], issues)];
    }),
  );
}

/** The keywords that an issue's path leaves out, as it does `properties`: zod writes them, not the schema's author. */
const BRANCHES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);

/** Leaves out the branches of a union that no JSON meets, unless only null is left. */
function meetable(node: Json): Json {
  const { anyOf, ...rest } = node;
  if (!Array.isArray(anyOf) || !anyOf.some(isUnmet)) return node;
  const branches = (anyOf as readonly Record<string, unknown>[]).filter((branch) => !isUnmet(branch));
  if (branches.every(({ type }) => type === 'null')) return node;
  return branches.length === 1 ? { ...branches[0], ...rest } : { ...rest, anyOf: branches };
}

function isUnmet(branch: unknown): boolean {
  return isPlainObject(branch) && UNMET in branch && !(MADE in branch);
}
