import { mapAxes, type AXES, type AxisName } from './axes.js';
import type { ToolOptions } from './tool-options.js';

/** The kind of a field's value. Each target has one rule per kind. */
export type FieldKind =
  | 'name' | 'names' | 'description' | 'text' | 'sentence' | 'requests' | 'version' | 'label' | 'labels' | 'words' | 'tags' | 'personas'
  | 'flag' | 'wholeSeconds' | 'seconds' | 'amount' | 'bytes' | 'object' | 'input' | 'output' | 'function'
  | AxisName | 'safetyLevel' | 'sideEffects' | 'flowLabels' | 'flowTarget'
  | 'idempotency' | 'auth' | 'providers' | 'any' | 'flags'; // prettier-ignore

export interface ToolField {
  /** The name outside the process: snake_case, with times in seconds. */
  readonly wire: string;
  readonly kind: FieldKind;
  /** Marks a key of manifests that isn't a tool option. */
  readonly from?: 'manifest';
  /** The meaning of the field, written for manifest authors. */
  readonly about: string;
  /** The default if the author didn't declare a value. */
  readonly missing?: readonly never[] | false;
}

const axisFields = mapAxes<{
  readonly [Name in AxisName]: ToolField & {
    readonly wire: (typeof AXES)[Name]['wire'];
    readonly kind: Name;
  };
}>((name, { wire, about }) => ({ wire, kind: name, about }) as never);

/**
 * All options of a tool and all keys of manifests, by their internal names. Validation, digests,
 * stored tools and manifests are derived from this table. HTTP, the command line and the page have
 * tables of their own that say what they show.
 */
export const TOOL_FIELDS = {
  name: {
    wire: 'name',
    kind: 'name',
    about: 'The name used to call the tool. Must be unique within its file.',
  },
  description: {
    wire: 'description',
    kind: 'description',
    about: 'What the tool does, for the model that selects tools.',
  },
  inputSchema: {
    wire: 'parameters',
    kind: 'input',
    about:
      'JSON Schema of the tool\'s input. Required unless one of the tool\'s providers is named "mcp".',
  },
  outputSchema: {
    wire: 'output_schema',
    kind: 'output',
    about: "JSON Schema of the tool's result.",
  },
  summary: {
    wire: 'summary',
    kind: 'sentence',
    about: 'A one-line description, which is all that models see of a compact tool.',
  },
  version: {
    wire: 'version',
    kind: 'version',
    about: 'The semantic version of the tool, such as "1.2.0".',
  },
  category: {
    wire: 'category',
    kind: 'label',
    about: 'The group that the tool belongs to.',
  },
  ...axisFields,
  costPerCall: {
    wire: 'cost_per_call',
    kind: 'amount',
    about: 'The cost of one call, measured in cost_unit.',
  },
  costUnit: {
    wire: 'cost_unit',
    kind: 'text',
    from: 'manifest',
    about: 'The currency or unit of cost_per_call, such as "USD".',
  },
  allowParallel: {
    wire: 'allow_parallel',
    kind: 'flag',
    about: 'True if two calls to this tool can run at the same time.',
  },
  sideEffects: {
    wire: 'side_effects',
    kind: 'sideEffects',
    missing: [],
    about:
      'The strongest side effect of a call. If in doubt, choose the more restrictive one. Tools that declare none are treated as dangerous.',
  },
  reads: {
    wire: 'reads',
    kind: 'flowLabels',
    about:
      "The kinds of content in a result: the user's own data (private), or text that someone else may have written (untrusted). An empty list means neither. If omitted, the content is unknown.",
  },
  sends: {
    wire: 'sends',
    kind: 'flowTarget',
    about: 'Whether a call can send its arguments to anyone other than the user.',
  },
  requiresConsent: {
    wire: 'requires_consent',
    kind: 'flag',
    about: 'True if every call needs approval.',
    missing: false,
  },
  safetyLevel: {
    wire: 'safety_level',
    kind: 'safetyLevel',
    from: 'manifest',
    about: 'How much harm a wrong call can do. Never lowers the level implied by side_effects.',
  },
  timeoutMs: {
    wire: 'default_timeout',
    kind: 'wholeSeconds',
    about: 'The timeout of a call in whole seconds; 0 means the default.',
  },
  auth: {
    wire: 'auth',
    kind: 'auth',
    about: 'The credentials that the tool needs.',
  },
  idempotencyKey: {
    wire: 'idempotency_key',
    kind: 'idempotency',
    about: 'True if repeating a call with the same idempotency key has no further effect.',
  },
  aliases: {
    wire: 'aliases',
    kind: 'names',
    about: 'Alternative names for the tool.',
    missing: [],
  },
  keywords: {
    wire: 'keywords',
    kind: 'labels',
    missing: [],
    about: 'Words and phrases that are likely to appear in requests for this tool.',
  },
  mandatoryKeywords: {
    wire: 'mandatory_keywords',
    kind: 'labels',
    missing: [],
    about: 'Words and phrases that guarantee the tool is selected when a request contains them.',
  },
  stages: {
    wire: 'stages',
    kind: 'labels',
    missing: [],
    about: 'The phases of work in which the tool is useful.',
  },
  taskTypes: {
    wire: 'task_types',
    kind: 'labels',
    missing: [],
    about: 'The kinds of tasks that the tool is useful for.',
  },
  capabilities: {
    wire: 'capabilities',
    kind: 'tags',
    about: 'Tags that describe what the tool is good for.',
    missing: [],
  },
  progressParams: {
    wire: 'progress_params',
    kind: 'words',
    missing: [],
    about: 'Input fields that show progress. Calls with the same values are treated as a loop.',
  },
  examples: {
    wire: 'examples',
    kind: 'requests',
    about: 'Example requests, phrased as a user would phrase them.',
    missing: [],
  },
  invalidates: {
    wire: 'invalidates',
    kind: 'words',
    about: 'Tools and categories whose cached results become stale after a call.',
    missing: [],
  },
  cacheTtlMs: {
    wire: 'cache_ttl',
    kind: 'seconds',
    about: "How long a readonly tool's result can be reused, in seconds.",
  },
  maxResultBytes: {
    wire: 'max_result_bytes',
    kind: 'bytes',
    about:
      'The maximum size of a result shown to models, in bytes (at least 1024). Models see the start, the end and the size of longer results.',
  },
  personaAllowlist: {
    wire: 'persona_allowlist',
    kind: 'personas',
    about: 'The personas that can call the tool. All if omitted, none if empty.',
  },
  providers: {
    wire: 'providers',
    kind: 'providers',
    missing: [],
    about: 'Services that can answer calls, tried in ascending order of priority.',
  },
  manual: {
    wire: 'manual',
    kind: 'flag',
    about: 'True if a user or another program answers the calls.',
    missing: false,
  },
  compact: {
    wire: 'compact',
    kind: 'flag',
    about: 'True if the model gets only a one-line summary and has to request the full definition.',
    missing: false,
  },
  handlerRef: {
    wire: 'handler_ref',
    kind: 'text',
    about: "The name of the function that runs the tool. Defaults to the tool's name.",
  },
  dangerFor: { wire: 'danger_for', kind: 'function', about: 'The danger of one call.' },
  preview: {
    wire: 'preview',
    kind: 'function',
    about: 'Returns a preview of one call, shown to the user before approval.',
  },
  cacheKey: {
    wire: 'cache_key',
    kind: 'function',
    about: 'Returns the part of the context that a cached result depends on.',
  },
  canonicalInput: {
    wire: 'canonical_input',
    kind: 'function',
    about: 'Returns the canonical form of an input.',
  },
  conflictKeys: {
    wire: 'conflict_keys',
    kind: 'function',
    about: 'Returns the keys of the resources that one call touches.',
  },
  available: {
    wire: 'available',
    kind: 'function',
    about: 'True if the tool can be used at the moment.',
  },
  strict: {
    wire: 'strict',
    kind: 'flag',
    from: 'manifest',
    about: 'Asks models to follow the parameter schema exactly. Passed through.',
  },
  requiresFlags: {
    wire: 'requires_flags',
    kind: 'flags',
    from: 'manifest',
    about:
      'The flags that must be set in the context of a call: a list, or an object that lists them for each operation. Operations are the values of the one input field whose enum includes all of them. Calls without these flags are denied.',
  },
  policyFlags: {
    wire: 'policy_flags',
    kind: 'any',
    from: 'manifest',
    about: "Facts for your application's own policies. Passed through.",
  },
  quotaHints: {
    wire: 'quota_hints',
    kind: 'any',
    from: 'manifest',
    about: 'Quotas that the tool respects. Passed through.',
  },
  returns: {
    wire: 'returns',
    kind: 'any',
    from: 'manifest',
    about: 'The format of the result. Passed through.',
  },
  skillBindings: {
    wire: 'skill_bindings',
    kind: 'any',
    from: 'manifest',
    about: 'Skills that use the tool. Passed through.',
  },
  idempotencyGuidance: {
    wire: 'idempotency_guidance',
    kind: 'any',
    from: 'manifest',
    about: 'Advice on repeating calls. Passed through.',
  },
  notes: {
    wire: 'notes',
    kind: 'any',
    from: 'manifest',
    about: 'A note for people who read the file. Passed through.',
  },
  metadata: {
    wire: 'metadata',
    kind: 'object',
    about: 'Any other data. Passed through.',
  },
} as const satisfies Readonly<Record<keyof ToolOptions, ToolField>> &
  Readonly<Record<string, ToolField>>;

type Rows = typeof TOOL_FIELDS;
export type FieldName = keyof Rows;
/** The keys of manifests: all options except functions. */
export type ManifestField = {
  [Name in FieldName]: Rows[Name]['kind'] extends 'function' ? never : Name;
}[FieldName];
/** The names of fields outside the process. */
export type WireName = Rows[FieldName]['wire'];
/** The tool options whose values have one of these kinds. */
export type OptionOfKind<Kind extends FieldKind> = {
  [Name in keyof ToolOptions]-?: Rows[Name]['kind'] extends Kind ? Name : never;
}[keyof ToolOptions];
/** The options that have a value in every entry. */
export type OptionWithDefault = {
  [Name in keyof ToolOptions]-?: Rows[Name] extends { readonly missing: unknown } ? Name : never;
}[keyof ToolOptions];

const ROWS = Object.entries<ToolField>(TOOL_FIELDS) as readonly (readonly [FieldName, ToolField])[];

/** The fields of manifests, in order. */
export const MANIFEST_FIELDS = ROWS.filter(([, { kind }]) => kind !== 'function');

/** Returns the tool options whose values have one of the given kinds, in order. */
export function optionsOfKind<Kind extends FieldKind>(
  ...kinds: readonly Kind[]
): readonly OptionOfKind<Kind>[] {
  return ROWS.filter(
    ([, { kind, from }]) => from === undefined && (kinds as readonly string[]).includes(kind),
  ).map(([name]) => name as OptionOfKind<Kind>);
}

/** The options whose values are functions. All other options, except schemas, are plain data. */
export const FUNCTION_OPTIONS = optionsOfKind('function');
export const SCHEMA_OPTIONS = optionsOfKind('input', 'output');
export type SchemaOption = (typeof SCHEMA_OPTIONS)[number];
/** The default values of options. */
export const DEFAULTS = Object.fromEntries(
  ROWS.flatMap(([name, { missing }]) => (missing === undefined ? [] : [[name, missing] as const])),
);

export const SAFETY_LEVELS = ['low', 'medium', 'high'] as const;
