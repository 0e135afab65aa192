import type { FieldOn, FieldTarget, TOOL_FIELDS } from '../../../../tool/metadata/tool-fields.js';

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

interface AuthStatus {
  readonly required: boolean;
  readonly ready: boolean;
  readonly missing: readonly string[];
}

type Texts = readonly string[];
/** The kinds of values that are not a text, or can be missing. */
interface KindsOnWire {
  readonly owner: string | null;
  readonly version: string | null;
  readonly text: string | null;
  readonly sentence: string | null;
  readonly label: string | null;
  readonly safetyLevel: string | null;
  readonly sideEffects: Texts | string | null;
  readonly personas: Texts | null;
  readonly labels: Texts;
  readonly names: Texts;
  readonly words: Texts;
  readonly tags: Texts;
  readonly requests: Texts;
  readonly axes: Texts;
  readonly flag: boolean;
  readonly function: boolean;
  readonly wholeSeconds: number | null;
  readonly seconds: number | null;
  readonly amount: number | null;
  readonly idempotency: unknown;
  readonly input: unknown;
  readonly auth: unknown;
  readonly authStatus: AuthStatus;
  readonly providers: readonly ProviderSpec[];
  readonly health: ToolHealth;
}

type Fields = typeof TOOL_FIELDS;
type FieldsOn<Target extends FieldTarget> = {
  readonly [Name in FieldOn<Target> as Fields[Name]['wire']]: Fields[Name]['kind'] extends keyof KindsOnWire ? KindsOnWire[Fields[Name]['kind']] : string;
};

/** A tool in a list. */
export type WireTool = FieldsOn<'row'>;
/** A tool with everything that is known of it. */
export type WireToolDetail = FieldsOn<'list' | 'detail'>;

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
