import { Priority } from '../../../core/enums.js';
import { canonicalJson, cloneFrozen } from '../../../core/plain-data.js';
import type { ToolOptions, ToolProvider } from '../../../tool/metadata/tool-options.js';
import { entryOf, type ToolDefinition } from '../../../tool/tool-definition.js';
import { manifestAuthOf } from './auth-options.js';
import { OTHER_FORM, otherForms, SAME_VALUE } from './define-entry.js';
import { manifestEntrySchema, type ManifestEntry } from './manifest-entry.js';

/** Keys of `metadata` that are documented keys of an entry, without an option of their own. */
const CARRIED = ['cost_unit', 'requires_flags', 'policy_flags', 'quota_hints', 'returns', 'skill_bindings', 'idempotency_guidance', 'notes', 'strict', 'safety_level'] as const;

/**
 * The manifest entry that describes a tool: what its author declared, in the manifest's keys and seconds.
 *
 * `defineEntry` makes an equal tool of it, except that functions cannot be written down, and that a time limit is rounded
 * up to whole seconds.
 */
export function manifestEntryOf(definition: ToolDefinition): ManifestEntry {
  const { inputJsonSchema } = entryOf(definition);
  const fields: Record<string, unknown> = {};
  for (const [key, option] of SAME_VALUE) if (definition[option] !== undefined) fields[key] = definition[option];
  fields['parameters'] = { type: 'object', ...inputJsonSchema };
  if (definition.outputSchema !== undefined && '~standard' in definition.outputSchema) delete fields['output_schema'];
  if (definition.sideEffects?.length === 1) fields['side_effects'] = definition.sideEffects[0];
  Object.assign(fields, formsOf(definition));

  const { metadata = {} } = definition;
  const rest = new Map(Object.entries(metadata));
  for (const [key, option] of OTHER_FORM) {
    if (rest.has(key) && saysTheSame(key, rest.get(key), option, definition)) fields[key] = take(rest, key);
  }
  for (const key of CARRIED) {
    if (rest.has(key) && manifestEntrySchema.shape[key].safeParse(rest.get(key)).success) fields[key] = take(rest, key);
  }
  if (rest.size > 0) fields['metadata'] = Object.fromEntries(rest);
  return cloneFrozen(fields) as unknown as ManifestEntry;
}

function take(rest: Map<string, unknown>, key: string): unknown {
  const value = rest.get(key);
  rest.delete(key);
  return value;
}

/** The original form of a value is given back only while it means what the tool declares: `metadata` is anybody's. */
function saysTheSame(key: OtherKey, value: unknown, option: keyof ToolOptions, definition: ToolDefinition): boolean {
  if (!manifestEntrySchema.shape[key].safeParse(value).success) return false;
  const meant = otherForms({ [key]: value })[option];
  return canonicalJson(withDefaults(option, meant) ?? null) === canonicalJson(definition[option] ?? null);
}

type OtherKey = (typeof OTHER_FORM)[number][0];

function withDefaults(option: keyof ToolOptions, value: unknown): unknown {
  return option === 'providers' ? (value as readonly ToolProvider[]).map((provider) => ({ priority: 100, ...provider })) : value;
}

function formsOf({ priority, timeoutMs, auth, idempotencyKey, capabilities, providers, personaAllowlist, examples, cacheTtlMs }: ToolDefinition): Partial<ManifestEntry> {
  return {
    ...(priority === undefined ? {} : { priority: (Object.entries(Priority).find(([, value]) => value === priority)![0].toLowerCase() as 'critical') }),
    ...(timeoutMs === undefined ? {} : { default_timeout: Math.ceil(timeoutMs / 1_000) }),
    ...(auth === undefined ? {} : { auth: manifestAuthOf(auth) }),
    ...(idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey }),
    ...(capabilities === undefined ? {} : { capabilities: [...capabilities] }),
    ...(providers === undefined ? {} : { providers: providers.map(manifestProviderOf) }),
    ...(personaAllowlist === undefined ? {} : { persona_allowlist: [...personaAllowlist] }),
    ...(examples === undefined ? {} : { examples: [...examples] }),
    ...(cacheTtlMs === undefined ? {} : { cache_ttl: cacheTtlMs / 1_000 }),
  };
}

function manifestProviderOf({ name, priority, healthCheckIntervalMs, config }: ToolProvider): NonNullable<ManifestEntry['providers']>[number] {
  return {
    name,
    ...(priority === undefined ? {} : { priority }),
    ...(healthCheckIntervalMs === undefined ? {} : { health_check_interval: healthCheckIntervalMs / 1_000 }),
    ...(config === undefined ? {} : { config: { ...config } }),
  };
}
