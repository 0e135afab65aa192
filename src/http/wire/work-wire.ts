import type { CapabilityJob, CapabilitySkill } from '../../capability/state/capability-items.js';
import { jobFields, skillFields } from '../../capability/capability-summary.js';
import { isPlainObject } from '../../core/plain-data.js';

/** Returns a skill as its file has it, and its state. */
export function skillWire(skill: CapabilitySkill) {
  const { summary = null, category = null, instruction_prompt, safety_notes } = skill.manifest;
  return { ...skillFields(skill), summary, category, instruction_prompt, safety_notes, available: skill.available };
}

/** Returns a job: the personas that may schedule it, its needs, and its health. */
export function jobWire(job: CapabilityJob) {
  const { task_graph: tasks, recurrence, acceptance_criteria } = job.manifest;
  return {
    ...jobFields(job),
    task_graph: tasks.map((task) => picked(task, ['task', 'depends_on', 'description'])),
    recurrence: picked(recurrence, ['frequency', 'interval', 'cron', 'timezone', 'start_date', 'end_date']) ?? null,
    acceptance_criteria,
  };
}

/**
 * Returns a value that, if it is an object, has only the named fields: manifests may hold others, with credentials in
 * them.
 */
export function picked(value: unknown, fields: readonly string[]): unknown {
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(fields.filter((field) => Object.hasOwn(value, field)).map((field) => [field, value[field]]));
}
