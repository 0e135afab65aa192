import { DangerLevel } from '../core/enums.js';
import type { HealthSummary } from '../providers/health/health-samples.js';
import { isAvailable } from '../registry/tool-filter.js';
import type { SAFETY_LEVELS } from '../tool/metadata/tool-fields.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { HealthLedger, ToolHealth, ToolSamples } from './health/health-ledger.js';
import { normalizeCapabilities } from './manifest/entry/manifest-forms.js';
import type { ManifestEntry } from './manifest/entry/manifest-entry.js';
import { authStatusOf, type AuthStatus, type Environment } from './query/auth-status.js';
import type { JobManifest, SkillManifest, TaskManifest, WorkKind, WorkManifests } from './work/work-schemas.js';

export type SafetyLevel = (typeof SAFETY_LEVELS)[number];

/** A tool of somebody, with what is known of it. `authStatus`, `health` and `available` are of the moment they are read. */
export interface CapabilityTool {
  /** The persona whose it is, as spelled; `null` for what is shared. */
  readonly owner: string | null;
  readonly name: string;
  readonly entry: ToolEntry;
  /** What its file says, in snake_case; `null` for tools out of code. */
  readonly manifest: ManifestEntry | null;
  /** The file, relative to the root; `code`, or the name of the source. */
  readonly source: string;
  /** The capabilities: trimmed, each once in any case, in order. */
  readonly capabilityTags: readonly string[];
  /** The declared authentication scopes, each once. */
  readonly authScopes: readonly string[];
  /** Declared, or else that of the danger level. */
  readonly safetyLevel: SafetyLevel;
  readonly authStatus: AuthStatus;
  readonly health: ToolHealth;
  /** The calls that `health` is of, the oldest first. */
  readonly samples: ToolSamples;
  /** Whether it can be used now: it has its credentials, and its own check says yes. */
  readonly available: boolean;
}

/** What is referred to and not there. */
export interface Unresolved {
  readonly skills: readonly string[];
  readonly tools: readonly string[];
  readonly tasks: readonly string[];
}

interface Work<Kind extends WorkKind> {
  readonly owner: string | null;
  readonly name: string;
  /** What its file says, in snake_case, with what it extends merged in. */
  readonly manifest: WorkManifests[Kind];
  /** The file, relative to the root. */
  readonly source: string;
  readonly requiredTools: readonly string[];
  readonly unresolved: Unresolved;
}

export interface CapabilitySkill extends Work<'skill'> {
  readonly version: string;
  readonly capabilityTags: readonly string[];
  readonly requiredCapabilities: readonly string[];
  /** Whether all its tools are there and can be used now. */
  readonly available: boolean;
}

export interface CapabilityTask extends Work<'task'> {
  readonly requiredSkills: readonly string[];
  readonly tags: readonly string[];
  /** Whether all its skills and tools are there and can be used now. */
  readonly available: boolean;
}

export interface CapabilityJob extends Work<'job'> {
  /** Who may schedule it. */
  readonly personas: readonly string[];
  readonly requiredSkills: readonly string[];
  /** What its skills require and are, and what its tools are: in that order, each once in any case. */
  readonly requiredCapabilities: readonly string[];
  readonly health: HealthSummary;
  /** Whether all its skills and tools are there and can be used now. */
  readonly available: boolean;
}

export type { JobManifest, SkillManifest, TaskManifest };

/** What is asked at the moment an item is read. */
export interface LiveFacts {
  readonly ledger: HealthLedger;
  readonly env: Environment;
}

export type ToolFacts = Pick<CapabilityTool, 'owner' | 'entry' | 'manifest' | 'source'>;

export function createTool({ owner, entry, manifest, source }: ToolFacts, { ledger, env }: LiveFacts): CapabilityTool {
  return Object.freeze({
    owner,
    name: entry.name,
    entry,
    manifest,
    source,
    capabilityTags: Object.freeze(normalizeCapabilities(entry.capabilities)),
    authScopes: Object.freeze([...new Set((entry.auth?.scopes ?? []).map((scope) => scope.trim()).filter((scope) => scope !== ''))]),
    safetyLevel: manifest?.safety_level ?? SAFETY_OF[entry.dangerLevel],
    get authStatus() {
      return authStatusOf(entry, env);
    },
    get health() {
      return ledger.tool(owner, entry);
    },
    get samples() {
      return ledger.samples(owner, entry);
    },
    get available() {
      return authStatusOf(entry, env).ready && isAvailable(entry);
    },
  });
}

const SAFETY_OF: Readonly<Record<DangerLevel, SafetyLevel>> = Object.freeze({
  [DangerLevel.SAFE]: 'low',
  [DangerLevel.LOW]: 'low',
  [DangerLevel.MEDIUM]: 'medium',
  [DangerLevel.HIGH]: 'high',
  [DangerLevel.CRITICAL]: 'high',
});
