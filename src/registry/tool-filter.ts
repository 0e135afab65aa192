import { z } from 'zod';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  SideEffect,
  type Priority,
} from '../core/enums.js';
import { costRank, dangerRank, type PriorityName } from '../core/enum-order.js';
import { isToolError } from '../core/errors.js';
import { invalidArgument } from '../core/issues.js';
import { canonicalJson, ignoreRejection } from '../core/plain-data.js';
import { checkOptions, once, oneOrMore, type FieldsOf } from '../core/options.js';
import { normalizeLabel, priority } from '../tool/metadata-schema.js';
import { TOOL_FIELDS, type ToolField } from '../tool/tool-fields.js';
import type { ToolMetadataFields } from '../tool/tool-options.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { derivedSetsOf, DERIVED_SETS, type DerivedSet } from './derived-sets.js';

const label = () => z.string().transform(normalizeLabel);

const filterSchema = once(() =>
  z.strictObject({
    name: oneOrMore(z.string()).optional(),
    priority: oneOrMore(priority()).optional(),
    accessMode: oneOrMore(z.enum(AccessMode)).optional(),
    dangerLevel: oneOrMore(z.enum(DangerLevel)).optional(),
    executionCategory: oneOrMore(z.enum(ExecutionCategory)).optional(),
    costTier: oneOrMore(z.enum(CostTier)).optional(),
    sideEffect: oneOrMore(z.enum(SideEffect)).optional(),
    category: oneOrMore(label()).optional(),
    keyword: oneOrMore(label()).optional(),
    stage: oneOrMore(label()).optional(),
    taskType: oneOrMore(label()).optional(),
    capability: oneOrMore(z.string()).optional(),
    derived: oneOrMore(
      z.enum(Object.keys(DERIVED_SETS) as [DerivedSet, ...DerivedSet[]]),
    ).optional(),
    maxDanger: z.enum(DangerLevel).optional(),
    maxCostTier: z.enum(CostTier).optional(),
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
export interface ToolFilter {
  /** The tool's own name; aliases don't match. */
  readonly name?: string | readonly string[];
  readonly priority?: OneOrMore<Priority | PriorityName>;
  readonly accessMode?: AccessMode | readonly AccessMode[];
  readonly dangerLevel?: DangerLevel | readonly DangerLevel[];
  readonly executionCategory?: ExecutionCategory | readonly ExecutionCategory[];
  readonly costTier?: CostTier | readonly CostTier[];
  readonly sideEffect?: SideEffect | readonly SideEffect[];
  readonly category?: string | readonly string[];
  readonly keyword?: string | readonly string[];
  readonly stage?: string | readonly string[];
  readonly taskType?: string | readonly string[];
  readonly capability?: string | readonly string[];
  /** The derived sets, such as `write` or `requiringApproval`. */
  readonly derived?: DerivedSet | readonly DerivedSet[];
  /** The maximum danger level. */
  readonly maxDanger?: DangerLevel;
  /** The maximum cost tier. */
  readonly maxCostTier?: CostTier;
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
    maxDanger,
    maxCostTier,
    available,
    metadata = {},
    ...lists
  } = checkOptions(filterSchema, filter, 'conditions of the filter');
  const tests: ((entry: ToolEntry) => boolean)[] = [];
  for (const [condition, wanted] of Object.entries(lists) as [
    keyof typeof lists,
    readonly unknown[] | undefined,
  ][]) {
    if (wanted === undefined) continue;
    const set = new Set<unknown>(wanted);
    const field = FIELD_OF.get(condition) as keyof ToolEntry;
    tests.push((entry) => {
      const value = condition === 'derived' ? derivedSetsOf(entry) : entry[field];
      return Array.isArray(value) ? value.some((each: unknown) => set.has(each)) : set.has(value);
    });
  }
  if (maxDanger !== undefined)
    tests.push((entry) => dangerRank(entry.dangerLevel) <= dangerRank(maxDanger));
  if (maxCostTier !== undefined)
    tests.push((entry) => costRank(entry.costTier) <= costRank(maxCostTier));
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

/** The entry field that each condition compares. */
const FIELD_OF: ReadonlyMap<string, string> = new Map([
  ...Object.entries<ToolField>(TOOL_FIELDS).flatMap(([name, { filter }]) =>
    filter === undefined ? [] : [[filter.condition, name] as const],
  ),
  ['capability', 'capabilities'],
]);

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
