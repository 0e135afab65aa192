import { z } from 'zod';
import { SideEffect } from '../core/enums.js';
import { isToolError } from '../core/errors.js';
import { invalidArgument } from '../core/issues.js';
import { canonicalJson, ignoreRejection } from '../core/plain-data.js';
import { checkOptions, once, oneOrMore, type FieldsOf } from '../core/options.js';
import { AXES, AXIS_NAMES, type AxisName, type AxisRow, type AxisValue } from '../tool/axes.js';
import { axisSchemas, normalizeLabel } from '../tool/metadata-schema.js';
import type { ToolMetadataFields, ToolOptions } from '../tool/tool-options.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { derivedSetsOf, DERIVED_SETS, type DerivedSet } from './derived-sets.js';

const label = () => z.string().transform(normalizeLabel);

type Rows = typeof AXES;
/** The conditions on axes: one value, or a list of alternatives. */
type AxisConditions = {
  readonly [Name in AxisName]?: OneOrMore<NonNullable<ToolOptions[Name]>>;
};
/** The maximum values of ordered axes, such as `maxDanger`. */
type MaximumConditions = {
  readonly [
    Name in AxisName as Rows[Name] extends { readonly most: infer Condition }
      ? Condition & string
      : never
  ]?: AxisValue<Name>;
};

const axisRows = AXIS_NAMES.map((name): readonly [AxisName, AxisRow] => [name, AXES[name]]);

/** Returns the schemas of the conditions on axes. */
function axisConditions() {
  const schemas = axisSchemas();
  return Object.fromEntries(
    axisRows.flatMap(([name, { most }]) => [
      [name, oneOrMore(schemas[name] as z.ZodType).optional()],
      ...(most === undefined ? [] : [[most, schemas[name].optional()]]),
    ]),
  ) as FieldsOf<AxisConditions & MaximumConditions>;
}

const filterSchema = once(() =>
  z.strictObject({
    name: oneOrMore(z.string()).optional(),
    ...axisConditions(),
    sideEffect: oneOrMore(z.enum(SideEffect)).optional(),
    category: oneOrMore(label()).optional(),
    keyword: oneOrMore(label()).optional(),
    stage: oneOrMore(label()).optional(),
    taskType: oneOrMore(label()).optional(),
    capability: oneOrMore(z.string()).optional(),
    derived: oneOrMore(
      z.enum(Object.keys(DERIVED_SETS) as [DerivedSet, ...DerivedSet[]]),
    ).optional(),
    available: z.boolean().optional(),
    metadata: z.record(z.string(), oneOrMore(z.json())).optional(),
  } satisfies FieldsOf<ToolFilter>),
);

/**
 * A filter for tools. A tool must satisfy every condition. A condition is a single value or a list
 * of alternatives. Missing conditions match all tools.
 *
 * Every API that filters tools accepts this object.
 */
export interface ToolFilter extends AxisConditions, MaximumConditions {
  /** The tool's own name; aliases don't match. */
  readonly name?: string | readonly string[];
  readonly sideEffect?: SideEffect | readonly SideEffect[];
  readonly category?: string | readonly string[];
  readonly keyword?: string | readonly string[];
  readonly stage?: string | readonly string[];
  readonly taskType?: string | readonly string[];
  readonly capability?: string | readonly string[];
  /** The derived sets, such as `write` or `requiringApproval`. */
  readonly derived?: DerivedSet | readonly DerivedSet[];
  /** The current result of the tool's `available` check. */
  readonly available?: boolean;
  /**
   * Values of custom metadata, such as `{ team: 'billing' }`. If a tool's value is a list, at least
   * one item must match.
   */
  readonly metadata?: Readonly<Record<string, unknown>> & {
    readonly [Key in keyof ToolMetadataFields]?: OneOrMore<ToolMetadataFields[Key]>;
  };
}

type OneOrMore<Value> = Value | readonly Value[];

/**
 * Compiles a filter into a function that returns true for matching tools.
 *
 * @throws ToolError `INVALID_ARGUMENT` for unknown conditions and values, because silently ignoring
 * a misspelled condition would let every tool through.
 */
export function compileFilter(filter: ToolFilter): (entry: ToolEntry) => boolean {
  if (filter === undefined || typeof filter === 'function')
    throw invalidArgument(
      'the conditions of a filter as an object, such as { accessMode: "readonly" }',
      filter,
      'For all tools, or to filter with a function, use the list [...registry].',
    );
  const {
    available,
    metadata = {},
    ...conditions
  } = checkOptions(filterSchema, filter, 'conditions of the filter');
  const tests: ((entry: ToolEntry) => boolean)[] = [];
  for (const [condition, wanted] of Object.entries(conditions))
    if (wanted !== undefined)
      tests.push(testAtMost(condition, wanted) ?? testAnyOf(condition, wanted as unknown[]));
  if (available !== undefined) tests.push((entry) => isAvailable(entry) === available);
  for (const [key, wanted] of Object.entries(metadata)) {
    const texts = new Set(wanted.map(canonicalJson));
    tests.push((entry) => {
      const value = entry.metadata?.[key];
      const values = Array.isArray(value) ? [value, ...(value as unknown[])] : [value];
      return values.some((each) => each !== undefined && texts.has(canonicalJson(each)));
    });
  }
  const [only] = tests;
  if (only !== undefined && tests.length === 1) return only;
  return (entry) => tests.every((test) => test(entry));
}

/** Returns a test for one of a condition's values. */
function testAnyOf(condition: string, wanted: readonly unknown[]): (entry: ToolEntry) => boolean {
  const set = new Set(wanted);
  const field = FIELD_OF[condition] ?? (condition as keyof ToolEntry);
  return (entry) => {
    const value = condition === 'derived' ? derivedSetsOf(entry) : entry[field];
    return Array.isArray(value) ? value.some((each: unknown) => set.has(each)) : set.has(value);
  };
}

/** Returns a test for a maximum, or `undefined` if the condition isn't a maximum. */
function testAtMost(condition: string, most: unknown): ((entry: ToolEntry) => boolean) | undefined {
  const found = axisRows.find(([, row]) => row.most === condition);
  if (found === undefined) return undefined;
  const [name, { values }] = found;
  const ascending: readonly unknown[] = Object.values(values);
  const highest = ascending.indexOf(most);
  return (entry) => ascending.indexOf(entry[name]) <= highest;
}

/** The entry fields that are compared by conditions with another name. */
const FIELD_OF: Readonly<Record<string, keyof ToolEntry>> = {
  sideEffect: 'sideEffects',
  keyword: 'keywords',
  stage: 'stages',
  taskType: 'taskTypes',
  capability: 'capabilities',
};

/** Returns the scopes that a tool requires but the caller doesn't have. */
export function missingScopes({ auth }: ToolEntry, scopes: readonly string[]): readonly string[] {
  return auth?.required === true
    ? (auth.scopes ?? []).filter((scope) => !scopes.includes(scope))
    : [];
}

/** Facts about a tool's availability in addition to its own check. */
interface Circumstances {
  /** True if the tool's own credentials are set. */
  readonly hasCredentials: boolean;
  /**
   * True if at least one of the tool's providers can answer calls. Providers find their own
   * credentials.
   */
  readonly hasProvider: boolean;
}

/**
 * Returns true if a tool can be used at the moment: it has no availability check, or the check
 * passes. A check that throws counts as a failure.
 */
export function isAvailable(entry: ToolEntry): boolean {
  return unavailableReason(entry) === undefined;
}

/**
 * Returns the reason why a tool can't be used at the moment, or `undefined`. If the availability
 * check throws a ToolError `TOOL_UNAVAILABLE`, its message is the reason.
 *
 * A tool without credentials is available if one of its providers is available.
 */
export function unavailableReason(
  { name, available }: ToolEntry,
  { hasCredentials, hasProvider }: Circumstances = { hasCredentials: true, hasProvider: false },
): string | undefined {
  try {
    if (available !== undefined && ignoreRejection<unknown>(available()) !== true)
      return `${name} isn't available right now: its availability check didn't pass. Use another tool.`;
  } catch (error) {
    return isToolError(error, 'TOOL_UNAVAILABLE')
      ? error.message
      : `${name} isn't available right now: its availability check threw an error. Use another tool.`;
  }
  return hasCredentials || hasProvider
    ? undefined
    : `${name} has neither credentials nor a provider that can answer. Set its environment variables.`;
}
