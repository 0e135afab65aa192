import { SideEffect } from '../core/enums.js';
import { PRIORITY_NAMES } from '../core/enum-order.js';
import { FLOW_LABELS, FLOW_TARGETS } from '../core/flow.js';
import { AXES, mapAxes, type AxisName, type FieldCondition } from './axes.js';
import type { ToolOptions } from './tool-options.js';

/** The kind of a field's value. Each target has one rule per kind. */
export type FieldKind =
  | 'name' | 'names' | 'description' | 'text' | 'sentence' | 'requests' | 'version' | 'label' | 'labels' | 'words' | 'tags' | 'personas'
  | 'flag' | 'wholeSeconds' | 'seconds' | 'amount' | 'bytes' | 'object' | 'input' | 'output' | 'function'
  | AxisName | 'safetyLevel' | 'sideEffects' | 'flowLabels' | 'flowTarget'
  | 'idempotency' | 'auth' | 'providers' | 'any' | 'flags' | 'fact' | 'owner' | 'axes' | 'authStatus' | 'health' | 'compatibility'; // prettier-ignore

/**
 * A place where a field appears. Models read `model` fields. Manifests have `manifest` fields. HTTP returns `list`
 * and `detail` fields. The command line prints `column` and `show` fields. The page uses `row`, `axis` and `facts`
 * fields. Stored tools (`toolToJson`) have all declared fields.
 */
export type FieldTarget =
  'model' | 'manifest' | 'list' | 'detail' | 'column' | 'show' | 'row' | 'axis' | 'facts';

export interface ToolField {
  /** The name outside the process: snake_case, with times in seconds. */
  readonly wire: string;
  readonly kind: FieldKind;
  /** The origin of a value that isn't a tool option. */
  readonly from?: 'entry' | 'catalogue' | 'manifest';
  readonly on: readonly FieldTarget[];
  /** The meaning of the field, written for manifest authors. */
  readonly about: string;
  /** The field's name on the command line and the page. */
  readonly label?: string;
  /** The texts shown for true and false. If the text is empty, nothing is shown. */
  readonly words?: readonly [string, string];
  /** The default if the author didn't declare a value. */
  readonly missing?: readonly never[] | false;
  /** Marks a value that can change at any time. All other values change only with the registry. */
  readonly live?: true;
  /**
   * Filters by several values. A tool must have at least one of the values, or all values if `all`
   * is true.
   */
  readonly filter?: FieldCondition & { readonly all?: true };
  /** Filters by a maximum value. */
  readonly most?: FieldCondition;
}

const CARRIED = ['manifest'] as const;
const SAID = [...CARRIED, 'list'] as const;
const SEARCHED = [...SAID, 'show', 'row', 'axis', 'facts'] as const;
const AXIS = [...SEARCHED, 'column'] as const;

/**
 * All fields of a tool, keyed by their internal names. Manifests, HTTP, the command line, the page,
 * and stored tools all use this list. To add a field, add a row here and its type in `ToolOptions`.
 */
export const TOOL_FIELDS = {
  name: {
    wire: 'name',
    kind: 'name',
    on: ['model', 'manifest', 'list', 'column', 'row'],
    label: 'tool',
    about: 'The name used to call the tool. Must be unique within its file.',
    filter: { param: 'name', condition: 'name', about: "The tool's own name" },
  },
  owner: {
    wire: 'persona',
    kind: 'owner',
    from: 'catalogue',
    on: ['list', 'row'],
    about: 'The persona that owns the tool, or null for a shared tool.',
  },
  description: {
    wire: 'description',
    kind: 'description',
    on: ['model', 'manifest', 'list', 'row'],
    about: 'What the tool does, for the model that selects tools.',
  },
  inputSchema: {
    wire: 'parameters',
    kind: 'input',
    on: ['model', 'manifest', 'detail'],
    about:
      'JSON Schema of the tool\'s input. Required unless one of the tool\'s providers is named "mcp".',
  },
  outputSchema: {
    wire: 'output_schema',
    kind: 'output',
    on: CARRIED,
    about: "JSON Schema of the tool's result.",
  },
  summary: {
    wire: 'summary',
    kind: 'sentence',
    on: ['model', 'manifest', 'list'],
    about: 'A one-line description, which is all that models see of a compact tool.',
  },
  version: {
    wire: 'version',
    kind: 'version',
    on: ['manifest', 'list', 'row'],
    about: 'The semantic version of the tool, such as "1.2.0".',
    filter: {
      param: 'version',
      condition: 'version',
      of: 'query',
      about: 'Version constraints such as `>=1.2` or `1.x || >=2`; a comma means "and".',
    },
  },
  category: {
    wire: 'category',
    kind: 'label',
    on: AXIS,
    label: 'category',
    about: 'The group that the tool belongs to.',
    filter: {
      param: 'category',
      condition: 'category',
      flag: 'category',
      about: 'The group of tools',
    },
  },
  ...AXES,
  costPerCall: {
    wire: 'cost_per_call',
    kind: 'amount',
    on: ['manifest', 'list', 'facts'],
    about: 'The cost of one call, measured in cost_unit.',
    label: 'cost of a call',
  },
  costUnit: {
    wire: 'cost_unit',
    kind: 'text',
    from: 'manifest',
    on: SAID,
    about: 'The currency or unit of cost_per_call, such as "USD".',
  },
  allowParallel: {
    wire: 'allow_parallel',
    kind: 'flag',
    on: ['manifest', 'list', 'show', 'facts'],
    label: 'parallel',
    words: ['several calls at a time', 'one call at a time'],
    about: 'True if two calls to this tool can run at the same time.',
  },
  sideEffects: {
    wire: 'side_effects',
    kind: 'sideEffects',
    on: SEARCHED,
    label: 'side effects',
    missing: [],
    about:
      'The strongest side effect of a call. If in doubt, choose the more restrictive one. Tools that declare none are treated as dangerous.',
    filter: {
      param: 'side_effects',
      condition: 'sideEffect',
      of: 'query',
      about: 'A side effect of a call',
    },
  },
  reads: {
    wire: 'reads',
    kind: 'flowLabels',
    on: ['manifest', 'list', 'show', 'facts'],
    label: 'reads',
    about:
      "The kinds of content in a result: the user's own data (private), or text that someone else may have written (untrusted). An empty list means neither. If omitted, the content is unknown.",
  },
  sends: {
    wire: 'sends',
    kind: 'flowTarget',
    on: ['manifest', 'list', 'show', 'facts'],
    label: 'sends',
    about: 'Whether a call can send its arguments to anyone other than the user.',
  },
  requiresConsent: {
    wire: 'requires_consent',
    kind: 'flag',
    on: [...SAID, 'show', 'facts'],
    label: 'consent',
    words: ['every call needs approval', ''],
    about: 'True if every call needs approval.',
    missing: false,
  },
  requiresApproval: {
    wire: 'requires_approval',
    kind: 'flag',
    from: 'catalogue',
    on: ['list', 'row', 'axis', 'facts'],
    label: 'approval',
    words: ['needs approval', 'runs without approval'],
    about: 'True if the tool writes, is dangerous or requires consent.',
  },
  safetyLevel: {
    wire: 'safety_level',
    kind: 'safetyLevel',
    from: 'manifest',
    on: ['manifest', 'list', 'row', 'axis', 'facts'],
    label: 'safety level',
    about: 'How much harm a wrong call can do. Never lowers the level implied by side_effects.',
    filter: {
      param: 'safety_level',
      condition: 'safetyLevel',
      of: 'query',
      about: 'The declared safety level, or the level derived from the danger level',
    },
  },
  timeoutMs: {
    wire: 'default_timeout',
    kind: 'wholeSeconds',
    on: ['manifest', 'list', 'show', 'facts'],
    about: 'The timeout of a call in whole seconds; 0 means the default.',
    label: 'timeout',
  },
  auth: {
    wire: 'auth',
    kind: 'auth',
    on: [...SAID, 'show'],
    label: 'credentials',
    about: 'The credentials that the tool needs.',
  },
  authScopes: {
    wire: 'auth_scopes',
    kind: 'labels',
    from: 'catalogue',
    on: ['list', 'facts'],
    about: 'The scopes in `auth`, without duplicates.',
    label: 'scopes',
  },
  idempotencyKey: {
    wire: 'idempotency_key',
    kind: 'idempotency',
    on: SAID,
    about: 'True if repeating a call with the same idempotency key has no further effect.',
  },
  aliases: {
    wire: 'aliases',
    kind: 'names',
    on: ['manifest', 'detail', 'show', 'facts'],
    about: 'Alternative names for the tool.',
    label: 'aliases',
    missing: [],
  },
  keywords: {
    wire: 'keywords',
    kind: 'labels',
    on: SEARCHED,
    label: 'keywords',
    missing: [],
    about: 'Words and phrases that are likely to appear in requests for this tool.',
    filter: {
      param: 'keyword',
      condition: 'keyword',
      flag: 'keyword',
      about: 'A declared keyword',
    },
  },
  mandatoryKeywords: {
    wire: 'mandatory_keywords',
    kind: 'labels',
    on: ['manifest', 'list', 'show'],
    label: 'mandatory',
    missing: [],
    about: 'Words and phrases that guarantee the tool is selected when a request contains them.',
  },
  stages: {
    wire: 'stages',
    kind: 'labels',
    on: SEARCHED,
    label: 'stages',
    missing: [],
    about: 'The phases of work in which the tool is useful.',
    filter: { param: 'stage', condition: 'stage', flag: 'stage', about: 'A phase of work' },
  },
  taskTypes: {
    wire: 'task_types',
    kind: 'labels',
    on: SEARCHED,
    label: 'task types',
    missing: [],
    about: 'The kinds of tasks that the tool is useful for.',
    filter: {
      param: 'task_type',
      condition: 'taskType',
      flag: 'task-type',
      about: 'A kind of task',
    },
  },
  capabilities: {
    wire: 'capabilities',
    kind: 'tags',
    on: [...SAID, 'show'],
    label: 'capabilities',
    about: 'Tags that describe what the tool is good for.',
    missing: [],
  },
  capabilityTags: {
    wire: 'capability_tags',
    kind: 'labels',
    from: 'catalogue',
    on: ['list', 'row', 'axis', 'facts'],
    label: 'capabilities',
    about: 'The capability tags, trimmed and lowercased.',
    filter: {
      param: 'capability',
      condition: 'capability',
      of: 'query',
      about: 'A capability tag',
      all: true,
    },
  },
  progressParams: {
    wire: 'progress_params',
    kind: 'words',
    on: ['manifest', 'detail', 'show'],
    label: 'progress by',
    missing: [],
    about: 'Input fields that show progress. Calls with the same values are treated as a loop.',
  },
  examples: {
    wire: 'examples',
    kind: 'requests',
    on: ['manifest', 'detail', 'show'],
    about: 'Example requests, phrased as a user would phrase them.',
    label: 'examples',
    missing: [],
  },
  invalidates: {
    wire: 'invalidates',
    kind: 'words',
    on: ['manifest', 'detail'],
    about: 'Tools and categories whose cached results become stale after a call.',
    missing: [],
  },
  cacheTtlMs: {
    wire: 'cache_ttl',
    kind: 'seconds',
    on: ['manifest', 'detail'],
    about: "How long a readonly tool's result can be reused, in seconds.",
  },
  maxResultBytes: {
    wire: 'max_result_bytes',
    kind: 'bytes',
    on: ['manifest', 'detail', 'show', 'facts'],
    label: 'result shown',
    about:
      'The maximum size of a result shown to models, in bytes (at least 1024). Models see the start, the end and the size of longer results.',
  },
  personaAllowlist: {
    wire: 'persona_allowlist',
    kind: 'personas',
    on: ['manifest', 'list', 'row', 'show', 'facts'],
    label: 'only for',
    about: 'The personas that can call the tool. All if omitted, none if empty.',
  },
  providers: {
    wire: 'providers',
    kind: 'providers',
    on: ['manifest', 'list', 'row', 'axis', 'show'],
    label: 'providers',
    missing: [],
    about: 'Services that can answer calls, tried in ascending order of priority.',
    filter: {
      param: 'provider',
      condition: 'provider',
      of: 'query',
      about: 'A service that can answer calls',
      all: true,
    },
  },
  manual: {
    wire: 'manual',
    kind: 'flag',
    on: SAID,
    about: 'True if a user or another program answers the calls.',
    missing: false,
  },
  compact: {
    wire: 'compact',
    kind: 'flag',
    on: SAID,
    about: 'True if the model gets only a one-line summary and has to request the full definition.',
    missing: false,
  },
  handlerRef: {
    wire: 'handler_ref',
    kind: 'text',
    on: CARRIED,
    about: "The name of the function that runs the tool. Defaults to the tool's name.",
  },
  dangerFor: { wire: 'danger_for', kind: 'function', on: [], about: 'The danger of one call.' },
  preview: {
    wire: 'preview',
    kind: 'function',
    on: [],
    about: 'Returns a preview of one call, shown to the user before approval.',
  },
  cacheKey: {
    wire: 'cache_key',
    kind: 'function',
    on: [],
    about: 'Returns the part of the context that a cached result depends on.',
  },
  canonicalInput: {
    wire: 'canonical_input',
    kind: 'function',
    on: [],
    about: 'Returns the canonical form of an input.',
  },
  conflictKeys: {
    wire: 'conflict_keys',
    kind: 'function',
    on: [],
    about: 'Returns the keys of the resources that one call touches.',
  },
  inferred: {
    wire: 'inferred',
    kind: 'axes',
    from: 'entry',
    on: ['list'],
    about: 'The axes whose values were inferred rather than declared.',
  },
  source: {
    wire: 'source',
    kind: 'fact',
    from: 'catalogue',
    on: ['list', 'facts'],
    about: 'The file or other source that declares the tool.',
    label: 'declared in',
  },
  digest: {
    wire: 'digest',
    kind: 'fact',
    from: 'entry',
    on: ['list', 'show', 'facts'],
    about: 'The SHA-256 of the definition, without its functions.',
    label: 'digest',
  },
  available: {
    wire: 'available',
    kind: 'function',
    on: ['list', 'show', 'row', 'axis', 'facts'],
    about: 'True if the tool can be used at the moment.',
    label: 'availability',
    words: ['available', 'unavailable'],
    live: true,
  },
  authStatus: {
    wire: 'auth_status',
    kind: 'authStatus',
    from: 'catalogue',
    on: ['list', 'facts'],
    about: 'Whether the credentials are set.',
    label: 'credentials',
    live: true,
  },
  health: {
    wire: 'health',
    kind: 'health',
    from: 'catalogue',
    on: ['list', 'row', 'axis'],
    about: 'The results of the most recent calls.',
    label: 'health',
    live: true,
  },
  compatibility: {
    wire: 'compatibility',
    kind: 'compatibility',
    from: 'catalogue',
    on: ['list'],
    about: 'Whether the requesting persona can use the tool, and why.',
    live: true,
  },
  strict: {
    wire: 'strict',
    kind: 'flag',
    from: 'manifest',
    on: CARRIED,
    about: 'Asks models to follow the parameter schema exactly. Passed through.',
  },
  requiresFlags: {
    wire: 'requires_flags',
    kind: 'flags',
    from: 'manifest',
    on: ['manifest', 'detail', 'show', 'facts'],
    label: 'needs flags',
    about:
      'The flags that must be set in the context of a call: a list, or an object that lists them for each operation. Operations are the values of the one input field whose enum includes all of them. Calls without these flags are denied.',
  },
  policyFlags: {
    wire: 'policy_flags',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: "Facts for your application's own policies. Passed through.",
  },
  quotaHints: {
    wire: 'quota_hints',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: 'Quotas that the tool respects. Passed through.',
  },
  returns: {
    wire: 'returns',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: 'The format of the result. Passed through.',
  },
  skillBindings: {
    wire: 'skill_bindings',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: 'Skills that use the tool. Passed through.',
  },
  idempotencyGuidance: {
    wire: 'idempotency_guidance',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: 'Advice on repeating calls. Passed through.',
  },
  notes: {
    wire: 'notes',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: 'A note for people who read the file. Passed through.',
  },
  metadata: {
    wire: 'metadata',
    kind: 'object',
    on: CARRIED,
    about: 'Any other data. Passed through.',
  },
} as const satisfies Readonly<Record<keyof ToolOptions, ToolField>> &
  Readonly<Record<string, ToolField>>;

type Rows = typeof TOOL_FIELDS;
export type FieldName = keyof Rows;
/** The fields that appear in a target. */
export type FieldOn<Target extends FieldTarget> = {
  [Name in FieldName]: Target extends Rows[Name]['on'][number] ? Name : never;
}[FieldName];
/** The tool options whose values have one of these kinds. */
export type OptionOfKind<Kind extends FieldKind> = {
  [Name in keyof ToolOptions]-?: Rows[Name]['kind'] extends Kind ? Name : never;
}[keyof ToolOptions];
/** The options that have a value in every entry. */
export type OptionWithDefault = {
  [Name in keyof ToolOptions]-?: Rows[Name] extends { readonly missing: unknown } ? Name : never;
}[keyof ToolOptions];

const ROWS = Object.entries<ToolField>(TOOL_FIELDS) as readonly (readonly [FieldName, ToolField])[];

/** Returns the fields that appear in a target, in order. */
export function fieldsOn(target: FieldTarget): readonly (readonly [FieldName, ToolField])[] {
  return ROWS.filter(([, { on }]) => on.includes(target));
}

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

/** The fixed values of each kind, in ascending order and in the form used outside the process. */
const VALUES_OF_KIND = {
  ...mapAxes<Record<AxisName, readonly string[]>>((name, { values }) =>
    name === 'priority' ? PRIORITY_NAMES : Object.values(values as Record<string, string>),
  ),
  sideEffects: Object.values(SideEffect),
  flowLabels: FLOW_LABELS,
  flowTarget: FLOW_TARGETS,
  safetyLevel: SAFETY_LEVELS,
} satisfies { readonly [Kind in FieldKind]?: readonly string[] };

/** Returns the values of a kind that has a fixed set of values. */
export function valuesOf(kind: FieldKind): readonly string[] | undefined {
  return (VALUES_OF_KIND as { readonly [Kind in FieldKind]?: readonly string[] })[kind];
}
