import { z } from 'zod';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import type { CapabilityJob, CapabilitySkill, CapabilityTask } from '../capability-items.js';
import { hasAll, healthShape, personas, rateFilter, wanted, type HealthQuery, type OneOrMore } from './check-query.js';
import { ownerMatches, parsePersonas, schedulerMatches, type PersonaFilter } from './persona-filter.js';

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
