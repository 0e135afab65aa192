import { Priority } from '../../../core/enums.js';
import { dangerRank } from '../../../core/enum-order.js';
import { inferAxes } from '../../../tool/metadata/infer-metadata.js';
import type { ToolOptions, ToolProvider } from '../../../tool/metadata/tool-options.js';
import { defineTool, type Execute, type ToolDefinition } from '../../../tool/tool-definition.js';
import { authOptions } from './auth-options.js';
import type { ManifestEntry } from './manifest-entry.js';

/** A schema of tools whose input nobody described. */
const ANY_INPUT = Object.freeze({ type: 'object' });

/** The keys that are options of a tool under another name, with the same value. */
export const SAME_VALUE: readonly (readonly [key: keyof ManifestEntry  , option: keyof ToolOptions])[] = [
  ['name', 'name'],
  ['description', 'description'],
  ['parameters', 'inputSchema'],
  ['output_schema', 'outputSchema'],
  ['version', 'version'],
  ['aliases', 'aliases'],
  ['access_mode', 'accessMode'],
  ['danger_level', 'dangerLevel'],
  ['execution_category', 'executionCategory'],
  ['cost_tier', 'costTier'],
  ['side_effects', 'sideEffects'],
  ['category', 'category'],
  ['keywords', 'keywords'],
  ['mandatory_keywords', 'mandatoryKeywords'],
  ['stages', 'stages'],
  ['task_types', 'taskTypes'],
  ['progress_params', 'progressParams'],
  ['allow_parallel', 'allowParallel'],
  ['requires_consent', 'requiresConsent'],
  ['invalidates', 'invalidates'],
  ['cost_per_call', 'costPerCall'],
  ['manual', 'manual'],
  ['compact', 'compact'],
  ['summary', 'summary'],
  ['handler_ref', 'handlerRef'],
];

/** The keys that are options of a tool in another form. What the form leaves out is kept under `metadata`. */
export const OTHER_FORM = [
  ['priority', 'priority'],
  ['default_timeout', 'timeoutMs'],
  ['auth', 'auth'],
  ['idempotency_key', 'idempotencyKey'],
  ['capabilities', 'capabilities'],
  ['providers', 'providers'],
  ['persona_allowlist', 'personaAllowlist'],
  ['examples', 'examples'],
  ['cache_ttl', 'cacheTtlMs'],
] as const satisfies readonly (readonly [key: keyof ManifestEntry, option: keyof ToolOptions])[];

/** Keys that the options carry completely; nothing of them is kept under `metadata`. */
const WITHOUT_REST: ReadonlySet<string> = new Set([...SAME_VALUE.map(([key]) => key), 'priority', 'capabilities', 'persona_allowlist', 'cache_ttl', 'metadata', 'type']);
/** Keys whose form can say more than the option; the rest travels along. */
const MAY_SAY_MORE: ReadonlySet<string> = new Set(['default_timeout', 'auth', 'idempotency_key', 'providers', 'examples']);

/**
 * The tool that a manifest entry describes: the same as one declared in code.
 *
 * Seconds become milliseconds, `default_timeout: 0` no limit, `auth.envs` a map of variables and their need. The axes are
 * inferred from `side_effects` as everywhere; `safety_level` can raise the danger, never lower it. Keys without an option
 * of their own (`cost_unit`, `requires_flags` …), and what the options cannot say, are kept under `metadata`.
 *
 * @param entry a checked entry.
 * @param execute the tool's work, where it is known.
 * @throws ToolError `INVALID_METADATA` for what contradicts itself, with every reason.
 */
export function defineEntry(entry: ManifestEntry, execute?: Execute<never>): ToolDefinition {
  return defineTool({ ...entryOptions(entry), ...(execute === undefined ? {} : { execute }) } as unknown as ToolDefinition);
}

/** The options of the tool that an entry describes, not yet checked. */
export function entryOptions(entry: ManifestEntry): Partial<ToolOptions> {
  const same = SAME_VALUE.filter(([key]) => entry[key] !== undefined).map(([key, option]) => [option, entry[key]] as const);
  return {
    inputSchema: ANY_INPUT,
    ...Object.fromEntries(same),
    ...otherForms(entry),
    ...raisedDanger(entry),
    ...carried(entry),
  };
}

/** The options whose form differs from the entry's. */
export function otherForms(entry: Partial<ManifestEntry>): Partial<ToolOptions> {
  const { priority, default_timeout: timeout, auth, idempotency_key: key, capabilities, providers, persona_allowlist: allowlist, examples, cache_ttl: ttl } = entry;
  const requests = examples?.filter((example): example is string => typeof example === 'string' && example.trim() !== '');
  return withoutUndefined({
    priority: typeof priority === 'string' ? Priority[priority.toUpperCase() as keyof typeof Priority] : (priority as Priority | undefined),
    timeoutMs: timeout === undefined || timeout === 0 ? undefined : timeout * 1_000,
    auth: auth === undefined ? undefined : authOptions(auth),
    idempotencyKey: typeof key === 'object' ? key.required : key,
    capabilities: capabilities === undefined ? undefined : normalizeCapabilities(capabilities),
    providers: providers?.map(providerOption),
    personaAllowlist: allowlist?.map((persona) => persona.trim()),
    examples: requests === undefined || requests.length === 0 ? undefined : requests,
    cacheTtlMs: ttl === undefined ? undefined : Math.round(ttl * 1_000),
  });
}

/** Trimmed, in order, each once whatever its case, without blanks. */
export function normalizeCapabilities(capabilities: readonly string[]): readonly string[] {
  const byKey = new Map<string, string>();
  for (const each of capabilities) {
    const capability = each.trim();
    const key = capability.toLowerCase();
    if (capability !== '' && !byKey.has(key)) byKey.set(key, capability);
  }
  return [...byKey.values()];
}

function providerOption({ name, priority, health_check_interval: interval, config }: NonNullable<ManifestEntry['providers']>[number]): ToolProvider {
  return withoutUndefined({ name: name.trim(), priority, healthCheckIntervalMs: interval === undefined ? undefined : Math.round(interval * 1_000), config });
}

/** An explicit `danger_level` wins: it is checked not to lie below. */
function raisedDanger({ danger_level: declared, safety_level: safety, side_effects: effects, access_mode: accessMode, execution_category: executionCategory }: ManifestEntry): Partial<ToolOptions> {
  if (declared !== undefined || safety === undefined) return {};
  const sideEffects = typeof effects === 'string' ? [effects] : effects;
  const { axes } = inferAxes(withoutUndefined({ name: '', description: '', accessMode, executionCategory, sideEffects }));
  return dangerRank(safety) > dangerRank(axes.dangerLevel) ? { dangerLevel: safety } : {};
}

function carried(entry: ManifestEntry): Partial<ToolOptions> {
  const rest = Object.entries(entry).filter(([key, value]) => value !== undefined && !WITHOUT_REST.has(key) && !(MAY_SAY_MORE.has(key) && isPlainForm(key, value)));
  const metadata = { ...entry.metadata, ...Object.fromEntries(rest) };
  return Object.keys(metadata).length === 0 ? {} : { metadata };
}

/** Whether the option made of a value says all that the value says. */
function isPlainForm(key: string, value: unknown): boolean {
  switch (key) {
    case 'default_timeout':
      return value !== 0;
    case 'idempotency_key':
      return typeof value === 'boolean';
    case 'providers':
      return (value as readonly object[]).every((provider) => Object.keys(provider).every((each) => PROVIDER_KEYS.includes(each)));
    case 'examples':
      return (value as readonly unknown[]).every((example) => typeof example === 'string' && example.trim() !== '');
    default:
      return Object.keys(value as object).every((each) => each !== 'envs' && each !== 'env' && AUTH_KEYS.includes(each));
  }
}

const PROVIDER_KEYS: readonly string[] = ['name', 'priority', 'health_check_interval', 'config'];
const AUTH_KEYS: readonly string[] = ['required', 'type', 'scopes', 'docs'];

type WithoutUndefined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(object: T): WithoutUndefined<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as WithoutUndefined<T>;
}
