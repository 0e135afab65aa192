import type { CapabilityJob, CapabilitySkill, CapabilityTask } from '../capability-items.js';
import { hasAll, optionalBoolean, rateFilter, requireConditions, wantedOf, type HealthQuery, type OneOrMore } from './check-query.js';
import { ownerMatches, parsePersonas, schedulerMatches } from './persona-filter.js';

interface WorkQuery {
  /** Whose, as `parsePersonas` reads it. */
  readonly personas?: OneOrMore;
  /** Names of tools that it needs; all of them. */
  readonly tool?: OneOrMore;
  /** Whether everything it needs is there and can be used now. */
  readonly available?: boolean;
}

/** Which skills are meant: every condition given must hold. */
export interface SkillQuery extends WorkQuery {
  /** Capability tags of the skill; all of them. */
  readonly capability?: OneOrMore;
  /** Capabilities that it requires; all of them. */
  readonly requiredCapability?: OneOrMore;
}

/** Which tasks are meant: every condition given must hold. */
export interface TaskQuery extends WorkQuery {
  /** Names of skills that it needs; all of them. */
  readonly skill?: OneOrMore;
  /** All of them. */
  readonly tag?: OneOrMore;
}

/** Which jobs are meant: every condition given must hold; with `personas`, one of these must also be allowed to schedule the job. */
export interface JobQuery extends WorkQuery, HealthQuery {
  /** Names of skills that it needs; all of them. */
  readonly skill?: OneOrMore;
  /** Capabilities that it requires; all of them. */
  readonly requiredCapability?: OneOrMore;
}

/** @throws ToolError `INVALID_ARGUMENT` for conditions that are unknown or wrong. */
export function compileSkillQuery(query: SkillQuery): (skill: CapabilitySkill) => boolean {
  requireConditions(query, ['personas', 'tool', 'available', 'capability', 'requiredCapability']);
  const meets = compileWorkQuery(query);
  const capabilities = wantedOf(query.capability, 'capability');
  const required = wantedOf(query.requiredCapability, 'requiredCapability');
  return (skill) => meets(skill) && hasAll(capabilities, skill.capabilityTags) && hasAll(required, skill.requiredCapabilities);
}

/** @throws ToolError `INVALID_ARGUMENT` for conditions that are unknown or wrong. */
export function compileTaskQuery(query: TaskQuery): (task: CapabilityTask) => boolean {
  requireConditions(query, ['personas', 'tool', 'available', 'skill', 'tag']);
  const meets = compileWorkQuery(query);
  const skills = wantedOf(query.skill, 'skill');
  const tags = wantedOf(query.tag, 'tag');
  return (task) => meets(task) && hasAll(skills, task.requiredSkills) && hasAll(tags, task.tags);
}

/** @throws ToolError `INVALID_ARGUMENT` for conditions that are unknown or wrong. */
export function compileJobQuery(query: JobQuery): (job: CapabilityJob) => boolean {
  requireConditions(query, ['personas', 'tool', 'available', 'skill', 'requiredCapability', 'minSuccessRate', 'requireCalls']);
  const meets = compileWorkQuery(query);
  const personas = parsePersonas(query.personas);
  const skills = wantedOf(query.skill, 'skill');
  const required = wantedOf(query.requiredCapability, 'requiredCapability');
  const meetsRate = rateFilter(query);
  return (job) =>
    schedulerMatches(personas, job.personas) && meets(job) && hasAll(skills, job.requiredSkills) && hasAll(required, job.requiredCapabilities) && meetsRate(() => job.health.successRate);
}

function compileWorkQuery(query: WorkQuery): (work: CapabilitySkill | CapabilityTask | CapabilityJob) => boolean {
  const personas = parsePersonas(query.personas);
  const tools = wantedOf(query.tool, 'tool');
  const available = optionalBoolean(query.available, 'available');
  return (work) => ownerMatches(personas, work.owner) && hasAll(tools, work.requiredTools) && (available === undefined || work.available === available);
}
