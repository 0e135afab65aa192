import { toolHealthWire } from '../capability/capability-summary.js';
import type { CapabilityTool } from '../capability/state/capability-items.js';
import { PRIORITY_NAMES } from '../core/enum-order.js';
import type { Priority } from '../core/enums.js';
import { isPlainObject } from '../core/plain-data.js';
import { derivedSetsOf, requiresApproval } from '../registry/derived-sets.js';
import { requiredFlags } from '../safety/required-flags.js';
import { estimateTokens, renderTool, SCHEMA_LEVELS } from '../tool/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { AXES, AXIS_NAMES } from '../tool/axes.js';
import { TOOL_FIELDS, type FieldKind, type ToolField, type WireName } from '../tool/tool-fields.js';
import type { ToolAuth, ToolProvider } from '../tool/tool-options.js';

/** The fields that a tool's entry lacks or has in another form. `undefined` becomes `null`. */
const READ = {
  persona: ({ owner }) => owner,
  parameters: ({ entry }) => entry.inputJsonSchema,
  cost_unit: ({ manifest }) => manifest?.cost_unit,
  requires_approval: ({ entry }) => requiresApproval(entry),
  safety_level: ({ safetyLevel }) => safetyLevel,
  auth_scopes: ({ authScopes }) => authScopes,
  idempotency_key: ({ entry, manifest }) =>
    picked(manifest?.idempotency_key, ['required', 'scope', 'guidance']) ??
    entry.idempotencyKey ??
    false,
  requires_flags: ({ entry }) => requiredFlags(entry),
  capability_tags: ({ capabilityTags }) => capabilityTags,
  inferred: ({ entry }) => entry.inferred.map((axis) => TOOL_FIELDS[axis].wire),
  source: ({ source }) => source,
  digest: ({ entry }) => entry.digest,
  available: ({ available }) => available,
  auth_status: ({ authStatus }) => authStatus,
  health: ({ health }) => toolHealthWire(health),
  compatibility: () => null,
} satisfies Readonly<Record<string, (tool: CapabilityTool) => unknown>>;

/** The name of a field in responses. */
export type WireField = WireName | keyof typeof READ;

/** The fields of a tool in a list. */
export const LIST_FIELDS: readonly WireField[] = [
  'name',
  'persona',
  'description',
  'summary',
  'version',
  'category',
  ...AXIS_NAMES.map((name) => AXES[name].wire),
  'cost_per_call',
  'cost_unit',
  'allow_parallel',
  'side_effects',
  'reads',
  'sends',
  'requires_consent',
  'requires_approval',
  'safety_level',
  'default_timeout',
  'auth',
  'auth_scopes',
  'idempotency_key',
  'keywords',
  'mandatory_keywords',
  'stages',
  'task_types',
  'capabilities',
  'capability_tags',
  'persona_allowlist',
  'providers',
  'manual',
  'compact',
  'inferred',
  'source',
  'digest',
  'available',
  'auth_status',
  'health',
  'compatibility',
];

/** The fields of a tool that only `/tools/:name` has. */
export const DETAIL_FIELDS: readonly WireField[] = [
  'parameters',
  'aliases',
  'progress_params',
  'examples',
  'invalidates',
  'cache_ttl',
  'max_result_bytes',
  'requires_flags',
];

const inSeconds = (milliseconds: unknown) =>
  milliseconds === undefined ? undefined : (milliseconds as number) / 1_000;

/**
 * Functions that format values as in manifests, by the kind of value.
 *
 * Responses contain the names of environment variables, but no provider configurations, because a
 * configuration may contain credentials.
 */
const FORMS: { readonly [Kind in FieldKind]?: (value: unknown) => unknown } = {
  wholeSeconds: inSeconds,
  seconds: inSeconds,
  priority: (priority) => PRIORITY_NAMES[priority as Priority],
  sideEffects: (value) => {
    const effects = value as readonly string[];
    return effects.length < 2 ? effects[0] : effects;
  },
  auth: (value) => {
    const {
      required = false,
      type = null,
      scopes = [],
      env = {},
      docs = null,
    } = (value as ToolAuth | undefined) ?? {};
    return { required, type, scopes, envs: { ...env }, docs };
  },
  providers: (value) =>
    (value as readonly ToolProvider[]).map(({ name, priority = 100, healthCheckIntervalMs }) => ({
      name,
      priority,
      health_check_interval: inSeconds(healthCheckIntervalMs) ?? null,
    })),
};

/** The function that returns each field's value as clients receive it. */
const VALUES: Readonly<Record<string, (tool: CapabilityTool) => unknown>> = {
  ...Object.fromEntries(
    Object.entries<ToolField>(TOOL_FIELDS).map(([name, { wire, kind }]) => {
      const form = FORMS[kind] ?? ((value: unknown) => value);
      return [wire, ({ entry }: CapabilityTool) => form(entry[name as keyof ToolEntry])];
    }),
  ),
  ...READ,
};

/** Returns a field's value as clients receive it. */
export const valueOf = (tool: CapabilityTool, field: WireField) => VALUES[field]!(tool) ?? null;

type Fields = Readonly<Record<string, unknown>>;

/** The fields of each tool that only a new revision can change. */
const fixed = new WeakMap<CapabilityTool, Fields>();

/**
 * Returns a tool as shown in lists. @param compatibility Whether the requesting personas may use
 * the tool.
 */
export function wireTool(tool: CapabilityTool, compatibility: unknown): Fields {
  let same = fixed.get(tool);
  if (same === undefined) fixed.set(tool, (same = written(tool, LIST_FIELDS)));
  const { available, authStatus, health } = tool;
  return {
    ...same,
    available,
    auth_status: authStatus,
    health: toolHealthWire(health),
    compatibility,
  };
}

/**
 * Returns the fields that only `/tools/:name` has: the input, recent calls, and facts derived from
 * the declarations.
 */
export function wireDetail(tool: CapabilityTool): Fields {
  const { entry, health, samples } = tool;
  const { tool: whole, providers, ...rest } = toolHealthWire(health);
  const withSamples = Object.entries(providers).map(([label, each]) => [
    label,
    { ...each, samples: samplesWire(samples.providers[label] ?? []) },
  ]);
  return {
    ...written(tool, DETAIL_FIELDS),
    health: {
      tool: { ...whole, samples: samplesWire(samples.tool) },
      providers: Object.fromEntries(withSamples) as unknown,
      ...rest,
    },
    derived_sets: derivedSetsOf(entry),
    shown_to_models: SCHEMA_LEVELS.map((level) => {
      const shown = renderTool(entry, level);
      return { level, tokens: estimateTokens(JSON.stringify(shown)), shown };
    }),
  };
}

function written(tool: CapabilityTool, fields: readonly WireField[]): Fields {
  return Object.fromEntries(fields.map((field) => [field, valueOf(tool, field)]));
}

function samplesWire(samples: CapabilityTool['samples']['tool']) {
  return samples.map(({ at, success, latencyMs }) => ({
    at: at / 1_000,
    success,
    latency_ms: latencyMs,
  }));
}

/**
 * Returns only the listed fields of an object, because other fields in a manifest may contain
 * credentials. Returns any other value unchanged.
 */
export function picked(value: unknown, fields: readonly string[]): unknown {
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    fields.filter((field) => Object.hasOwn(value, field)).map((field) => [field, value[field]]),
  );
}
