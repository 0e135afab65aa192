import { Priority } from '../../core/enums.js';
import type { Json } from '../../core/plain-data.js';
import { picked } from './picked.js';
import type { CapabilityTool } from '../../capability/capability-items.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import type { ToolAuth } from '../../tool/metadata/tool-options.js';

/** A field of a tool on the wire, and where its value comes from; `undefined` is written as `null`. */
type Field = (tool: CapabilityTool) => unknown;

/** The names of priorities, by number. */
export const PRIORITY_NAMES: readonly string[] = Object.freeze(Object.entries(Priority).sort(([, a], [, b]) => a - b).map(([name]) => name.toLowerCase()));

/**
 * What a tool is, in the words of manifests: snake_case, times in seconds. It changes only with the registry.
 *
 * Configurations of providers stay inside: they may hold credentials.
 */
export const FIXED_FIELDS: ReadonlyMap<string, Field> = new Map<string, Field>([
  ['name', ({ name }) => name],
  ['persona', ({ owner }) => owner],
  ['description', ({ entry }) => entry.description],
  ['summary', ({ entry }) => entry.summary],
  ['version', ({ entry }) => entry.version],
  ['capabilities', ({ entry }) => entry.capabilities],
  ['capability_tags', ({ capabilityTags }) => capabilityTags],
  ['auth', ({ entry }) => authWire(entry.auth)],
  ['auth_scopes', ({ authScopes }) => authScopes],
  ['safety_level', ({ safetyLevel }) => safetyLevel],
  ['requires_consent', ({ entry }) => entry.requiresConsent],
  ['allow_parallel', ({ entry }) => entry.allowParallel],
  ['idempotency_key', ({ entry, manifest }) => picked(manifest?.idempotency_key, ['required', 'scope', 'guidance']) ?? entry.idempotencyKey ?? false],
  ['default_timeout', ({ entry }) => (entry.timeoutMs === undefined ? undefined : entry.timeoutMs / 1_000)],
  ['side_effects', ({ entry: { sideEffects } }) => (sideEffects.length === 1 ? sideEffects[0] : sideEffects.length === 0 ? undefined : sideEffects)],
  ['cost_per_call', ({ entry }) => entry.costPerCall],
  ['cost_unit', ({ manifest }) => manifest?.cost_unit],
  ['persona_allowlist', ({ entry }) => entry.personaAllowlist],
  ['providers', ({ entry }) => entry.providers.map(providerWire)],
  ['source', ({ source }) => source],
  ['priority', ({ entry }) => PRIORITY_NAMES[entry.priority]],
  ['access_mode', ({ entry }) => entry.accessMode],
  ['danger_level', ({ entry }) => entry.dangerLevel],
  ['execution_category', ({ entry }) => entry.executionCategory],
  ['cost_tier', ({ entry }) => entry.costTier],
  ['category', ({ entry }) => entry.category],
  ['keywords', ({ entry }) => entry.keywords],
  ['mandatory_keywords', ({ entry }) => entry.mandatoryKeywords],
  ['stages', ({ entry }) => entry.stages],
  ['task_types', ({ entry }) => entry.taskTypes],
  ['manual', ({ entry }) => entry.manual],
  ['compact', ({ entry }) => entry.compact],
  ['requires_approval', ({ entry }) => requiresApproval(entry)],
  ['inferred', ({ entry }) => entry.inferred.map(snakeCase)],
  ['digest', ({ entry }) => entry.digest],
]);

/** What is true of a tool at this moment. */
const LIVE_FIELDS: readonly string[] = ['available', 'auth_status', 'health'];

/** What only the answer about one tool says. */
export const DETAIL_FIELDS: ReadonlyMap<string, Field> = new Map<string, Field>([
  ['parameters', ({ entry }) => entry.inputJsonSchema],
  ['examples', ({ entry }) => entry.examples],
  ['aliases', ({ entry }) => entry.aliases],
  ['progress_params', ({ entry }) => entry.progressParams],
  ['invalidates', ({ entry }) => entry.invalidates],
  ['cache_ttl', ({ entry }) => (entry.cacheTtlMs === undefined ? undefined : entry.cacheTtlMs / 1_000)],
]);

/** The fields of a tool in a list, in their order. */
export const TOOL_FIELDS: readonly string[] = Object.freeze([...FIXED_FIELDS.keys(), ...LIVE_FIELDS]);

/** Names of variables only: where a manifest holds more beside them, it stays inside. */
function authWire(auth: ToolAuth | undefined): Json {
  const { required = false, type = null, scopes = [], env = {}, docs = null } = auth ?? {};
  return { required, type, scopes, envs: { ...env }, docs };
}

function providerWire({ name, priority = 100, healthCheckIntervalMs }: CapabilityTool['entry']['providers'][number]): Json {
  return { name, priority, health_check_interval: healthCheckIntervalMs === undefined ? null : healthCheckIntervalMs / 1_000 };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
