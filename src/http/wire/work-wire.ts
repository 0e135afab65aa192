import type { CapabilityJob, CapabilitySkill } from '../../capability/capability-items.js';
import { metricsWire } from '../../capability/wire/health-wire.js';
import { isPlainObject } from '../../core/plain-data.js';

/** A skill as its file says it, with what is known beside. */
export function skillWire(skill: CapabilitySkill): Readonly<Record<string, unknown>> {
  const { owner, name, manifest, version, capabilityTags, requiredCapabilities, requiredTools, unresolved, source, available } = skill;
  return {
    name,
    persona: owner,
    version,
    summary: manifest.summary ?? null,
    category: manifest.category ?? null,
    instruction_prompt: manifest.instruction_prompt,
    safety_notes: manifest.safety_notes,
    capability_tags: capabilityTags,
    required_capabilities: requiredCapabilities,
    required_tools: requiredTools,
    unresolved,
    available,
    source,
  };
}

/** A job: who may schedule it, what it needs, and how it fared. */
export function jobWire(job: CapabilityJob): Readonly<Record<string, unknown>> {
  const { owner, name, manifest, personas, requiredSkills, requiredTools, requiredCapabilities, unresolved, source } = job;
  return {
    name,
    persona: owner,
    summary: manifest.summary,
    description: manifest.description ?? null,
    personas,
    required_skills: requiredSkills,
    required_tools: requiredTools,
    required_capabilities: requiredCapabilities,
    unresolved,
    task_graph: manifest.task_graph.map((task) => picked(task, ['task', 'depends_on', 'description'])),
    recurrence: picked(manifest.recurrence, ['frequency', 'interval', 'cron', 'timezone', 'start_date', 'end_date']) ?? null,
    acceptance_criteria: manifest.acceptance_criteria,
    available: job.available,
    health: { job: metricsWire(job.health) },
    source,
  };
}

/** Returns a value with, if it is an object, only the fields named: manifests may hold others, and credentials in them. */
export function picked(value: unknown, fields: readonly string[]): unknown {
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(fields.filter((field) => Object.hasOwn(value, field)).map((field) => [field, value[field]]));
}
