import { z } from 'zod';
import { versionFilter } from '../capability/capability-query.js';
import { parsePersonas } from '../capability/manifest/persona.js';
import { SideEffect } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { expectationOf, expectedGot, suggestNames } from '../core/issues.js';
import { describeValue } from '../core/plain-data.js';
import { AXES, AXIS_NAMES, axisValues, type AxisName, type AxisRow } from '../tool/axes.js';
import { SAFETY_LEVELS } from '../tool/tool-fields.js';
import { HEALTH_LEVELS } from './values-on.js';
import type { WireField } from './wire-tool.js';

/** Maximum length of a value. Names, labels and constraints are far shorter. */
const LONGEST_VALUE = 512;
const LONGEST_REQUEST = 8_192;

const label = () => z.string().min(1).max(LONGEST_VALUE);
export const labels = (about: string, value: z.ZodType = label()) =>
  z.array(value).optional().describe(about);

/** The fields of a query by their names in the HTTP API. */
export type QueryFields = Readonly<Record<string, z.ZodType>>;

export const REQUEST = z.string().min(1).max(LONGEST_REQUEST);

export const PERSONA = {
  persona: z
    .array(
      label().refine((value) => {
        const isReadable = value.split(',').every((name) => /^\s*[-!]?\s*[^\s\-!]/.test(name));
        return isReadable && parsePersonas(value) !== undefined;
      }, 'names of personas, or -shared'),
    )
    .optional()
    .describe(
      'A persona whose items are returned together with the shared items. `-shared` excludes shared items, and `-name` excludes a persona. If repeated, an item must match at least one.',
    ),
};

export const ONE_PERSONA = {
  persona: label()
    .refine(
      (value) => !/^\s*[-!]|,/.test(value),
      'the name of one persona (filters such as -shared only work in lists)',
    )
    .optional()
    .describe(
      'The requesting persona. It sees its own tool instead of a shared tool with the same name.',
    ),
};

export const PAGE = {
  limit: z.int().min(1).max(200).default(50).describe('The maximum number of items on a page.'),
  offset: z.int().min(0).default(0).describe('The number of items on earlier pages.'),
};

const AVAILABLE = {
  available: z
    .boolean()
    .optional()
    .describe("If true, returns only items that can be used now; if false, only those that can't."),
};

export const HEALTH = {
  min_success_rate: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('The minimum success rate of calls, from 0 to 1. Items without calls are kept.'),
  require_calls: z.boolean().optional().describe('If true, excludes items without calls.'),
};

export const WORK = {
  ...PERSONA,
  tool: labels('A required tool. Repeat it to require several.'),
  ...AVAILABLE,
  ...PAGE,
};
/** A filter of tools: a parameter whose values are alternatives. */
interface Filter {
  readonly param: string;
  /** The condition in a `ToolFilter`. Other filters are conditions of the catalogue's query. */
  readonly condition?: string;
  /** The field of `/tools` whose values are counted. */
  readonly counts?: WireField;
  readonly about: string;
  /** A value's schema. @default any text */
  readonly value?: z.ZodType;
  /** True if a tool must have all values. */
  readonly all?: true;
}

const AXIS_FILTERS = AXIS_NAMES.map((name): Filter => {
  const { wire, about } = AXES[name];
  const [meaning] = about.split('.');
  return { param: wire, condition: name, counts: wire, about: meaning!, value: axisValue(name) };
});

/** The filters of tools by several values. Axes are filters without an entry of their own. */
export const FILTERS: readonly Filter[] = [
  { param: 'name', condition: 'name', about: "The tool's own name" },
  { param: 'category', condition: 'category', counts: 'category', about: 'The group of tools' },
  ...AXIS_FILTERS,
  {
    param: 'side_effects',
    counts: 'side_effects',
    value: z.enum(SideEffect),
    about: 'A side effect of a call',
  },
  {
    param: 'safety_level',
    counts: 'safety_level',
    value: z.enum(SAFETY_LEVELS),
    about: 'The declared safety level, or the level derived from the danger level',
  },
  { param: 'keyword', condition: 'keyword', counts: 'keywords', about: 'A declared keyword' },
  { param: 'stage', condition: 'stage', counts: 'stages', about: 'A phase of work' },
  { param: 'task_type', condition: 'taskType', counts: 'task_types', about: 'A kind of task' },
  { param: 'capability', counts: 'capability_tags', about: 'A capability tag', all: true },
  { param: 'provider', counts: 'providers', about: 'A service that can answer calls', all: true },
];

/** Returns a name in snake_case. */
export function snakeCased(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The filters by the maximum of an axis. */
const MAXIMA = AXIS_NAMES.flatMap((name) => {
  const { most, wire }: AxisRow = AXES[name];
  const param = most && snakeCased(most);
  const about = `The maximum ${wire.replaceAll('_', ' ')}.`;
  return param === undefined
    ? []
    : [{ param, condition: most!, schema: axisValue(name).optional().describe(about) }];
});

/** Returns the schema of an axis's value. Priorities can also be written as numbers. */
function axisValue(name: AxisName): z.ZodType {
  const values = axisValues(name);
  if (name !== 'priority') return z.enum(values);
  return z
    .enum([...values, ...Object.keys(values)])
    .transform((value) => (values.includes(value) ? values.indexOf(value) : Number(value)));
}

/** The conditions of a `ToolFilter` by query parameter. */
export const CONDITIONS = [...FILTERS, ...MAXIMA].flatMap(({ param, condition }) =>
  condition === undefined ? [] : [[param, condition] as const],
);

function isVersionRange(value: string): boolean {
  if (value.replaceAll(',', '').trim() === '') return false;
  try {
    return versionFilter(value) !== undefined;
  } catch {
    return false;
  }
}

/** The query parameters that filter tools. */
export const TOOL_FILTERS = {
  ...PERSONA,
  ...(Object.fromEntries([
    ...FILTERS.map(({ param, value = label(), all, about }) => [
      param,
      labels(`${about}; ${all === true ? 'all' : 'any'} of these.`, value),
    ]),
    ...MAXIMA.map(({ param, schema }) => [param, schema]),
  ]) as QueryFields),
  version: labels(
    'Version constraints such as `>=1.2` or `1.x || >=2`; a comma means "and".',
    label().refine(isVersionRange, "a version constraint such as '>=1.2', '^1' or '1.x || >=2'"),
  ),
  metadata: labels(
    "A field of the authors' own metadata, such as `team=billing`. Values for the same field are alternatives; all fields must match.",
    label().regex(/^[^=]+=.+$/s, 'a field and its value, such as team=billing'),
  ),
  ...AVAILABLE,
  requires_approval: z
    .boolean()
    .optional()
    .describe('If true, returns only tools whose calls need approval; if false, only the others.'),
  health: labels(
    "The tool's health. If repeated, any of the values may match.",
    z.enum(HEALTH_LEVELS),
  ),
  ...HEALTH,
  facets: z
    .boolean()
    .optional()
    .describe('If true, adds the number of matching tools for each filter value.'),
};

/** A route's query: its schema, and the JSON Schema of each parameter for OpenAPI. */
export interface Query<Fields extends QueryFields = QueryFields> {
  readonly schema: z.ZodObject<Fields>;
  readonly parameters: Readonly<Record<string, { readonly type?: unknown }>>;
  readonly required: readonly string[];
}

export function queryOf<Fields extends QueryFields>(fields: Fields): Query<Fields> {
  const schema = z.object(fields) as z.ZodObject<Fields>;
  const options = { io: 'input', unrepresentable: 'any' } as const;
  const { properties = {}, required = [] } = z.toJSONSchema(schema, options);
  return { schema, parameters: properties as Query['parameters'], required };
}

/** Returns the error for an invalid value. The error includes the parameter's name. */
export function wrongParameter(
  parameter: string,
  expected: string,
  found: string | undefined,
  message = expectedGot(
    `${parameter} as ${expected}`,
    found === undefined ? 'none' : describeValue(found),
  ),
): ToolError {
  return new ToolError('INVALID_ARGUMENT', message, {
    details: { parameter: parameter.slice(0, 60), expected, found: (found ?? 'none').slice(0, 60) },
  });
}

/** Returns a suggestion for an unknown name. */
export function nearTo(name: string, names: readonly string[]): string | undefined {
  const [near] = suggestNames(name, names);
  return near === undefined ? undefined : `Did you mean ${JSON.stringify(near)}?`;
}

/**
 * Parses a URL's query.
 *
 * Unknown parameters are refused, because an ignored filter would silently return too much.
 *
 * @throws ToolError `INVALID_ARGUMENT` for an unknown or repeated parameter, or an invalid value.
 * The error's details contain `parameter`, `expected` and `found`.
 */
export function readQuery<Fields extends QueryFields>(
  { schema, parameters }: Query<Fields>,
  query: string,
): z.output<z.ZodObject<Fields>> {
  const texts = new URLSearchParams(query);
  const names = Object.keys(parameters);
  const refuseName = (name: string, expected: string, advice?: string) => {
    const found = `the parameter ${describeValue(name)}`;
    throw wrongParameter(name, expected, name, expectedGot(expected, found, advice));
  };
  const entries = [...new Set(texts.keys())].map((name) => {
    if (!names.includes(name))
      refuseName(
        name,
        names.length === 0 ? 'no parameters' : `only ${names.join(', ')}`,
        nearTo(name, names),
      );
    const { type = 'string' } = parameters[name]!;
    const values = texts.getAll(name);
    if (type === 'array') return [name, values];
    if (values.length > 1) throw wrongParameter(name, 'a parameter that is given once', values[1]);
    return [name, valueIn(values[0]!, type)];
  });
  const parsed = schema.safeParse(Object.fromEntries(entries));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const [name = '', index = 0] = issue!.path.map(String);
  throw wrongParameter(name, expectationOf(issue!), texts.getAll(name)[Number(index)]);
}

/**
 * Converts a text to a boolean or number if the parameter has that type. Returns invalid texts
 * unchanged, and the schema refuses them.
 */
function valueIn(text: string, type: unknown): unknown {
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  const isNumber = (type === 'number' || type === 'integer') && /^(?:\d+\.?\d*|\.\d+)$/.test(text);
  return isNumber ? Number(text) : text;
}
