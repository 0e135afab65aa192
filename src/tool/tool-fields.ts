import { AccessMode, CostTier, DangerLevel, ExecutionCategory, SideEffect } from '../core/enums.js';
import { PRIORITY_NAMES } from '../core/enum-order.js';
import { FLOW_LABELS, FLOW_TARGETS } from '../core/flow.js';
import type { ToolOptions } from './tool-options.js';

/** The kind of a field's value. Each target has one rule per kind for checking, reading, writing or showing it. */
export type FieldKind =
  | 'name' | 'names' | 'description' | 'text' | 'sentence' | 'requests' | 'version' | 'label' | 'labels' | 'words' | 'tags' | 'personas'
  | 'flag' | 'wholeSeconds' | 'seconds' | 'amount' | 'bytes' | 'object' | 'input' | 'output' | 'function'
  | 'priority' | 'accessMode' | 'dangerLevel' | 'executionCategory' | 'costTier' | 'safetyLevel' | 'sideEffects' | 'flowLabels' | 'flowTarget'
  | 'idempotency' | 'auth' | 'providers' | 'any' | 'flags' | 'fact' | 'owner' | 'axes' | 'authStatus' | 'health' | 'compatibility'; // prettier-ignore

/**
 * A place that shows a field. A `model` reads it, and it's a key of a `manifest`. HTTP shows it in a `list`, or only in the
 * `detail` of a tool. The command line has it as a `column`, or when it should `show` a tool. The page reads it for each
 * `row`, filters by the `axis`, or lists it among the `facts` of a tool. A tool's stored form (`toolToJson`) has all declared
 * data, so a field without targets is only there.
 */
export type FieldTarget =
  'model' | 'manifest' | 'list' | 'detail' | 'column' | 'show' | 'row' | 'axis' | 'facts';

/** A condition by which HTTP and the command line filter. */
export interface FieldCondition {
  /** The HTTP parameter, and the name of the axis on the page. */
  readonly param: string;
  /** The condition of a `ToolFilter`, or of the catalogue's own query. */
  readonly condition: string;
  readonly of?: 'query';
  /** The command line option. It filters only by conditions of a `ToolFilter`. */
  readonly flag?: string;
  readonly about: string;
}

export interface ToolField {
  /** The name outside the process: snake_case, with times in seconds. */
  readonly wire: string;
  readonly kind: FieldKind;
  /** The origin of a value that isn't an option of a tool: the resolved entry, the catalogue, or the manifest. */
  readonly from?: 'entry' | 'catalogue' | 'manifest';
  readonly on: readonly FieldTarget[];
  /** The meaning of the field, for authors of manifests. */
  readonly about: string;
  /** The field's name on the command line and the page. */
  readonly label?: string;
  /** The words for true and false. An empty word isn't shown. */
  readonly words?: readonly [string, string];
  /** The value of an entry whose author declared none. */
  readonly missing?: readonly never[] | false;
  /** Marks a value that is only true at the moment it's read. All other values change only with the registry. */
  readonly live?: true;
  /** Filters by any of several values, or by all of them. */
  readonly filter?: FieldCondition & { readonly all?: true };
  /** Filters by a maximum value. */
  readonly most?: FieldCondition;
}

const CARRIED = ['manifest'] as const;
const SAID = [...CARRIED, 'list'] as const;
const SEARCHED = [...SAID, 'show', 'row', 'axis', 'facts'] as const;
const AXIS = [...SEARCHED, 'column'] as const;

/**
 * Every field of a tool, by its name inside the process. Manifests, HTTP, the command line, the page, and stored tools
 * all use this list. To add a field, add a row here and its type in `ToolOptions`.
 */
export const TOOL_FIELDS = {
  name: {
    wire: 'name',
    kind: 'name',
    on: ['model', 'manifest', 'list', 'column', 'row'],
    label: 'tool',
    about: 'The name that models and programs call the tool by; unique in its file.',
    filter: { param: 'name', condition: 'name', about: "The tool's own name" },
  },
  owner: {
    wire: 'persona',
    kind: 'owner',
    from: 'catalogue',
    on: ['list', 'row'],
    about: 'The persona that owns the tool; null for a shared tool.',
  },
  description: {
    wire: 'description',
    kind: 'description',
    on: ['model', 'manifest', 'list', 'row'],
    about: 'A description of the tool, for the model that chooses it.',
  },
  inputSchema: {
    wire: 'parameters',
    kind: 'input',
    on: ['model', 'manifest', 'detail'],
    about:
      'JSON Schema of the tool\'s input. May be missing only for a tool with a provider named "mcp".',
  },
  outputSchema: {
    wire: 'output_schema',
    kind: 'output',
    on: CARRIED,
    about: "JSON Schema of the tool's answer.",
  },
  summary: {
    wire: 'summary',
    kind: 'sentence',
    on: ['model', 'manifest', 'list'],
    about: 'The line that a model sees of a compact tool.',
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
      about: 'Version constraints such as `>=1.2` or `1.x || >=2`; a comma means and.',
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
  priority: {
    wire: 'priority',
    kind: 'priority',
    on: AXIS,
    label: 'priority',
    about: 'The priority of offering the tool to a model. The default is "medium".',
    filter: {
      param: 'priority',
      condition: 'priority',
      flag: 'priority',
      about: 'The priority of offering the tool',
    },
  },
  accessMode: {
    wire: 'access_mode',
    kind: 'accessMode',
    on: AXIS,
    label: 'access',
    about: 'The access of a call. If it is missing, it is inferred from side_effects.',
    filter: {
      param: 'access_mode',
      condition: 'accessMode',
      flag: 'access',
      about: 'The access of a call',
    },
  },
  dangerLevel: {
    wire: 'danger_level',
    kind: 'dangerLevel',
    on: AXIS,
    label: 'danger',
    about: 'The harm that a wrong call can do. From "high" on, calls need approval.',
    filter: {
      param: 'danger_level',
      condition: 'dangerLevel',
      flag: 'danger',
      about: 'The harm that a wrong call can do',
    },
    most: {
      param: 'max_danger',
      condition: 'maxDanger',
      flag: 'max-danger',
      about: 'The maximum danger level.',
    },
  },
  executionCategory: {
    wire: 'execution_category',
    kind: 'executionCategory',
    on: AXIS,
    label: 'execution',
    about: 'The kind of work, which decides the calls that can run in parallel.',
    filter: {
      param: 'execution_category',
      condition: 'executionCategory',
      flag: 'execution',
      about: 'The kind of work',
    },
  },
  costTier: {
    wire: 'cost_tier',
    kind: 'costTier',
    on: AXIS,
    label: 'cost',
    about: 'The approximate cost of a call. If it is missing, it is inferred.',
    filter: {
      param: 'cost_tier',
      condition: 'costTier',
      flag: 'cost',
      about: 'The approximate cost of a call',
    },
    most: {
      param: 'max_cost_tier',
      condition: 'maxCostTier',
      flag: 'max-cost',
      about: 'The maximum cost tier.',
    },
  },
  costPerCall: {
    wire: 'cost_per_call',
    kind: 'amount',
    on: ['manifest', 'list', 'facts'],
    about: 'The cost of one call, in cost_unit.',
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
    about: 'True if two calls of this tool may run at the same time.',
  },
  sideEffects: {
    wire: 'side_effects',
    kind: 'sideEffects',
    on: SEARCHED,
    label: 'side effects',
    missing: [],
    about:
      'The strongest thing that a call touches. When in doubt, the more restrictive one. What is not declared counts as dangerous.',
    filter: {
      param: 'side_effects',
      condition: 'sideEffect',
      of: 'query',
      about: 'A thing that a call touches',
    },
  },
  reads: {
    wire: 'reads',
    kind: 'flowLabels',
    on: ['manifest', 'list', 'show', 'facts'],
    label: 'reads',
    about:
      "The kinds of content in a result: the user's own data (private), or text that someone else may have written (untrusted). An empty list means neither, and a missing one means unknown.",
  },
  sends: {
    wire: 'sends',
    kind: 'flowTarget',
    on: ['manifest', 'list', 'show', 'facts'],
    label: 'sends',
    about: 'Says if a call sends its arguments to anyone but the user.',
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
    about: 'The harm that a wrong call can do. It never lowers what side_effects imply.',
    filter: {
      param: 'safety_level',
      condition: 'safetyLevel',
      of: 'query',
      about: 'The declared safety level, or the one that follows from the danger level',
    },
  },
  timeoutMs: {
    wire: 'default_timeout',
    kind: 'wholeSeconds',
    on: ['manifest', 'list', 'show', 'facts'],
    about: 'The time limit of a call in whole seconds; 0 for the default.',
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
    about: 'The scopes of `auth`, each once.',
    label: 'scopes',
  },
  idempotencyKey: {
    wire: 'idempotency_key',
    kind: 'idempotency',
    on: SAID,
    about: 'True if repeated calls with the same idempotency key have one effect.',
  },
  aliases: {
    wire: 'aliases',
    kind: 'names',
    on: ['manifest', 'detail', 'show', 'facts'],
    about: 'Other names of the tool.',
    label: 'aliases',
    missing: [],
  },
  keywords: {
    wire: 'keywords',
    kind: 'labels',
    on: SEARCHED,
    label: 'keywords',
    missing: [],
    about: 'Words and phrases in requests that this tool answers.',
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
    about: "Words and phrases that guarantee the tool's place when a request contains them.",
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
    about: 'Tags that say what the tool is good for.',
    missing: [],
  },
  capabilityTags: {
    wire: 'capability_tags',
    kind: 'labels',
    from: 'catalogue',
    on: ['list', 'row', 'axis', 'facts'],
    label: 'capabilities',
    about: 'The capability tags, trimmed and in lower case.',
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
    about: 'Input fields that show progress: calls with the same values are a loop.',
  },
  examples: {
    wire: 'examples',
    kind: 'requests',
    on: ['manifest', 'detail', 'show'],
    about: 'Example requests in the words of a user.',
    label: 'examples',
    missing: [],
  },
  invalidates: {
    wire: 'invalidates',
    kind: 'words',
    on: ['manifest', 'detail'],
    about: 'Tools and categories whose cached results a call makes stale.',
    missing: [],
  },
  cacheTtlMs: {
    wire: 'cache_ttl',
    kind: 'seconds',
    on: ['manifest', 'detail'],
    about: 'The seconds for which an answer of a readonly tool may be reused.',
  },
  maxResultBytes: {
    wire: 'max_result_bytes',
    kind: 'bytes',
    on: ['manifest', 'detail', 'show', 'facts'],
    label: 'result shown',
    about:
      'Bytes of text that models read of a result, from 1024; beyond it they read the beginning, the end and the size.',
  },
  personaAllowlist: {
    wire: 'persona_allowlist',
    kind: 'personas',
    on: ['manifest', 'list', 'row', 'show', 'facts'],
    label: 'only for',
    about: 'The personas that may call the tool: all if missing, none if empty.',
  },
  providers: {
    wire: 'providers',
    kind: 'providers',
    on: ['manifest', 'list', 'row', 'axis', 'show'],
    label: 'providers',
    missing: [],
    about: 'Services that can answer the calls, tried in ascending priority.',
    filter: {
      param: 'provider',
      condition: 'provider',
      of: 'query',
      about: 'A service that answers the calls',
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
    about: 'True if the model sees one line of the tool and asks for the rest.',
    missing: false,
  },
  handlerRef: {
    wire: 'handler_ref',
    kind: 'text',
    on: CARRIED,
    about: 'The name of the function that runs the tool. The default is its own name.',
  },
  dangerFor: { wire: 'danger_for', kind: 'function', on: [], about: 'The danger of one call.' },
  preview: {
    wire: 'preview',
    kind: 'function',
    on: [],
    about: 'A preview of one call, shown before it is approved.',
  },
  cacheKey: {
    wire: 'cache_key',
    kind: 'function',
    on: [],
    about: 'The part of the context that a cached answer depends on.',
  },
  canonicalInput: {
    wire: 'canonical_input',
    kind: 'function',
    on: [],
    about: 'The canonical form of an input.',
  },
  conflictKeys: {
    wire: 'conflict_keys',
    kind: 'function',
    on: [],
    about: 'The things that one call touches.',
  },
  inferred: {
    wire: 'inferred',
    kind: 'axes',
    from: 'entry',
    on: ['list'],
    about: 'The axes that were inferred, not declared.',
  },
  source: {
    wire: 'source',
    kind: 'fact',
    from: 'catalogue',
    on: ['list', 'facts'],
    about: 'The file or source that declares the tool.',
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
    about: 'True if the tool can be used now.',
    label: 'availability',
    words: ['available', 'unavailable'],
    live: true,
  },
  authStatus: {
    wire: 'auth_status',
    kind: 'authStatus',
    from: 'catalogue',
    on: ['list', 'facts'],
    about: 'Says if the credentials are set.',
    label: 'credentials',
    live: true,
  },
  health: {
    wire: 'health',
    kind: 'health',
    from: 'catalogue',
    on: ['list', 'row', 'axis'],
    about: 'The results of the last calls.',
    label: 'health',
    live: true,
  },
  compatibility: {
    wire: 'compatibility',
    kind: 'compatibility',
    from: 'catalogue',
    on: ['list'],
    about: 'Says if the requesting persona may use the tool, and why.',
    live: true,
  },
  strict: {
    wire: 'strict',
    kind: 'flag',
    from: 'manifest',
    on: CARRIED,
    about: 'Asks models to follow the parameters exactly. Passed through.',
  },
  requiresFlags: {
    wire: 'requires_flags',
    kind: 'flags',
    from: 'manifest',
    on: ['manifest', 'detail', 'show', 'facts'],
    label: 'needs flags',
    about:
      'The flags that the context of a call must have: a list, or one for each operation: a value of the one input field whose enum has all of them. Calls without them are denied.',
  },
  policyFlags: {
    wire: 'policy_flags',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: 'Facts for the policies of your application. Passed through.',
  },
  quotaHints: {
    wire: 'quota_hints',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: 'Limits that the tool observes. Passed through.',
  },
  returns: {
    wire: 'returns',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: 'The form of the answer. Passed through.',
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
    about: 'Advice for repeating a call. Passed through.',
  },
  notes: {
    wire: 'notes',
    kind: 'any',
    from: 'manifest',
    on: CARRIED,
    about: 'A note for readers of the file. Passed through.',
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
/** The fields that a target shows. */
export type FieldOn<Target extends FieldTarget> = {
  [Name in FieldName]: Target extends Rows[Name]['on'][number] ? Name : never;
}[FieldName];
/** The tool options whose values have one of these kinds. */
export type OptionOfKind<Kind extends FieldKind> = {
  [Name in keyof ToolOptions]-?: Rows[Name]['kind'] extends Kind ? Name : never;
}[keyof ToolOptions];
/** The options for which every entry has a value. */
export type OptionWithDefault = {
  [Name in keyof ToolOptions]-?: Rows[Name] extends { readonly missing: unknown } ? Name : never;
}[keyof ToolOptions];

const ROWS = Object.entries<ToolField>(TOOL_FIELDS) as readonly (readonly [FieldName, ToolField])[];

/** Returns the fields that a target shows, in order. */
export function fieldsOn(target: FieldTarget): readonly (readonly [FieldName, ToolField])[] {
  return ROWS.filter(([, { on }]) => on.includes(target));
}

/** Returns the tool options whose values have one of these kinds, in order. */
export function optionsOfKind<Kind extends FieldKind>(
  ...kinds: readonly Kind[]
): readonly OptionOfKind<Kind>[] {
  return ROWS.filter(
    ([, { kind, from }]) => from === undefined && (kinds as readonly string[]).includes(kind),
  ).map(([name]) => name as OptionOfKind<Kind>);
}

/** The options that hold functions. All others, except the schemas, are plain data. */
export const FUNCTION_OPTIONS = optionsOfKind('function');
export const SCHEMA_OPTIONS = optionsOfKind('input', 'output');
export type SchemaOption = (typeof SCHEMA_OPTIONS)[number];
/** The default values of options. */
export const DEFAULTS = Object.fromEntries(
  ROWS.flatMap(([name, { missing }]) => (missing === undefined ? [] : [[name, missing] as const])),
);

export const SAFETY_LEVELS = ['low', 'medium', 'high'] as const;

/** The values of each kind with a fixed set of values, as they're written outside the process, in ascending order. */
const VALUES_OF_KIND = {
  priority: PRIORITY_NAMES,
  accessMode: Object.values(AccessMode),
  dangerLevel: Object.values(DangerLevel),
  executionCategory: Object.values(ExecutionCategory),
  costTier: Object.values(CostTier),
  sideEffects: Object.values(SideEffect),
  flowLabels: FLOW_LABELS,
  flowTarget: FLOW_TARGETS,
  safetyLevel: SAFETY_LEVELS,
} satisfies { readonly [Kind in FieldKind]?: readonly string[] };

/** Returns the values of a kind that has a fixed set of values. */
export function valuesOf(kind: FieldKind): readonly string[] | undefined {
  return (VALUES_OF_KIND as { readonly [Kind in FieldKind]?: readonly string[] })[kind];
}
