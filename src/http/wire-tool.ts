import { toolHealthWire } from '../capability/capability-summary.js';
import type { CapabilityTool } from '../capability/state/capability-items.js';
import { PRIORITY_NAMES } from '../core/enum-order.js';
import type { Priority } from '../core/enums.js';
import { isPlainObject } from '../core/plain-data.js';
import { derivedSetsOf, requiresApproval } from '../registry/derived-sets.js';
import { requiredFlags } from '../safety/required-flags.js';
import { estimateTokens, renderTool, SCHEMA_LEVELS } from '../tool/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { fieldsOn, TOOL_FIELDS, type FieldKind, type FieldName } from '../tool/tool-fields.js';
import type { ToolAuth, ToolProvider } from '../tool/tool-options.js';

/**
 * Functions for fields that a tool's entry lacks or has under another name. `undefined` becomes
 * `null`.
 */
const VALUES: { readonly [Name in FieldName]?: (tool: CapabilityTool) => unknown } = {
  owner: ({ owner }) => owner,
  inputSchema: ({ entry }) => entry.inputJsonSchema,
  costUnit: ({ manifest }) => manifest?.cost_unit,
  requiresApproval: ({ entry }) => requiresApproval(entry),
  safetyLevel: ({ safetyLevel }) => safetyLevel,
  authScopes: ({ authScopes }) => authScopes,
  idempotencyKey: ({ entry, manifest }) =>
    picked(manifest?.idempotency_key, ['required', 'scope', 'guidance']) ??
    entry.idempotencyKey ??
    false,
  requiresFlags: ({ entry }) => requiredFlags(entry),
  capabilityTags: ({ capabilityTags }) => capabilityTags,
  source: ({ source }) => source,
  available: ({ available }) => available,
  authStatus: ({ authStatus }) => authStatus,
  health: ({ health }) => toolHealthWire(health),
  compatibility: () => null,
};

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
  axes: (value) => (value as ToolEntry['inferred']).map((axis) => TOOL_FIELDS[axis].wire),
};

/** Returns a field's value as clients receive it. */
export function valueOf(tool: CapabilityTool, name: FieldName): unknown {
  const read = VALUES[name];
  const value = read === undefined ? tool.entry[name as keyof ToolEntry] : read(tool);
  const form = FORMS[TOOL_FIELDS[name].kind];
  return (form === undefined ? value : form(value)) ?? null;
}

const LIST = fieldsOn('list');
const DETAIL = fieldsOn('detail');
/** The fields of a tool in a list. */
export const LIST_FIELDS: readonly string[] = LIST.map(([, { wire }]) => wire);
type Fields = Readonly<Record<string, unknown>>;

/** The fields of each tool that only a new revision can change. */
const fixed = new WeakMap<CapabilityTool, Fields>();

/**
 * Returns a tool as shown in lists. @param compatibility Whether the requesting personas may use
 * the tool.
 */
export function wireTool(tool: CapabilityTool, compatibility: unknown): Fields {
  let same = fixed.get(tool);
  if (same === undefined) fixed.set(tool, (same = written(tool, LIST)));
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
    ...written(tool, DETAIL),
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

/** Fields that can change although the author changes nothing. */
const LIVE = new Set(['health', 'available', 'auth_status', 'compatibility', 'source', 'digest']);

/** Returns the facts that a tool's author declared, and facts derived from them. */
export function definitionFields(tool: CapabilityTool): Fields {
  const fields = Object.entries({ ...written(tool, LIST), ...written(tool, DETAIL) });
  return Object.fromEntries(fields.filter(([name]) => !LIVE.has(name)));
}

function written(tool: CapabilityTool, fields: typeof LIST): Fields {
  return Object.fromEntries(fields.map(([name, { wire }]) => [wire, valueOf(tool, name)]));
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
