import semver from 'semver';
import { z } from 'zod';
import { SideEffect } from '../core/enums.js';
import { invalidArgument } from '../core/issues.js';
import { anObject, checkOptions, oneOrMore, text, type FieldsOf } from '../core/options.js';
import { compileFilter, type ToolFilter } from '../registry/tool-filter.js';
import { ownerMatches, parsePersonas, personaKey } from './manifest/persona.js';
import type {
  CapabilityJob,
  CapabilitySkill,
  CapabilityTask,
  CapabilityTool,
} from './state/capability-items.js';
import type { HealthLedger } from './state/health-ledger.js';

type OneOrMore<T extends string = string> = T | readonly T[];

/** The conditions on health. A missing condition holds for everything. */
interface HealthQuery {
  /** The minimum share of successful calls, from 0 to 1. */
  readonly minSuccessRate?: number;
  /** Excludes items without calls, if `minSuccessRate` is set. @default false */
  readonly requireCalls?: boolean;
}

/** A query for tools. Every given condition must hold. Texts are compared case-insensitively. */
export interface ToolQuery extends HealthQuery {
  /**
   * The owners as `parsePersonas` reads them: `'Atlas'` for Atlas and the shared tools, `['Atlas', '-shared']` for
   * Atlas only.
   */
  readonly personas?: OneOrMore;
  /** The providers that a tool must have, by name. */
  readonly provider?: OneOrMore;
  /** One or more version ranges. All of them must hold. */
  readonly version?: OneOrMore;
  /** The capability tags that a tool must have. */
  readonly capability?: OneOrMore;
  /** The side effects. One of them is enough. */
  readonly sideEffect?: OneOrMore<SideEffect>;
  /** The safety levels. One of them is enough. */
  readonly safetyLevel?: OneOrMore<CapabilityTool['safetyLevel']>;
  /** The current availability of the tool. */
  readonly available?: boolean;
  /** The conditions on the tool's metadata. */
  readonly filter?: ToolFilter;
}

/** The conditions that queries for skills, tasks and jobs share. */
interface WorkQuery {
  /** The owners, as `parsePersonas` reads them. */
  readonly personas?: OneOrMore;
  /** The tools that it must need, by name. */
  readonly tool?: OneOrMore;
  /** The current availability of everything it needs. */
  readonly available?: boolean;
}

/** A query for skills. Every given condition must hold. */
export interface SkillQuery extends WorkQuery {
  /** The capability tags that the skill must have. */
  readonly capability?: OneOrMore;
  /** The capabilities that it must require. */
  readonly requiredCapability?: OneOrMore;
}

/** A query for tasks. Every given condition must hold. */
export interface TaskQuery extends WorkQuery {
  /** The skills that it must need, by name. */
  readonly skill?: OneOrMore;
  /** The tags that it must have. */
  readonly tag?: OneOrMore;
}

/** A query for jobs. Every given condition must hold, and one of the `personas` must be allowed to schedule the job. */
export interface JobQuery extends WorkQuery, HealthQuery {
  /** The skills that it must need, by name. */
  readonly skill?: OneOrMore;
  /** The capabilities that it must require. */
  readonly requiredCapability?: OneOrMore;
}

/** Texts that must all be there, ready to compare. Blank ones are refused, because nothing could fit them. */
const wanted = oneOrMore(text().transform(comparable)).optional();
/** A condition that one of a few known values fulfils. Case doesn't matter. */
const anyOf = <T extends string>(values: readonly T[]) =>
  oneOrMore(
    z.preprocess(
      (value) => (typeof value === 'string' ? comparable(value) : value),
      z.enum(values),
    ) as unknown as z.ZodType<T, T>,
  ).optional();

const common = { personas: oneOrMore(z.string()).optional(), available: z.boolean().optional() };
const healthShape = {
  // A rate of 80 is refused: it may mean 80 %, or be a mistake.
  minSuccessRate: z
    .custom<number>(
      (value) => typeof value === 'number' && value >= 0 && value <= 1,
      'a number from 0 to 1',
    )
    .optional(),
  requireCalls: z.boolean().default(false),
};
const toolSchema = z.strictObject({
  ...common,
  ...healthShape,
  ...{ provider: wanted, capability: wanted },
  version: oneOrMore(z.string()).optional(),
  sideEffect: anyOf(Object.values(SideEffect)),
  safetyLevel: anyOf(['low', 'medium', 'high']),
  filter: anObject<ToolFilter>('conditions of the filter').optional(),
} satisfies FieldsOf<ToolQuery>);
const skillSchema = z.strictObject({
  ...common,
  ...{ tool: wanted, capability: wanted, requiredCapability: wanted },
} satisfies FieldsOf<SkillQuery>);
const taskSchema = z.strictObject({
  ...common,
  ...{ tool: wanted, skill: wanted, tag: wanted },
} satisfies FieldsOf<TaskQuery>);
const jobSchema = z.strictObject({
  ...common,
  ...healthShape,
  ...{ tool: wanted, skill: wanted, requiredCapability: wanted },
} satisfies FieldsOf<JobQuery>);

type Item = CapabilityTool | CapabilitySkill | CapabilityTask | CapabilityJob;
type Common = {
  readonly personas?: readonly string[] | undefined;
  readonly available?: boolean | undefined;
  readonly minSuccessRate?: number | undefined;
  readonly requireCalls?: boolean;
};

/** The lists that must contain every wanted text. */
const VALUES: Readonly<Record<string, (item: never) => readonly (string | NamedValue)[]>> = {
  provider: ({ entry }: CapabilityTool) => entry.providers,
  capability: ({ capabilityTags }: CapabilityTool | CapabilitySkill) => capabilityTags,
  requiredCapability: ({ requiredCapabilities }: CapabilitySkill | CapabilityJob) =>
    requiredCapabilities,
  tool: ({ requiredTools }: CapabilitySkill | CapabilityTask | CapabilityJob) => requiredTools,
  skill: ({ requiredSkills }: CapabilityTask | CapabilityJob) => requiredSkills,
  tag: ({ tags }: CapabilityTask) => tags,
};

/**
 * Checks a query. Ignored conditions would widen the answer. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong
 * conditions.
 */
function checkQuery<S extends z.ZodType>(schema: S, query: unknown) {
  return checkOptions(schema, query ?? null, 'conditions of the query');
}

/**
 * Returns a test of the conditions that several kinds of items have.
 *
 * @param rateOf returns an item's success rate, or `null` without calls.
 */
function compileCommon<Kind extends Item>(
  query: Common & Readonly<Record<string, unknown>>,
  rateOf: (item: Kind) => number | null = () => null,
): (item: Kind) => boolean {
  const { personas, available, minSuccessRate, requireCalls = false } = query;
  const whose = parsePersonas(personas);
  const lists = Object.entries(VALUES).flatMap(([name, valuesOf]) =>
    Array.isArray(query[name]) ? [{ all: query[name] as readonly string[], valuesOf }] : [],
  );
  return (item) => {
    if (personas !== undefined && !ownerMatches(whose, item.owner)) return false;
    for (const { all, valuesOf } of lists) {
      const values = comparedOf(valuesOf(item as never));
      if (!all.every((value) => values.includes(value))) return false;
    }
    if (minSuccessRate !== undefined || requireCalls) {
      const rate = rateOf(item);
      if (rate === null ? requireCalls : rate < (minSuccessRate ?? 0)) return false;
    }
    return available === undefined || item.available === available;
  };
}

/** Compiles a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions. */
export function compileToolQuery(
  query: ToolQuery,
  ledger: HealthLedger,
): (tool: CapabilityTool) => boolean {
  const checked = checkQuery(toolSchema, query);
  const { version, sideEffect, safetyLevel, filter } = checked;
  const meetsVersion = version && versionFilter(version);
  const passes = filter && compileFilter(filter);
  const fits = compileCommon<CapabilityTool>(checked, ({ owner, name }) =>
    ledger.toolRate(owner, name),
  );
  return (tool) =>
    meetsVersion?.(tool.entry.version) !== false &&
    sideEffect?.some((effect) => tool.entry.sideEffects.includes(effect)) !== false &&
    safetyLevel?.includes(tool.safetyLevel) !== false &&
    passes?.(tool.entry) !== false &&
    fits(tool);
}

/** Compiles a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions. */
export function compileSkillQuery(query: SkillQuery): (skill: CapabilitySkill) => boolean {
  return compileCommon(checkQuery(skillSchema, query));
}

/** Compiles a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions. */
export function compileTaskQuery(query: TaskQuery): (task: CapabilityTask) => boolean {
  return compileCommon(checkQuery(taskSchema, query));
}

/** Compiles a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions. */
export function compileJobQuery(query: JobQuery): (job: CapabilityJob) => boolean {
  const checked = checkQuery(jobSchema, query);
  const { wanted: schedulers } = parsePersonas(checked.personas);
  const fits = compileCommon<CapabilityJob>(checked, ({ health }) => health.successRate);
  return (job) =>
    (schedulers.size === 0 || job.personas.some((each) => schedulers.has(personaKey(each)))) &&
    fits(job);
}

type NamedValue = { readonly name: string };

/** The lists that items keep, ready to compare. Every query reads them. */
const compared = new WeakMap<object, readonly string[]>();

function comparedOf(values: readonly (string | NamedValue)[]): readonly string[] {
  const known = compared.get(values);
  if (known !== undefined) return known;
  const made = values.map((each) => comparable(typeof each === 'string' ? each : each.name));
  compared.set(values, made);
  return made;
}

function comparable(value: string): string {
  return value.trim().toLowerCase();
}

/** The maximum length of a constraint, far above honest use. The parser of ranges reads characters one by one. */
const LONGEST = 256;
const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?([-+].*)?$/;

type VersionTest = (version: semver.SemVer) => boolean;

/**
 * Returns a check of versions against npm's ranges: `>=1.2`, `^1`, `1.x || >=2`, `1.0 - 1.4`.
 *
 * A comma means "and", like several constraints in a list. `==` is `=`, and `!=1.2.0` excludes a version. Blank
 * constraints are ignored. Versions may be as short as `1` or `0.9`. A tool without a valid version fits no constraint.
 * The order is that of Semantic Versioning 2.0.0, section 11.
 *
 * @throws ToolError `INVALID_ARGUMENT` that names the invalid constraint.
 */
export function versionFilter(
  constraint: string | readonly string[],
): (version: string | undefined) => boolean {
  const tests = [constraint].flat().flatMap(compileConstraint);
  if (tests.length === 0) return () => true;
  /** The answers for known versions. A catalogue has few, and parsing takes the most time. */
  const answers = new Map<string | undefined, boolean>();
  return (version) => {
    let answer = answers.get(version);
    if (answer === undefined) {
      const parsed = parseVersion(version);
      answers.set(version, (answer = parsed !== undefined && tests.every((test) => test(parsed))));
    }
    return answer;
  };
}

/** Returns the full version for a short one, or `undefined` for an invalid one. */
function parseVersion(version: string | undefined): semver.SemVer | undefined {
  const parts =
    version === undefined || version.length > LONGEST ? null : VERSION.exec(version.trim());
  if (parts === null) return undefined;
  const [, major, minor = '0', patch = '0', rest = ''] = parts;
  // Semantic Versioning doesn't allow `01.2`, but its meaning is clear.
  return semver.parse(`${Number(major)}.${Number(minor)}.${Number(patch)}${rest}`) ?? undefined;
}

/** Returns the tests of a constraint. A blank one has none. */
function compileConstraint(constraint: string): readonly VersionTest[] {
  const invalid = () =>
    invalidArgument("a version constraint such as '>=1.2', '^1' or '1.x || >=2'", constraint);
  if (constraint.length > LONGEST) throw invalid();
  if (constraint.replaceAll(',', '').trim() === '') return [];
  const compilePiece = (piece: string): VersionTest => {
    const excluded = /^!=\s*(?=[\dvxX*])/.exec(piece);
    const text =
      excluded === null ? piece.replace(/^={2,3}(?!=)/, '=') : piece.slice(excluded[0].length);
    try {
      // Pre-releases count like other versions, because a catalogue shows everything it has.
      const range = new semver.Range(text, { includePrerelease: true });
      return (version) => range.test(version) === (excluded === null);
    } catch {
      throw invalid();
    }
  };
  const alternatives = constraint.split('||').map((alternative) => {
    const pieces = alternative
      .split(',')
      .map((piece) => piece.trim())
      .filter((piece) => piece !== '');
    if (pieces.length === 0) throw invalid();
    return pieces.map(compilePiece);
  });
  return [(version) => alternatives.some((pieces) => pieces.every((test) => test(version)))];
}
