import type { HealthSummary, Sample } from '../providers/rolling-health.js';
import { allowsPersona, personaKey } from '../core/persona.js';
import { ownerKey } from './manifest/persona.js';
import type { CapabilityState } from './state/build-state.js';
import type {
  CapabilityJob,
  CapabilitySkill,
  CapabilityTask,
  CapabilityTool,
} from './state/capability-items.js';
import type { ProviderHealth, ToolHealth } from './state/health-ledger.js';
import type {
  CallsWire,
  CapabilitySummary,
  CompatibilityWire,
  JobWire,
  MetricsWire,
  ProviderHealthWire,
  SkillWire,
  TaskWire,
  ToolHealthWire,
  ToolWire,
} from './wire-types.js';

/**
 * Returns a state as plain data.
 *
 * For a persona, this includes its own tools and skills, and all shared tools and skills, even if
 * one of its own replaces them. A persona's summary also includes the tasks that the persona sees
 * and the jobs that it may schedule.
 */
export function summarizeCapabilities(
  { revision, tools, skills, tasks, jobs }: CapabilityState,
  persona: string | null,
): CapabilitySummary {
  const asked = persona === null || personaKey(persona) === '' ? null : persona;
  const mine = ({ owner }: { readonly owner: string | null }) =>
    asked === null || ['', personaKey(asked)].includes(ownerKey(owner));
  const mayBeScheduled = (job: CapabilityJob) =>
    mine(job) && (asked === null || allowsPersona(job.personas, asked));
  const fit = (owner: string | null, allowlist?: readonly string[]) => ({
    compatibility: compatibilityOf(owner, allowlist, asked),
  });
  return {
    revision,
    persona: asked,
    tools: tools.all
      .filter(mine)
      .map((tool) => ({ ...toolFields(tool), ...fit(tool.owner, tool.entry.personaAllowlist) })),
    skills: skills.all
      .filter(mine)
      .map((skill) => ({ ...skillFields(skill), ...fit(skill.owner) })),
    tasks: (asked === null ? tasks.all : tasks.allSeenBy(asked)).map((task) => ({
      ...taskFields(task),
      ...fit(task.owner),
    })),
    jobs: jobs.all
      .filter(mayBeScheduled)
      .map((job) => ({ ...jobFields(job), ...fit(job.owner, job.personas) })),
  };
}

/** Returns whether a persona may use an item, and why. `null` means any persona. */
export function compatibilityOf(
  owner: string | null,
  allowlist: readonly string[] | undefined,
  persona: string | null,
): CompatibilityWire {
  const key = ownerKey(owner);
  const matches =
    persona === null ||
    ((key === '' || key === personaKey(persona)) && allowsPersona(allowlist, persona));
  return {
    persona: key === '' ? null : owner,
    persona_specific: key !== '',
    matches_request: matches,
    allowlist: allowlist ?? [],
  };
}

function toolFields(tool: CapabilityTool): Omit<ToolWire, 'compatibility'> {
  const { owner, name, source, entry, manifest, capabilityTags, authScopes } = tool;
  return {
    name,
    persona: owner,
    version: entry.version ?? null,
    capabilities: entry.capabilities,
    capability_tags: capabilityTags,
    auth_scopes: authScopes,
    auth: tool.authStatus,
    health: toolHealthWire(tool.health),
    providers:
      manifest === null
        ? entry.providers.map(({ healthCheckIntervalMs: interval, ...provider }) => ({
            ...provider,
            ...(interval !== undefined && { health_check_interval: interval / 1_000 }),
          }))
        : (manifest.providers ?? []),
    source,
  };
}

/** Returns the fields of a skill that every response contains. */
export function skillFields(skill: CapabilitySkill): Omit<SkillWire, 'compatibility'> {
  const { version, capabilityTags, requiredCapabilities } = skill;
  return {
    ...workFields(skill),
    version,
    capability_tags: capabilityTags,
    required_capabilities: requiredCapabilities,
  };
}

export function taskFields(task: CapabilityTask): Omit<TaskWire, 'compatibility'> {
  return {
    ...workFields(task),
    summary: task.manifest.summary,
    required_skills: task.requiredSkills,
    tags: task.tags,
  };
}

/** Returns the fields of a job that every response contains. */
export function jobFields(job: CapabilityJob): Omit<JobWire, 'compatibility'> {
  const { manifest, personas, requiredSkills, requiredCapabilities, available } = job;
  const { health, lastRun } = job;
  return {
    ...workFields(job),
    summary: manifest.summary,
    description: manifest.description ?? null,
    personas,
    required_skills: requiredSkills,
    required_capabilities: requiredCapabilities,
    available,
    health: {
      job: callsWire(health),
      last_invocation: lastRun && callWire(lastRun),
    },
  };
}

function workFields({
  owner,
  name,
  source,
  requiredTools,
  unresolved,
}: CapabilitySkill | CapabilityTask | CapabilityJob) {
  return { name, persona: owner, required_tools: requiredTools, unresolved, source };
}

function metricsWire(health: HealthSummary): MetricsWire {
  return {
    total: health.total,
    success: health.success,
    failure: health.failure,
    success_rate: health.successRate,
    average_latency_ms: health.averageLatencyMs,
    p95_latency_ms: health.p95LatencyMs,
    last_sample_at: seconds(health.lastSampleAt),
  };
}

/** Returns call statistics in wire format. */
function callsWire(health: HealthSummary): CallsWire {
  return { ...metricsWire(health), abandoned: health.abandoned ?? 0 };
}

/** Returns a tool's health in wire format. */
export function toolHealthWire(health: ToolHealth): ToolHealthWire {
  const { tool, providers, lastInvocation: last, lastSuccessProvider } = health;
  return {
    tool: callsWire(tool),
    providers: Object.fromEntries(
      Object.entries(providers).map(([label, each]) => [label, providerHealthWire(each)]),
    ),
    last_invocation: last && { provider: last.provider, ...callWire(last) },
    last_success_provider: lastSuccessProvider,
  };
}

function providerHealthWire(health: ProviderHealth): ProviderHealthWire {
  const { lifetime, lastCall } = health;
  return {
    metrics: metricsWire(health.metrics),
    router: {
      successes: lifetime.success,
      failures: lifetime.failure,
      consecutive_failures: health.consecutiveFailures,
      failure_rate: lifetime.total === 0 ? null : lifetime.failure / lifetime.total,
      last_success: seconds(health.lastSuccess),
      last_failure: seconds(health.lastFailure),
      last_check: seconds(health.lastCheck),
      backoff_until: seconds(health.backoffUntil),
    },
    last_call: lastCall && callWire(lastCall),
  };
}

function callWire({ success, latencyMs, at }: Sample) {
  return { success, latency_ms: latencyMs, timestamp: at / 1_000 };
}

function seconds(at: number | null): number | null {
  return at === null ? null : at / 1_000;
}
