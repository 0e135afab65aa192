import semver from 'semver';
import { z } from 'zod';
import { SideEffect } from '../core/enums.js';
import { invalidArgument } from '../core/issues.js';
import { anObject, checkOptions, oneOrMore, text, type FieldsOf } from '../core/options.js';
import { compileFilter, type ToolFilter } from '../registry/tool-filter.js';
import { personaKey } from '../core/persona.js';
import { ownerMatches, parsePersonas } from './manifest/persona.js';
import type {
  CapabilityJob,
  CapabilitySkill,
  CapabilityTask,
  CapabilityTool,
} from './state/capability-items.js';
import type { HealthLedger } from './state/health-ledger.js';

type OneOrMore<T extends string = string> = T | readonly T[];

/** Conditions on an item's health. A missing condition matches everything. */
interface HealthQuery {
  /** Minimum success rate of recent calls, from 0 to 1. */
  readonly minSuccessRate?: number;
  /** Excludes items without calls. @default false */
  readonly requireCalls?: boolean;
}

/**
 * A query for tools. All given conditions must match; a missing condition matches everything.
 * Strings are compared case-insensitively.
 */
export interface ToolQuery extends HealthQuery {
  /**
   * The owners, in the syntax of `parsePersonas`: `'Atlas'` for Atlas and the shared tools,
   * `['Atlas', '-shared']` for Atlas alone.
   */
  readonly personas?: OneOrMore;
  /** Names of providers. A tool must have all these providers. */
  readonly provider?: OneOrMore;
  /** A version range. If you pass several ranges, all must match. */
  readonly version?: OneOrMore;
  /** Capability tags. A tool must have all these tags. */
  readonly capability?: OneOrMore;
  /** Side effects. A tool must have at least one of these side effects. */
  readonly sideEffect?: OneOrMore<SideEffect>;
  /** Safety levels. A tool must have one of these levels. */
  readonly safetyLevel?: OneOrMore<CapabilityTool['safetyLevel']>;
  /** Matches tools that are available now (`true`), or tools that aren't available (`false`). */
  readonly available?: boolean;
  /** Conditions on the tool's metadata. */
  readonly filter?: ToolFilter;
}

/** Conditions for queries of skills, tasks and jobs. A missing condition matches everything. */
interface WorkQuery {
  /** The owners, in the syntax of `parsePersonas`. */
  readonly personas?: OneOrMore;
  /** Names of required tools. The item must require all these tools. */
  readonly tool?: OneOrMore;
  /**
   * Matches items whose requirements are all available now (`true`), or all other items (`false`).
   */
  readonly available?: boolean;
}

/** A query for skills. All given conditions must match; a missing condition matches everything. */
export interface SkillQuery extends WorkQuery {
  /** Capability tags. The skill must have all these tags. */
  readonly capability?: OneOrMore;
  /** Required capabilities. The skill must require all these capabilities. */
  readonly requiredCapability?: OneOrMore;
}

/** A query for tasks. All given conditions must match; a missing condition matches everything. */
export interface TaskQuery extends WorkQuery {
  /** Names of required skills. The task must require all these skills. */
  readonly skill?: OneOrMore;
  /** Tags. The task must have all these tags. */
  readonly tag?: OneOrMore;
}

/**
 * A query for jobs. All given conditions must match; a missing condition matches everything. If you
 * pass `personas`, one of these personas must also be allowed to schedule the job.
 */
export interface JobQuery extends WorkQuery, HealthQuery {
  /** Names of required skills. The job must require all these skills. */
  readonly skill?: OneOrMore;
  /** Required capabilities. The job must require all these capabilities. */
  readonly requiredCapability?: OneOrMore;
}

/**
 * Strings that must all be present, normalized for comparison. Blank strings are refused, because
 * no item could match them.
 */
const wanted = oneOrMore(text().transform(comparable)).optional();
/** Returns the schema for a condition that accepts a fixed set of values, ignoring case. */
const anyOf = <T extends string>(values: readonly T[]) =>
  oneOrMore(
    z.preprocess(
      (value) => (typeof value === 'string' ? comparable(value) : value),
      z.enum(values),
    ) as unknown as z.ZodType<T, T>,
  ).optional();

const common = { personas: oneOrMore(z.string()).optional(), available: z.boolean().optional() };
const health = {
  // 80 is refused, because the caller may have meant 80 %.
  minSuccessRate: z
    .custom<number>(
      (value) => typeof value === 'number' && value >= 0 && value <= 1,
      'a number from 0 to 1',
    )
    .optional(),
  requireCalls: z.boolean().default(false),
};
const work = { ...common, tool: wanted };

/**
 * The conditions of each kind of item. Unknown conditions are refused. If unknown conditions were
 * ignored, a query would return too much.
 */
const SCHEMAS = {
  tool: z.strictObject({
    ...common,
    ...health,
    ...{ provider: wanted, capability: wanted },
    version: oneOrMore(z.string()).optional(),
    sideEffect: anyOf(Object.values(SideEffect)),
    safetyLevel: anyOf(['low', 'medium', 'high']),
    filter: anObject<ToolFilter>('conditions of the filter').optional(),
  } satisfies FieldsOf<ToolQuery>),
  skill: z.strictObject({
    ...work,
    ...{ capability: wanted, requiredCapability: wanted },
  } satisfies FieldsOf<SkillQuery>),
  task: z.strictObject({ ...work, skill: wanted, tag: wanted } satisfies FieldsOf<TaskQuery>),
  job: z.strictObject({
    ...work,
    ...health,
    ...{ skill: wanted, requiredCapability: wanted },
  } satisfies FieldsOf<JobQuery>),
};

type Items = {
  readonly tool: CapabilityTool;
  readonly skill: CapabilitySkill;
  readonly task: CapabilityTask;
  readonly job: CapabilityJob;
};
type Item = Items[keyof Items];
type Test = (item: never) => boolean;

/** Returns a condition that matches if one of the item's lists contains all wanted strings. */
const includesAll =
  <Kind extends Item>(valuesOf: (item: Kind) => readonly string[]) =>
  (all: readonly string[]) =>
  (item: Kind) => {
    const values = valuesOf(item).map(comparable);
    return all.every((each) => values.includes(each));
  };

/** The functions that turn a condition's value into a test for items. */
const TESTS: Readonly<Record<string, (value: never, ledger: HealthLedger) => Test>> = {
  personas: (value: readonly string[]) => {
    const filter = parsePersonas(value);
    const maySchedule = ({ personas }: Pick<CapabilityJob, 'personas'>) =>
      filter.wanted.size === 0 || personas.some((each) => filter.wanted.has(personaKey(each)));
    return (item: Item) =>
      ownerMatches(filter, item.owner) && (!('personas' in item) || maySchedule(item));
  },
  available: (value: boolean) => (item: Item) => item.available === value,
  minSuccessRate: (least: number, ledger) => (item: CapabilityTool | CapabilityJob) =>
    (ledger.rateOf(item) ?? 1) >= least,
  requireCalls: (value: boolean, ledger) => (item: CapabilityTool | CapabilityJob) =>
    !value || ledger.rateOf(item) !== null,
  provider: includesAll<CapabilityTool>(({ entry }) => entry.providers.map(({ name }) => name)),
  capability: includesAll<CapabilityTool | CapabilitySkill>((item) => item.capabilityTags),
  requiredCapability: includesAll<CapabilitySkill | CapabilityJob>(
    (item) => item.requiredCapabilities,
  ),
  tool: includesAll<CapabilitySkill | CapabilityTask | CapabilityJob>((item) => item.requiredTools),
  skill: includesAll<CapabilityTask | CapabilityJob>((item) => item.requiredSkills),
  tag: includesAll<CapabilityTask>((item) => item.tags),
  version: (value: readonly string[]) => {
    const fits = versionFilter(value);
    return ({ entry }: CapabilityTool) => fits(entry.version);
  },
  sideEffect: (value: readonly SideEffect[]) => {
    return ({ entry }: CapabilityTool) => value.some((each) => entry.sideEffects.includes(each));
  },
  safetyLevel: (value: readonly string[]) => (tool: CapabilityTool) =>
    value.includes(tool.safetyLevel),
  filter: (value: ToolFilter) => {
    const passes = compileFilter(value);
    return ({ entry }: CapabilityTool) => passes(entry);
  },
};

/**
 * Compiles a query: an item must pass the test of every condition.
 * @throws ToolError `INVALID_ARGUMENT` for unknown or invalid conditions.
 */
export function compileQuery<Kind extends keyof Items>(
  kind: Kind,
  query: unknown,
  ledger: HealthLedger,
): (item: Items[Kind]) => boolean {
  const checked = checkOptions(SCHEMAS[kind], query ?? null, 'conditions of the query');
  const tests = Object.entries(checked).flatMap(([name, value]) =>
    value === undefined ? [] : (TESTS[name]?.(value as never, ledger) ?? []),
  );
  return (item) => tests.every((test) => test(item as never));
}

function comparable(value: string): string {
  return value.trim().toLowerCase();
}

/** Maximum characters in a version or constraint. */
const LONGEST = 256;
const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?([-+].*)?$/;

type VersionTest = (version: semver.SemVer) => boolean;

/**
 * Returns a function that checks versions against a constraint in npm's range syntax, such as
 * `>=1.2`, `^1`, `1.x || >=2`, `1.0 - 1.4`.
 *
 * A comma means "and". If you pass several constraints, all must match. `==` means `=`, and
 * `!=1.2.0` excludes a version. Blank constraints are ignored. Versions may lack parts, as in `1`
 * or `0.9`. A tool with a missing or invalid version matches no constraint. Versions are ordered as
 * in Semantic Versioning 2.0.0, §11.
 *
 * @throws ToolError `INVALID_ARGUMENT` for an invalid constraint, which the message quotes.
 */
export function versionFilter(
  constraint: string | readonly string[],
): (version: string | undefined) => boolean {
  const tests = [constraint]
    .flat()
    .filter((each) => each.replaceAll(',', '').trim() !== '')
    .map(compileConstraint);
  return (version) => {
    if (tests.length === 0) return true;
    const parsed = parseVersion(version);
    return parsed !== undefined && tests.every((test) => test(parsed));
  };
}

/** Returns the parsed version, with 0 for missing parts, or `undefined` for an invalid version. */
function parseVersion(version = ''): semver.SemVer | undefined {
  const parts = version.length > LONGEST ? null : VERSION.exec(version.trim());
  if (parts === null) return undefined;
  const [, major, minor = '0', patch = '0', rest = ''] = parts;
  // `01.2` isn't a semantic version, but its meaning is clear.
  return semver.parse(`${Number(major)}.${Number(minor)}.${Number(patch)}${rest}`) ?? undefined;
}

function compileConstraint(constraint: string): VersionTest {
  try {
    if (constraint.length > LONGEST) throw new RangeError('too long');
    const alternatives = constraint.split('||').map(compileAlternative);
    return (version) => alternatives.some((test) => test(version));
  } catch {
    throw invalidArgument("a version constraint such as '>=1.2', '^1' or '1.x || >=2'", constraint);
  }
}

function compileAlternative(alternative: string): VersionTest {
  const tests: VersionTest[] = [];
  for (const piece of alternative.split(','))
    if (piece.trim() !== '') tests.push(compilePiece(piece.trim()));
  if (tests.length === 0) throw new RangeError('half of it is missing');
  return (version) => tests.every((test) => test(version));
}

function compilePiece(piece: string): VersionTest {
  const isExcluded = /^!=\s*[\dvxX*]/.test(piece);
  const text = piece.replace(isExcluded ? '!=' : /^={2,3}(?!=)/, isExcluded ? '' : '=');
  // Pre-release versions match too, so that queries find everything in the catalogue.
  const range = new semver.Range(text, { includePrerelease: true });
  return (version) => range.test(version) !== isExcluded;
}
