

/** The last calls in numbers; times in seconds since 1970, `null` for numbers that need calls when there are none. */
export interface MetricsWire {
  readonly total: number;
  readonly success: number;
  readonly failure: number;
  readonly success_rate: number | null;
  readonly average_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly last_sample_at: number | null;
}

/** The numbers of a tool's calls. */
export interface ToolMetricsWire extends MetricsWire {
  /** Calls whose work still ran when they were answered. */
  readonly abandoned: number;
}

/** The counts of a provider since counting began; times in seconds since 1970. */
export interface RouterWire {
  readonly successes: number;
  readonly failures: number;
  readonly consecutive_failures: number;
  readonly failure_rate: number | null;
  readonly last_success: number | null;
  readonly last_failure: number | null;
  readonly last_check: number | null;
  readonly backoff_until: number | null;
}

export interface CallWire {
  readonly success: boolean;
  readonly latency_ms: number;
  readonly timestamp: number;
}

/** One of the last calls. */
export interface SampleWire {
  /** The date in seconds since 1970. */
  readonly at: number;
  readonly success: boolean;
  readonly latency_ms: number;
}

/** The calls behind health, the oldest first; only in answers about one tool. */
interface Sampled {
  readonly samples?: readonly SampleWire[];
}

export interface ProviderHealthWire extends Sampled {
  readonly metrics: MetricsWire;
  readonly router: RouterWire;
  readonly last_call: CallWire | null;
}

/** The health of a tool, as the discovery APIs show it. */
export interface ToolHealthWire {
  readonly tool: ToolMetricsWire & Sampled;
  readonly providers: Readonly<Record<string, ProviderHealthWire>>;
  readonly last_invocation: (CallWire & { readonly provider: string | null }) | null;
  /** The provider that answered the last successful call. */
  readonly last_success_provider: string | null;
}

/** The fit of an item to the requesting persona, with the reason. */
export interface CompatibilityWire {
  /** The owner; `null` for shared items. */
  readonly persona: string | null;
  readonly persona_specific: boolean;
  /**
   * Says that the requesting persona may use it: it owns it or it is shared, and the allow-list admits it. True without
   * a persona.
   */
  readonly matches_request: boolean;
  /** The only personas that may use it; empty when all may, unless `matches_request` says otherwise. */
  readonly allowlist: readonly string[];
}

/** The state of the credentials; names of variables, never their values. */
export interface AuthStatusWire {
  readonly required: boolean;
  readonly ready: boolean;
  readonly missing: readonly string[];
}

/** The references that lead nowhere. */
type UnresolvedWire = Readonly<Record<'skills' | 'tools' | 'tasks', readonly string[]>>;

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
  readonly auth: AuthStatusWire;
  readonly health: ToolHealthWire;
  readonly providers: readonly Readonly<Record<string, unknown>>[];
}

export interface SkillWire extends ItemWire {
  readonly version: string;
  readonly capability_tags: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly required_tools: readonly string[];
  readonly unresolved: UnresolvedWire;
}

export interface TaskWire extends ItemWire {
  readonly summary: string;
  readonly required_skills: readonly string[];
  readonly required_tools: readonly string[];
  readonly tags: readonly string[];
  readonly unresolved: UnresolvedWire;
}

export interface JobWire extends ItemWire {
  readonly summary: string;
  readonly description: string | null;
  readonly personas: readonly string[];
  readonly required_skills: readonly string[];
  readonly required_tools: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly unresolved: UnresolvedWire;
  readonly available: boolean;
  readonly health: { readonly job: MetricsWire };
}

/** The summary of what a persona, or everyone, can do: plain data in snake_case, for dashboards and discovery APIs. */
export interface CapabilitySummary {
  readonly revision: number;
  readonly persona: string | null;
  readonly tools: readonly ToolWire[];
  readonly skills: readonly SkillWire[];
  readonly tasks: readonly TaskWire[];
  readonly jobs: readonly JobWire[];
}
