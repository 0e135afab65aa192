/**
 * What the HTTP interface answers, as far as the page shows it.
 *
 * Everything in it is the word of whoever wrote a manifest: it is shown as text and never as markup.
 */

export interface HealthNumbers {
  readonly total: number;
  readonly failure: number;
  /** From 0 to 1; `null` without calls. */
  readonly success_rate: number | null;
  readonly average_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
}

export interface Sample {
  /** Seconds since 1970. */
  readonly at: number;
  readonly success: boolean;
  readonly latency_ms: number;
}

export interface ProviderHealth {
  readonly metrics: HealthNumbers;
  /** Times in seconds since 1970. */
  readonly router: { readonly backoff_until: number | null };
  /** The last calls, the oldest first. */
  readonly samples?: readonly Sample[];
}

export interface ToolHealth {
  readonly tool: HealthNumbers & { readonly samples?: readonly Sample[] };
  readonly providers: Readonly<Record<string, ProviderHealth>>;
  /** The provider that answered the last successful call. */
  readonly last_success_provider: string | null;
}

export interface ProviderSpec {
  readonly name: string;
  readonly priority: number;
}

/** A tool in a list. */
export interface WireTool {
  readonly name: string;
  /** Whose it is; `null` for a shared tool. */
  readonly persona: string | null;
  readonly description: string;
  readonly version: string | null;
  readonly capability_tags: readonly string[];
  readonly safety_level: string | null;
  readonly side_effects: readonly string[] | string | null;
  readonly persona_allowlist: readonly string[] | null;
  readonly providers: readonly ProviderSpec[];
  readonly health: ToolHealth;
  readonly priority: string;
  readonly access_mode: string;
  readonly danger_level: string;
  readonly execution_category: string;
  readonly cost_tier: string;
  readonly category: string | null;
  readonly keywords: readonly string[];
  readonly stages: readonly string[];
  readonly task_types: readonly string[];
  readonly available: boolean;
  readonly requires_approval: boolean;
}

/** The fields of `WireTool`, to be asked for. */
export const LIST_FIELDS = [
  'name',
  'persona',
  'description',
  'version',
  'capability_tags',
  'safety_level',
  'side_effects',
  'persona_allowlist',
  'providers',
  'health',
  'priority',
  'access_mode',
  'danger_level',
  'execution_category',
  'cost_tier',
  'category',
  'keywords',
  'stages',
  'task_types',
  'available',
  'requires_approval',
] as const satisfies readonly (keyof WireTool)[];

/** A tool with everything that is known of it. */
export interface WireToolDetail extends WireTool {
  readonly parameters: unknown;
  readonly examples: readonly string[];
  readonly aliases: readonly string[];
  readonly inferred: readonly string[];
  readonly source: string;
  readonly digest: string;
  readonly auth_scopes: readonly string[];
  readonly auth_status: { readonly required: boolean; readonly ready: boolean; readonly missing: readonly string[] };
  readonly allow_parallel: boolean;
  readonly idempotency_key: unknown;
  readonly default_timeout: number | null;
  readonly cost_per_call: number | null;
  readonly cost_unit: string | null;
}

/** What skills and jobs refer to, and is not there. */
export interface Unresolved {
  readonly skills: readonly string[];
  readonly tools: readonly string[];
}

/** A tool that fits a request, and why. */
export interface WireHit {
  readonly name: string;
  readonly persona: string | null;
  readonly score: number;
  readonly matches: readonly { readonly word: string; readonly fields: readonly string[]; readonly related: boolean }[];
  readonly corrections: readonly { readonly word: string; readonly read_as: string }[];
}

export interface WireSkill {
  readonly name: string;
  readonly persona: string | null;
  readonly version: string;
  readonly summary: string | null;
  readonly category: string | null;
  readonly instruction_prompt: string;
  readonly safety_notes: string;
  readonly required_tools: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly capability_tags: readonly string[];
  readonly unresolved: Unresolved;
}

export interface WireJob {
  readonly name: string;
  readonly persona: string | null;
  readonly summary: string;
  readonly description: string | null;
  readonly personas: readonly string[];
  readonly required_skills: readonly string[];
  readonly required_tools: readonly string[];
  readonly required_capabilities: readonly string[];
  readonly unresolved: Unresolved;
  readonly health: { readonly job: HealthNumbers };
}

/** Something to mend: in a manifest, or in a tool's metadata. */
export interface WireFinding {
  readonly severity: string;
  /** The rule of lint, or the kind of a manifest's fault. */
  readonly rule?: string;
  readonly kind?: string;
  readonly name?: string | null;
  readonly persona?: string | null;
  readonly source?: string | null;
  readonly line?: number | null;
  readonly column?: number | null;
  readonly path?: string | null;
  readonly message: string;
}
