import semver from 'semver';
import { z } from 'zod';
import { SideEffect } from '../core/enums.js';
import { invalidArgument } from '../core/issues.js';
import { anObject, checkOptions, type FieldsOf, oneOrMore, text } from '../core/options.js';
import { compileFilter, type ToolFilter } from '../registry/tool-filter.js';
import { ownerMatches, parsePersonas, type PersonaFilter, schedulerMatches } from './manifest/persona.js';
import type { CapabilityJob, CapabilitySkill, CapabilityTask, CapabilityTool, SafetyLevel } from './state/capability-items.js';
import type { HealthLedger } from './state/health-ledger.js';

export type OneOrMore<T extends string = string> = T | readonly T[];

/** The conditions that every query of items with health may have. */
export interface HealthQuery {
  /** The least share of the last calls that succeeded, from 0 to 1. */
  readonly minSuccessRate?: number;
  /** Leaves items without calls out, beside `minSuccessRate`. @default false */
  readonly requireCalls?: boolean;
}

/** A condition on texts, in the form in which they are compared. Blank ones are refused, as nothing could meet them. */
export const wanted = oneOrMore(text().transform(comparable)).optional();

/** A condition that any of a few known values meets, written in any case. */
export function anyOf<T extends string>(values: readonly T[]) {
  return oneOrMore(z.preprocess((value) => (typeof value === 'string' ? comparable(value) : value), z.enum(values)) as unknown as z.ZodType<T, T>).optional();
}

/** The condition on owners, which `parsePersonas` reads. */
export const personas = oneOrMore(z.string()).optional();

/** The conditions on health. A rate of 80 is refused: it may mean 80 %, or be a slip. */
export const healthShape = {
  minSuccessRate: z.custom<number>((value) => typeof value === 'number' && value >= 0 && value <= 1, 'a number from 0 to 1').optional(),
  requireCalls: z.boolean().default(false),
} satisfies FieldsOf<HealthQuery>;

/** Returns true if all wanted values are among some, in any case. */
export function hasAll(asked: readonly string[] | undefined, values: readonly string[]): boolean {
  if (asked === undefined) return true;
  let there = comparableSets.get(values);
  if (there === undefined) comparableSets.set(values, (there = new Set(values.map(comparable))));
  const known = there;
  return asked.every((value) => known.has(value));
}

/** The sets of frozen lists that tools keep: they are read with every query. */
const comparableSets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Returns the test of a success rate, which is `null` without calls. */
export function rateFilter({ minSuccessRate, requireCalls }: { readonly minSuccessRate?: number | undefined; readonly requireCalls: boolean }): (rate: () => number | null) => boolean {
  if (minSuccessRate === undefined) return requireCalls ? (rate) => rate() !== null : () => true;
  return (rate) => {
    const value = rate();
    return value === null ? !requireCalls : value >= minSuccessRate;
  };
}

function comparable(value: string): string {
  return value.trim().toLowerCase();
}

/** A query of tools: every given condition must hold. Texts are compared in any case. */
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
  readonly safetyLevel?: OneOrMore<SafetyLevel>;
  /** The present availability of the tool. */
  readonly available?: boolean;
  /** Conditions on the tool's metadata. */
  readonly filter?: ToolFilter;
}

const schema = z.strictObject({
  ...healthShape,
  personas,
  provider: wanted,
  version: oneOrMore(z.string()).optional(),
  capability: wanted,
  sideEffect: anyOf(Object.values(SideEffect)),
  safetyLevel: anyOf(['low', 'medium', 'high']),
  available: z.boolean().optional(),
  filter: anObject<ToolFilter>('conditions of the filter').optional(),
} satisfies FieldsOf<ToolQuery>);

/**
 * Compiles a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions: ignored, they would widen the
 * answer.
 */
export function compileToolQuery(query: ToolQuery, ledger: HealthLedger): readonly ((tool: CapabilityTool) => boolean)[] {
  const { personas: asked, provider, version, capability, sideEffect, safetyLevel, available, filter, ...health } = checkOptions(schema, query ?? null, 'conditions of the query');
  const whose = parsePersonas(asked);
  const meetsVersion = versionFilter(version);
  const passes = compileFilter(filter ?? {});
  const meetsRate = rateFilter(health);
  const tests: ((tool: CapabilityTool) => boolean)[] = [];
  if (asked !== undefined) tests.push((tool) => ownerMatches(whose, tool.owner));
  if (provider !== undefined) tests.push((tool) => hasAll(provider, providerNamesOf(tool)));
  if (capability !== undefined) tests.push((tool) => hasAll(capability, tool.capabilityTags));
  if (version !== undefined) tests.push((tool) => meetsVersion(tool.entry.version));
  if (sideEffect !== undefined) tests.push((tool) => tool.entry.sideEffects.some((effect) => sideEffect.includes(effect)));
  if (safetyLevel !== undefined) tests.push((tool) => safetyLevel.includes(tool.safetyLevel));
  if (filter !== undefined) tests.push((tool) => passes(tool.entry));
  if (available !== undefined) tests.push((tool) => tool.available === available);
  if (health.minSuccessRate !== undefined || health.requireCalls) tests.push((tool) => meetsRate(() => ledger.toolRate(tool.owner, tool.name)));
  return tests;
}

const providerNames = new WeakMap<CapabilityTool, readonly string[]>();

function providerNamesOf(tool: CapabilityTool): readonly string[] {
  let names = providerNames.get(tool);
  if (names === undefined) providerNames.set(tool, (names = Object.freeze(tool.entry.providers.map(({ name }) => name))));
  return names;
}

interface WorkQuery {
  /** The owners, as `parsePersonas` reads them. */
  readonly personas?: OneOrMore;
  /** The names of tools that it needs; all of them. */
  readonly tool?: OneOrMore;
  /** The present availability of everything it needs. */
  readonly available?: boolean;
}

/** A query of skills: every given condition must hold. */
export interface SkillQuery extends WorkQuery {
  /** The capability tags of the skill; all of them. */
  readonly capability?: OneOrMore;
  /** The capabilities that it requires; all of them. */
  readonly requiredCapability?: OneOrMore;
}

/** A query of tasks: every given condition must hold. */
export interface TaskQuery extends WorkQuery {
  /** The names of skills that it needs; all of them. */
  readonly skill?: OneOrMore;
  /** The tags; all of them. */
  readonly tag?: OneOrMore;
}

/**
 * A query of jobs: every given condition must hold; with `personas`, one of these must also be allowed to schedule the
 * job.
 */
export interface JobQuery extends WorkQuery, HealthQuery {
  /** The names of skills that it needs; all of them. */
  readonly skill?: OneOrMore;
  /** The capabilities that it requires; all of them. */
  readonly requiredCapability?: OneOrMore;
}

const workShape = { personas, tool: wanted, available: z.boolean().optional() } satisfies FieldsOf<WorkQuery>;
const skillSchema = z.strictObject({ ...workShape, capability: wanted, requiredCapability: wanted } satisfies FieldsOf<SkillQuery>);
const taskSchema = z.strictObject({ ...workShape, skill: wanted, tag: wanted } satisfies FieldsOf<TaskQuery>);
const jobSchema = z.strictObject({ ...workShape, ...healthShape, skill: wanted, requiredCapability: wanted } satisfies FieldsOf<JobQuery>);

/** Compiles a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions. */
export function compileSkillQuery(query: SkillQuery): (skill: CapabilitySkill) => boolean {
  const { capability, requiredCapability, ...work } = checkOptions(skillSchema, query ?? null, WHAT);
  const meets = compileWorkQuery(work, parsePersonas(work.personas));
  return (skill) => meets(skill) && hasAll(capability, skill.capabilityTags) && hasAll(requiredCapability, skill.requiredCapabilities);
}

/** Compiles a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions. */
export function compileTaskQuery(query: TaskQuery): (task: CapabilityTask) => boolean {
  const { skill, tag, ...work } = checkOptions(taskSchema, query ?? null, WHAT);
  const meets = compileWorkQuery(work, parsePersonas(work.personas));
  return (task) => meets(task) && hasAll(skill, task.requiredSkills) && hasAll(tag, task.tags);
}

/** Compiles a query. @throws ToolError `INVALID_ARGUMENT` for unknown or wrong conditions. */
export function compileJobQuery(query: JobQuery): (job: CapabilityJob) => boolean {
  const { skill, requiredCapability, ...work } = checkOptions(jobSchema, query ?? null, WHAT);
  const whose = parsePersonas(work.personas);
  const meets = compileWorkQuery(work, whose);
  const meetsRate = rateFilter(work);
  return (job) => schedulerMatches(whose, job.personas) && meets(job) && hasAll(skill, job.requiredSkills) && hasAll(requiredCapability, job.requiredCapabilities) && meetsRate(() => job.health.successRate);
}

const WHAT = 'conditions of the query';

function compileWorkQuery({ tool, available }: Pick<z.output<typeof skillSchema>, 'tool' | 'available'>, whose: PersonaFilter): (work: CapabilitySkill | CapabilityTask | CapabilityJob) => boolean {
  return (work) => ownerMatches(whose, work.owner) && hasAll(tool, work.requiredTools) && (available === undefined || work.available === available);
}

/** The largest constraint in characters: far above honest use, because the parser of ranges takes them one by one. */
const LONGEST = 256;
const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?([-+].*)?$/;
/** The options of ranges. Versions before a release count as any other: a catalogue shows what it has. */
const OPTIONS = { includePrerelease: true } as const;

type Test = (version: semver.SemVer) => boolean;

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
export function versionFilter(constraint: string | readonly string[] | undefined): (version: string | undefined) => boolean {
  if (constraint === undefined) return () => true;
  const list: readonly unknown[] = Array.isArray(constraint) ? constraint : [constraint];
  const tests = list.flatMap(compileConstraint);
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
export function parseVersion(version: string | undefined): semver.SemVer | undefined {
  const parts = version === undefined || version.length > LONGEST ? null : VERSION.exec(version.trim());
  if (parts === null) return undefined;
  const [, major, minor = '0', patch = '0', rest = ''] = parts;
  // Numbers written as `01.2` are no Semantic Version, but their meaning is clear.
  return semver.parse(`${Number(major)}.${Number(minor)}.${Number(patch)}${rest}`) ?? undefined;
}

/** Returns the tests of a constraint; none for a blank one. */
function compileConstraint(constraint: unknown): readonly Test[] {
  if (typeof constraint !== 'string' || constraint.length > LONGEST) throw invalidVersion(constraint);
  if (constraint.replaceAll(',', '').trim() === '') return [];
  const alternatives = constraint.split('||').map((alternative) => {
    const pieces = alternative.split(',').map((piece) => piece.trim()).filter((piece) => piece !== '');
    if (pieces.length === 0) throw invalidVersion(constraint);
    return pieces.map((piece) => compilePiece(piece, constraint));
  });
  return [(version) => alternatives.some((pieces) => pieces.every((test) => test(version)))];
}

function compilePiece(piece: string, constraint: string): Test {
  const excluded = /^!=\s*(?=[\dvxX*])/.exec(piece);
  const text = excluded === null ? piece.replace(/^={2,3}(?!=)/, '=') : piece.slice(excluded[0].length);
  try {
    const range = new semver.Range(text, OPTIONS);
    return (version) => range.test(version) === (excluded === null);
  } catch {
    throw invalidVersion(constraint);
  }
}

function invalidVersion(constraint: unknown) {
  return invalidArgument("a version constraint such as '>=1.2', '^1' or '1.x || >=2'", constraint);
}
