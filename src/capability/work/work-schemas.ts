import { z } from 'zod';

/** The kind of a persona's work, beside tools. */
export type WorkKind = 'skill' | 'job' | 'task';

const text = () => z.string().regex(/\S/, { error: 'text that is not blank' });
/** The length of names, as for tools: the pages of lists depend on it. */
const name = () => text().max(128);
const texts = () => z.array(text());
const plainObject = () => z.record(z.string(), z.unknown());

const participant = z.strictObject({
  id: text(),
  provider: z.string().optional(),
  model: z.string().optional(),
  system_prompt: z.string().optional(),
  weight: z.number().optional(),
  metadata: plainObject().optional(),
});

const collaboration = z.strictObject({
  enabled: z.union([z.boolean(), z.string()], { error: 'true, false or a text' }).optional(),
  protocol: z.enum(['vote', 'critique', 'contract_net']).optional(),
  quorum: z.number().min(0).max(1).optional(),
  /** The time limit in seconds. */
  timeout: z.number().min(0).optional(),
  participants: z.array(participant).optional(),
});

const skillSchema = z.strictObject({
  name: name(),
  version: text(),
  instruction_prompt: text(),
  required_tools: texts(),
  required_capabilities: texts(),
  safety_notes: text(),
  summary: text().optional(),
  category: text().optional(),
  capability_tags: texts().optional(),
  collaboration: collaboration.optional(),
});

const escalationPolicy = z.strictObject({
  level: text(),
  contact: text(),
  timeframe: z.string().optional(),
  triggers: texts().optional(),
  actions: texts().optional(),
  notes: z.string().optional(),
  auto_escalate: z.union([z.boolean(), z.string()], { error: 'true, false or a text' }).optional(),
});

const taskStep = z.strictObject({
  task: text(),
  depends_on: texts().optional(),
  description: z.string().optional(),
  metadata: plainObject().optional(),
});

const recurrence = z.looseObject({
  frequency: z.string().optional(),
  interval: z.union([z.int(), z.string()], { error: 'a whole number or a text' }).optional(),
  cron: z.string().optional(),
  timezone: z.string().optional(),
  start_date: z.string().optional(),
  end_date: z.string().optional(),
});

const jobSchema = z.strictObject({
  name: name(),
  summary: text(),
  description: z.string().optional(),
  personas: texts().min(1),
  required_skills: texts(),
  required_tools: texts(),
  task_graph: z.array(taskStep).min(1),
  recurrence: recurrence.optional(),
  acceptance_criteria: texts().min(1),
  escalation_policy: escalationPolicy,
  accepts_external_requests: z.boolean().optional(),
});

const taskSchema = z.strictObject({
  name: name(),
  summary: text(),
  description: z.string().optional(),
  persona: z.string().optional(),
  required_skills: texts(),
  required_tools: texts(),
  acceptance_criteria: texts().min(1),
  escalation_policy: escalationPolicy,
  tags: texts().optional(),
  priority: z.string().optional(),
});

/** A skill, job or task as written in its file, in snake_case, with `extends` merged. */
export type SkillManifest = Readonly<z.input<typeof skillSchema>>;
export type JobManifest = Readonly<z.input<typeof jobSchema>>;
export type TaskManifest = Readonly<z.input<typeof taskSchema>>;

export interface WorkManifests {
  readonly skill: SkillManifest;
  readonly job: JobManifest;
  readonly task: TaskManifest;
}

/** The values allowed in an entry of each kind; unknown keys are refused. They only check: the entry itself is used. */
export const WORK_SCHEMAS: Readonly<Record<WorkKind, z.ZodObject>> = Object.freeze({ skill: skillSchema, job: jobSchema, task: taskSchema });
