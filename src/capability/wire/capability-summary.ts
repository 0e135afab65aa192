import type { CapabilityJob, CapabilitySkill, CapabilityTask, CapabilityTool, Unresolved } from '../capability-items.js';
import { manifestProviderOf } from '../manifest/entry/manifest-forms.js';
import { allowsPersona, personaKey } from '../manifest/persona.js';
import { ownerKey, ownerMatches, parsePersonas } from '../query/persona-filter.js';
import type { CapabilityState } from '../state/build-state.js';
import { metricsWire, toolHealthWire, type MetricsWire, type ToolHealthWire } from './health-wire.js';

/** Whether and why something fits the persona that asks. */
export interface CompatibilityWire {
  /** The owner; `null` for what is shared. */
  readonly persona: string | null;
  readonly persona_specific: boolean;
  /** Whether the persona that asks may use it: it owns it or it is shared, and the allow-list lets it. True when nobody in particular asks. */
  readonly matches_request: boolean;
  /** The only personas that may use it; empty when all may, unless `matches_request` says otherwise. */
  readonly allowlist: readonly string[];
}

interface ItemWire {
  readonly name: string;
  readonly persona: string | null;
  readonly source: string;
  readonly compatibility: CompatibilityWire;
}

export interface ToolWire extends ItemWire {
  readonly version: string | null;
  readonly capabilities: readonly string[];
  readonly capability_tags: readonly string[];
  readonly auth_scopes: readonly string[];
  /** Whether the credentials are there; names of variables, never their values. */
  readonly auth: { readonly required: boolean; readonly ready: boolean; readonly missing: readonly string[] };
  readonly health: ToolHealthWire;
  readonly providers: readonly Readonly<Record<string, unknown>>[];
}

export interface SkillWire extends ItemWire {
  readonly version: string;
  readonly capability_tags: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly required_tools: readonly string[];
  readonly unresolved: Unresolved;
}

export interface TaskWire extends ItemWire {
  readonly summary: string;
  readonly required_skills: readonly string[];
  readonly required_tools: readonly string[];
  readonly tags: readonly string[];
  readonly unresolved: Unresolved;
}

export interface JobWire extends ItemWire {
  readonly summary: string;
  readonly description: string | null;
  readonly personas: readonly string[];
  readonly required_skills: readonly string[];
  readonly required_tools: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly unresolved: Unresolved;
  readonly available: boolean;
  readonly health: { readonly job: MetricsWire };
}

/** Everything a persona, or everybody, can do: plain data in snake_case, for dashboards and discovery APIs. */
export interface CapabilitySummary {
  readonly revision: number;
  readonly persona: string | null;
  readonly tools: readonly ToolWire[];
  readonly skills: readonly SkillWire[];
  readonly tasks: readonly TaskWire[];
  readonly jobs: readonly JobWire[];
}

/**
 * What a state looks like from outside.
 *
 * For a persona: its own and the shared tools and skills, also shared ones that its own replace; of tasks those it sees;
 * jobs that it may schedule.
 */
export function summarizeCapabilities({ revision, tools, skills, tasks, jobs }: CapabilityState, persona: string | null): CapabilitySummary {
  const asked = persona === null || personaKey(persona) === '' ? null : persona;
  // Not as a list of tokens: a persona's name may hold a comma.
  const filter = asked === null ? parsePersonas(undefined) : { shared: true, wanted: new Set([personaKey(asked)]), excluded: new Set<string>() };
  const mine = ({ owner }: { readonly owner: string | null }) => ownerMatches(filter, owner);
  const mayBeScheduled = (job: CapabilityJob) => mine(job) && (asked === null || allowsPersona(job.personas, asked));
  return Object.freeze({
    revision,
    persona: asked,
    tools: Object.freeze(tools.all.filter(mine).map((tool) => toolWire(tool, asked))),
    skills: Object.freeze(skills.all.filter(mine).map((skill) => skillWire(skill, asked))),
    tasks: Object.freeze((asked === null ? tasks.all : tasks.allSeenBy(asked)).map((task) => taskWire(task, asked))),
    jobs: Object.freeze(jobs.all.filter(mayBeScheduled).map((job) => jobWire(job, asked))),
  });
}

/** Whether and why an item fits a persona; `null` asks for nobody in particular. */
export function compatibilityOf(owner: string | null, allowlist: readonly string[] | undefined, persona: string | null): CompatibilityWire {
  const key = ownerKey(owner);
  const matches = persona === null || ((key === '' || key === personaKey(persona)) && allowsPersona(allowlist, persona));
  return Object.freeze({ persona: key === '' ? null : owner, persona_specific: key !== '', matches_request: matches, allowlist: allowlist ?? NONE });
}

const NONE: readonly never[] = Object.freeze([]);

function toolWire(tool: CapabilityTool, persona: string | null): ToolWire {
  const { owner, name, source, entry, manifest, capabilityTags, authScopes } = tool;
  return Object.freeze({
    name,
    persona: owner,
    version: entry.version ?? null,
    capabilities: Object.freeze(manifest?.capabilities?.map((capability) => capability.trim()).filter((capability) => capability !== '') ?? entry.capabilities),
    capability_tags: capabilityTags,
    auth_scopes: authScopes,
    auth: tool.authStatus,
    compatibility: compatibilityOf(owner, entry.personaAllowlist, persona),
    health: toolHealthWire(tool.health),
    providers: manifest === null ? Object.freeze(entry.providers.map((provider) => Object.freeze(manifestProviderOf(provider)))) : (manifest.providers ?? NONE),
    source,
  });
}

function skillWire({ owner, name, source, version, capabilityTags, requiredCapabilities, requiredTools, unresolved }: CapabilitySkill, persona: string | null): SkillWire {
  return Object.freeze({
    name,
    persona: owner,
    version,
    capability_tags: capabilityTags,
    required_capabilities: requiredCapabilities,
    required_tools: requiredTools,
    unresolved,
    compatibility: compatibilityOf(owner, undefined, persona),
    source,
  });
}

function taskWire({ owner, name, source, manifest, requiredSkills, requiredTools, tags, unresolved }: CapabilityTask, persona: string | null): TaskWire {
  return Object.freeze({
    name,
    persona: owner,
    summary: manifest.summary,
    required_skills: requiredSkills,
    required_tools: requiredTools,
    tags,
    unresolved,
    compatibility: compatibilityOf(owner, undefined, persona),
    source,
  });
}

function jobWire(job: CapabilityJob, persona: string | null): JobWire {
  const { owner, name, source, manifest, personas, requiredSkills, requiredTools, requiredCapabilities, unresolved } = job;
  return Object.freeze({
    name,
    persona: owner,
    summary: manifest.summary,
    description: manifest.description ?? null,
    personas,
    required_skills: requiredSkills,
    required_tools: requiredTools,
    required_capabilities: requiredCapabilities,
    unresolved,
    available: job.available,
    health: Object.freeze({ job: metricsWire(job.health) }),
    compatibility: compatibilityOf(owner, personas, persona),
    source,
  });
}
