import type { HealthSummary, Sample } from '../providers/rolling-health.js';
import {
  allowsPersona,
  ownerKey,
  ownerMatches,
  parsePersonas,
  personaKey,
} from './manifest/persona.js';
import type { CapabilityState } from './state/build-state.js';
import type {
  CapabilityJob,
  CapabilitySkill,
  CapabilityTask,
  CapabilityTool,
} from './state/capability-items.js';
import type { ProviderHealth, ToolHealth } from './state/health-ledger.js';
import type {
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
 * Describes a state as others see it.
 *
 * For a persona: its own and the shared tools and skills, even shared ones that its own replace; the tasks it sees; the
 * jobs that it may schedule.
 */
export function summarizeCapabilities(
  { revision, tools, skills, tasks, jobs }: CapabilityState,
  persona: string | null,
): CapabilitySummary {
  const asked = persona === null || personaKey(persona) === '' ? null : persona;
  // A list of tokens would not do: a persona's name may hold a comma.
  const filter =
    asked === null
      ? parsePersonas(undefined)
      : { shared: true, wanted: new Set([personaKey(asked)]), excluded: new Set<string>() };
  const mine = ({ owner }: { readonly owner: string | null }) => ownerMatches(filter, owner);
  const mayBeScheduled = (job: CapabilityJob) =>
    mine(job) && (asked === null || allowsPersona(job.personas, asked));
  return Object.freeze({
    revision,
    persona: asked,
    tools: each(tools.all.filter(mine), (tool) => toolWire(tool, asked)),
    skills: each(skills.all.filter(mine), (skill) =>
      Object.freeze({
        ...skillFields(skill),
        compatibility: compatibilityOf(skill.owner, undefined, asked),
      }),
    ),
    tasks: each(asked === null ? tasks.all : tasks.allSeenBy(asked), (task) =>
      Object.freeze({
        ...taskFields(task),
        compatibility: compatibilityOf(task.owner, undefined, asked),
      }),
    ),
    jobs: each(jobs.all.filter(mayBeScheduled), (job) =>
      Object.freeze({
        ...jobFields(job),
        compatibility: compatibilityOf(job.owner, job.personas, asked),
      }),
    ),
  });
}

function each<Item, Wire>(items: readonly Item[], write: (item: Item) => Wire): readonly Wire[] {
  return Object.freeze(items.map(write));
}

/** Returns whether and why an item fits a persona; `null` means none in particular. */
export function compatibilityOf(
  owner: string | null,
  allowlist: readonly string[] | undefined,
  persona: string | null,
): CompatibilityWire {
  const key = ownerKey(owner);
  const matches =
    persona === null ||
    ((key === '' || key === personaKey(persona)) && allowsPersona(allowlist, persona));
  return Object.freeze({
    persona: key === '' ? null : owner,
    persona_specific: key !== '',
    matches_request: matches,
    allowlist: allowlist ?? NONE,
  });
}

const NONE: readonly never[] = Object.freeze([]);

function toolWire(tool: CapabilityTool, persona: string | null): ToolWire {
  const { owner, name, source, entry, manifest, capabilityTags, authScopes } = tool;
  return Object.freeze({
    name,
    persona: owner,
    version: entry.version ?? null,
    capabilities: Object.freeze(
      manifest?.capabilities
        ?.map((capability) => capability.trim())
        .filter((capability) => capability !== '') ?? entry.capabilities,
    ),
    capability_tags: capabilityTags,
    auth_scopes: authScopes,
    auth: tool.authStatus,
    compatibility: compatibilityOf(owner, entry.personaAllowlist, persona),
    health: toolHealthWire(tool.health),
    providers:
      manifest === null
        ? entry.providers.map(({ healthCheckIntervalMs: interval, ...provider }) => ({
            ...provider,
            ...(interval !== undefined && { health_check_interval: interval / 1_000 }),
          }))
        : (manifest.providers ?? []),
    source,
  });
}

/** Returns the fields of a skill that are the same in every answer. */
export function skillFields(skill: CapabilitySkill): Omit<SkillWire, 'compatibility'> {
  const { version, capabilityTags, requiredCapabilities } = skill;
  return {
    ...workFields(skill),
    version,
    capability_tags: capabilityTags,
    required_capabilities: requiredCapabilities,
  };
}

function taskFields(task: CapabilityTask): Omit<TaskWire, 'compatibility'> {
  return {
    ...workFields(task),
    summary: task.manifest.summary,
    required_skills: task.requiredSkills,
    tags: task.tags,
  };
}

/** Returns the fields of a job that are the same in every answer. */
export function jobFields(job: CapabilityJob): Omit<JobWire, 'compatibility'> {
  const { manifest, personas, requiredSkills, requiredCapabilities, available, health } = job;
  return {
    ...workFields(job),
    summary: manifest.summary,
    description: manifest.description ?? null,
    personas,
    required_skills: requiredSkills,
    required_capabilities: requiredCapabilities,
    available,
    health: Object.freeze({ job: metricsWire(health) }),
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

function metricsWire({
  total,
  success,
  failure,
  successRate,
  averageLatencyMs,
  p95LatencyMs,
  lastSampleAt,
}: HealthSummary): MetricsWire {
  return Object.freeze({
    total,
    success,
    failure,
    success_rate: successRate,
    average_latency_ms: averageLatencyMs,
    p95_latency_ms: p95LatencyMs,
    last_sample_at: seconds(lastSampleAt),
  });
}

/** Returns the health of a tool in the words of the wire. */
export function toolHealthWire({
  tool,
  providers,
  lastInvocation,
  lastSuccessProvider,
}: ToolHealth): ToolHealthWire {
  return Object.freeze({
    tool: Object.freeze({ ...metricsWire(tool), abandoned: tool.abandoned ?? 0 }),
    providers: Object.freeze(
      Object.fromEntries(
        Object.entries(providers).map(([label, health]) => [label, providerHealthWire(health)]),
      ),
    ),
    last_invocation:
      lastInvocation &&
      Object.freeze({ provider: lastInvocation.provider, ...callWire(lastInvocation) }),
    last_success_provider: lastSuccessProvider,
  });
}

function providerHealthWire({
  metrics,
  lifetime,
  lastCall,
  consecutiveFailures,
  lastSuccess,
  lastFailure,
  lastCheck,
  backoffUntil,
}: ProviderHealth): ProviderHealthWire {
  return Object.freeze({
    metrics: metricsWire(metrics),
    router: Object.freeze({
      successes: lifetime.success,
      failures: lifetime.failure,
      consecutive_failures: consecutiveFailures,
      failure_rate: lifetime.total === 0 ? null : lifetime.failure / lifetime.total,
      last_success: seconds(lastSuccess),
      last_failure: seconds(lastFailure),
      last_check: seconds(lastCheck),
      backoff_until: seconds(backoffUntil),
    }),
    last_call: lastCall && Object.freeze(callWire(lastCall)),
  });
}

function callWire({ success, latencyMs, at }: Sample) {
  return { success, latency_ms: latencyMs, timestamp: at / 1_000 };
}

function seconds(at: number | null): number | null {
  return at === null ? null : at / 1_000;
}
