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

/** The conditions that every query of items with health may have; one left out holds for all. */
interface HealthQuery {
  /** The least share of the last calls that succeeded, from 0 to 1. */
  readonly minSuccessRate?: number;
  /** Leaves items without calls out, beside `minSuccessRate`. @default false */
  readonly requireCalls?: boolean;
}

/** A query of tools: every given condition must hold, and one left out holds for all. Texts are compared in any case. */
export interface ToolQuery extends HealthQuery {
  /**
   * The owners, as `parsePersonas` reads them: `'Atlas'` for Atlas and the shared tools, `['Atlas', '-shared']` for
   * Atlas alone.
   */
  readonly personas?: OneOrMore;
  /** Names of providers; a tool must have all of them. */
  readonly provider?: OneOrMore;
  /** A range of versions, or several that must all hold. */
  readonly version?: OneOrMore;
  /** Capability tags; a tool must have all of them. */
  readonly capability?: OneOrMore;
  /** The side effects; any of these. */
  readonly sideEffect?: OneOrMore<SideEffect>;
  /** The safety levels; any of these. */
  readonly safetyLevel?: OneOrMore<CapabilityTool['safetyLevel']>;
  /** The present availability of the tool. */
  readonly available?: boolean;
  /** Conditions on the tool's metadata. */
  readonly filter?: ToolFilter;
}

/** The conditions that queries of skills, tasks and jobs share; one left out holds for all. */
interface WorkQuery {
  /** The owners, as `parsePersonas` reads them. */
  readonly personas?: OneOrMore;
  /** The names of tools that it needs; all of them. */
  readonly tool?: OneOrMore;
  /** The present availability of everything it needs. */
  readonly available?: boolean;
}

/** A query of skills: every given condition must hold, and one left out holds for all. */
export interface SkillQuery extends WorkQuery {
  /** The capability tags of the skill; all of them. */
  readonly capability?: OneOrMore;
  /** The capabilities that it requires; all of them. */
  readonly requiredCapability?: OneOrMore;
}

/** A query of tasks: every given condition must hold, and one left out holds for all. */
export interface TaskQuery extends WorkQuery {
  /** The names of skills that it needs; all of them. */
  readonly skill?: OneOrMore;
  /** The tags; all of them. */
  readonly tag?: OneOrMore;
}

/** A query of jobs: every given condition must hold, one left out holds for all, and one of the `personas` must also be allowed to schedule the job. */
export interface JobQuery extends WorkQuery, HealthQuery {
  /** The names of skills that it needs; all of them. */
  readonly skill?: OneOrMore;
  /** The capabilities that it requires; all of them. */
  readonly requiredCapability?: OneOrMore;
}

/** Texts that must all be there, in the form in which they are compared. Blank ones are refused, as nothing could meet them. */
const wanted = oneOrMore(text().transform(comparable)).optional();
/** A condition that any of a few known values meets, written in any case. */
const anyOf = <T extends string>(values: readonly T[]) =>
  oneOrMore(
    z.preprocess(
      (value) => (typeof value === 'string' ? comparable(value) : value),
      z.enum(values),
    ) as unknown as z.ZodType<T, T>,
  ).optional();

const common = { personas: oneOrMore(z.string()).optional(), available: z.boolean().optional() };
const healthShape = {
  // A rate of 80 is refused: it may mean 80 %, or be a slip.
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

/** The lists that conditions look at; every wanted text must be in them. */
const VALUES: Readonly<Record<string, (item: never) => readonly (string | NamedValue)[]>> = {
  provider: ({ entry }: CapabilityTool) => entry.providers,
  capability: ({ capabilityTags }: CapabilityTool | CapabilitySkill) => capabilityTags,
  requiredCapability: ({ requiredCapabilities }: CapabilitySkill | CapabilityJob) =>
    requiredCapabilities,
  tool: ({ requiredTools }: CapabilitySkill | CapabilityTask | CapabilityJob) => requiredTools,
  skill: ({ requiredSkills }: CapabilityTask | CapabilityJob) => requiredSkills,
  tag: ({ tags }: CapabilityTask) => tags,
};

/** Checks a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions: ignored, they would widen the answer. */
function checkQuery<S extends z.ZodType>(schema: S, query: unknown) {
  return checkOptions(schema, query ?? null, 'conditions of the query');
}

/**
 * Returns the test of the conditions that several kinds of items have.
 *
 * @param rateOf returns the success rate of an item, which is `null` without calls.
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

/** The compared form of the frozen lists that items keep: every query reads them. */
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

/** The largest constraint in characters: far above honest use, because the parser of ranges takes them one by one. */
const LONGEST = 256;
const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?([-+].*)?$/;

type VersionTest = (version: semver.SemVer) => boolean;

/**
 * Returns a check of versions against a constraint: the ranges of npm, such as `>=1.2`, `^1`, `1.x || >=2`, `1.0 -
 * 1.4`.
 *
 * A comma means and, as do several constraints in a list; `==` is `=`, and `!=1.2.0` excludes. Blank constraints are
 * ignored. Versions may be as short as `1` or `0.9`; a tool without a version, or with an invalid one, meets no
 * constraint. Source of the order: Semantic Versioning 2.0.0, §11.
 *
 * @throws ToolError `INVALID_ARGUMENT` naming an invalid constraint.
 */
export function versionFilter(
  constraint: string | readonly string[],
): (version: string | undefined) => boolean {
  const tests = [constraint].flat().flatMap(compileConstraint);
  if (tests.length === 0) return () => true;
  /** The answers for versions met so far: a catalogue has few, and parsing takes longer than all else. */
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

/** Returns a version in full, whatever parts of it were written; `undefined` for an invalid one. */
function parseVersion(version: string | undefined): semver.SemVer | undefined {
  const parts =
    version === undefined || version.length > LONGEST ? null : VERSION.exec(version.trim());
  if (parts === null) return undefined;
  const [, major, minor = '0', patch = '0', rest = ''] = parts;
  // Numbers written as `01.2` are no Semantic Version, but their meaning is clear.
  return semver.parse(`${Number(major)}.${Number(minor)}.${Number(patch)}${rest}`) ?? undefined;
}

/** Returns the tests of a constraint; none for a blank one. */
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
      // Versions before a release count as any other: a catalogue shows what it has.
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
