import type {
  AuthStatusWire,
  CompatibilityWire,
  JobWire,
  SkillWire,
  ToolHealthWire,
} from '../../capability/wire-types.js';
import type { RequiredFlags } from '../../safety/required-flags.js';
import type { FieldOn, FieldTarget, TOOL_FIELDS } from '../../tool/tool-fields.js';

// The answers of the HTTP interface, as far as the page shows them: its server writes what the page reads.

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
  readonly flowLabels: Texts;
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
  readonly providers: readonly { readonly name: string; readonly priority: number }[];
  readonly health: ToolHealthWire;
}

type Fields = typeof TOOL_FIELDS;
type FieldsOn<Target extends FieldTarget> = {
  readonly [
    Name in FieldOn<Target> as Fields[Name]['wire']
  ]: Fields[Name]['kind'] extends keyof KindsOnWire ? KindsOnWire[Fields[Name]['kind']] : string;
};

/** A tool in a list. */
export type ListedTool = FieldsOn<'row'>;
/** A tool with all its fields. */
export type DetailedTool = FieldsOn<'list' | 'detail'>;

/** A skill in a list, with the text of its file. */
export type ListedSkill = Omit<SkillWire, 'compatibility'> & {
  readonly summary: string | null;
  readonly category: string | null;
  readonly instruction_prompt: string;
  readonly safety_notes: string;
  readonly available: boolean;
};

/** A job in a list. */
export type ListedJob = Omit<JobWire, 'compatibility'> & {
  readonly task_graph: readonly unknown[];
  readonly recurrence: unknown;
  readonly acceptance_criteria: unknown;
};

/** A page of a list, which stands under its own name. */
export type ListWire<Name extends string, Item> = {
  /** The number of items on all pages. */
  readonly total: number;
  readonly revision: number;
  /** The address of the next page; `null` on the last. */
  readonly next: string | null;
} & { readonly [List in Name]: readonly Item[] };

/** A finding: something to fix in a manifest, or in a tool's metadata. */
export interface FindingWire {
  readonly severity: 'error' | 'warning';
  /** The kind of a problem of files and sources; `null` for findings of lint. */
  readonly kind: string | null;
  /** The rule of lint. */
  readonly rule: string | null;
  readonly name: string | null;
  readonly persona: string | null;
  /** A file relative to the root, `code`, or the name of a source. */
  readonly source: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly path: string | null;
  readonly message: string;
}

/** A page of the findings, the worst first. */
export type FindingsWire = ListWire<'findings', FindingWire> & {
  /** The number of findings of each severity on all pages. */
  readonly severities: Readonly<Record<string, number>>;
};

/** A tool that fits a request, and why. */
export interface HitWire {
  readonly name: string;
  readonly persona: string | null;
  readonly description: string;
  readonly compatibility: CompatibilityWire;
  readonly score: number;
  readonly matches: readonly {
    readonly word: string;
    readonly fields: readonly string[];
    readonly related: boolean;
  }[];
  readonly corrections: readonly { readonly word: string; readonly read_as: string }[];
  readonly explanation: unknown;
}

/** The number of tools that each value of each axis would leave. */
export type FacetsWire = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** The best tools for a request. */
export interface SearchWire {
  readonly results: readonly HitWire[];
  /** The number of tools that have a word of the request and pass the filters. */
  readonly total: number;
  /** The number of tools that were searched. */
  readonly searched: number;
  /** The counts, if they were requested. */
  readonly facets?: FacetsWire;
}
