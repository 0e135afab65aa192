import type { AuthStatusWire, CompatibilityWire, JobWire, SkillWire, ToolHealthWire } from '../../../../capability/wire-types.js';
import type { RequiredFlags } from '../../../../safety/required-flags.js';
import type { FieldOn, FieldTarget, TOOL_FIELDS } from '../../../../tool/tool-fields.js';

/**
 * The answers of the HTTP interface, as far as the page shows them.
 *
 * All content comes from authors of manifests: it is shown as text and never as markup.
 */

export type { MetricsWire, ProviderHealthWire, SampleWire } from '../../../../capability/wire-types.js';

export interface ProviderSpec {
  readonly name: string;
  readonly priority: number;
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
  readonly flags: RequiredFlags | null;
  readonly auth: unknown;
  readonly authStatus: AuthStatusWire;
  readonly compatibility: CompatibilityWire;
  readonly providers: readonly ProviderSpec[];
  readonly health: ToolHealthWire;
}

type Fields = typeof TOOL_FIELDS;
type FieldsOn<Target extends FieldTarget> = {
  readonly [Name in FieldOn<Target> as Fields[Name]['wire']]: Fields[Name]['kind'] extends keyof KindsOnWire ? KindsOnWire[Fields[Name]['kind']] : string;
};

/** A tool in a list. */
export type WireTool = FieldsOn<'row'>;
/** A tool with all its fields. */
export type WireToolDetail = FieldsOn<'list' | 'detail'>;

/** The best tools for a request, with their number. */
export interface WireSearch {
  readonly results: readonly WireHit[];
  /** The tools that have a word of the request and pass the filters. */
  readonly total: number;
  /** The tools that were searched. */
  readonly searched: number;
  /** The number of tools that each value of each axis would leave. */
  readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** A tool that fits a request, and why. */
export interface WireHit {
  readonly name: string;
  readonly persona: string | null;
  readonly score: number;
  readonly matches: readonly { readonly word: string; readonly fields: readonly string[]; readonly related: boolean }[];
  readonly corrections: readonly { readonly word: string; readonly read_as: string }[];
}

export type WireSkill = Omit<SkillWire, 'compatibility'> & {
  readonly summary: string | null;
  readonly category: string | null;
  readonly instruction_prompt: string;
  readonly safety_notes: string;
};

export type WireJob = Omit<JobWire, 'compatibility'>;

/** A page of the findings, the worst first. */
export interface WireFindings {
  readonly findings: readonly WireFinding[];
  /** The number of findings on all pages, and of each severity. */
  readonly total: number;
  readonly severities: Readonly<Record<string, number>>;
  /** The address of the next page; `null` on the last. */
  readonly next: string | null;
}

/** A finding: something to fix in a manifest, or in a tool's metadata. */
export interface WireFinding {
  readonly severity: string;
  /** The rule of lint, or the kind of a manifest's problem. */
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
