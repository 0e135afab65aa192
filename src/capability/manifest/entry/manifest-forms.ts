import { Priority } from '../../../core/enums.js';
import { PRIORITY_NAMES } from '../../../core/enum-order.js';
import { isPlainObject } from '../../../core/plain-data.js';
import type { FieldKind } from '../../../tool/metadata/tool-fields.js';
import type { ToolAuth, ToolProvider } from '../../../tool/metadata/tool-options.js';
import type { ManifestEntry } from './manifest-entry.js';

/** The form of a value in manifests, if it differs from that in options. */
interface ManifestForm<Written, Option> {
  /** Returns the option that a written value stands for; without it, the value itself. */
  readonly read?: (value: Written) => Option | undefined;
  /** Returns true when the option says all that the written value says; the rest is kept under `metadata`. */
  readonly isWhole?: (value: Written) => boolean;
  readonly write?: (option: Option) => unknown;
}

/** Declares how a form is read and written; its values have been checked by their kind. */
function form<Written, Option>(each: ManifestForm<Written, Option>): ManifestForm<unknown, unknown> {
  return each as unknown as ManifestForm<unknown, unknown>;
}

const PROVIDER_KEYS: readonly string[] = ['name', 'priority', 'health_check_interval', 'config'];
const AUTH_KEYS: readonly string[] = ['required', 'type', 'scopes', 'docs'];

/**
 * The forms by kind. Seconds become milliseconds, `default_timeout: 0` no limit, and `auth.envs` a map of variables and
 * their need.
 */
export const MANIFEST_FORMS: { readonly [Kind in FieldKind]?: ManifestForm<unknown, unknown> } = {
  priority: form({
    read: (value: string | Priority) => (typeof value === 'string' ? Priority[value.toUpperCase() as keyof typeof Priority] : value),
    write: (priority: Priority) => PRIORITY_NAMES[priority],
  }),
  wholeSeconds: form({ read: (value: number) => (value === 0 ? undefined : value * 1_000), isWhole: (value) => value !== 0, write: (milliseconds: number) => Math.ceil(milliseconds / 1_000) }),
  seconds: form({ read: (value: number) => Math.round(value * 1_000), write: (milliseconds: number) => milliseconds / 1_000 }),
  sideEffects: { write: (effects) => (Array.isArray(effects) && effects.length === 1 ? (effects[0] as unknown) : effects) },
  auth: form({ read: authOptions, isWhole: (value) => Object.keys(value).every((key) => AUTH_KEYS.includes(key)), write: manifestAuthOf }),
  idempotency: form({ read: (value: boolean | { readonly required: boolean }) => (typeof value === 'object' ? value.required : value), isWhole: (value) => typeof value === 'boolean' }),
  tags: form({ read: normalizeCapabilities }),
  personas: form({ read: (value: readonly string[]) => value.map((persona) => persona.trim()) }),
  providers: form({
    read: (value: readonly ManifestProvider[]) => value.map(providerOption),
    isWhole: (value) => value.every((provider) => Object.keys(provider).every((key) => PROVIDER_KEYS.includes(key))),
    write: (providers: readonly ToolProvider[]) => providers.map(manifestProviderOf),
  }),
  requests: form({
    read: (value: readonly unknown[]) => {
      const requests = value.filter(isRequest);
      return requests.length === 0 ? undefined : requests;
    },
    isWhole: (value) => value.every(isRequest),
  }),
};

function isRequest(example: unknown): example is string {
  return typeof example === 'string' && example.trim() !== '';
}

/** Returns capabilities trimmed, in order, each once whatever its case, without blanks. */
export function normalizeCapabilities(capabilities: readonly string[]): readonly string[] {
  const byKey = new Map<string, string>();
  for (const each of capabilities) {
    const capability = each.trim();
    const key = capability.toLowerCase();
    if (capability !== '' && !byKey.has(key)) byKey.set(key, capability);
  }
  return [...byKey.values()];
}

type ManifestProvider = NonNullable<ManifestEntry['providers']>[number];

function providerOption({ name, priority, health_check_interval: interval, config }: ManifestProvider): ToolProvider {
  return { name: name.trim(), ...(priority === undefined ? {} : { priority }), ...(interval === undefined ? {} : { healthCheckIntervalMs: Math.round(interval * 1_000) }), ...(config === undefined ? {} : { config }) };
}

/** Returns a provider in the words of manifests. */
export function manifestProviderOf({ name, priority, healthCheckIntervalMs: interval, config }: ToolProvider): ManifestProvider {
  return { name, ...(priority === undefined ? {} : { priority }), ...(interval === undefined ? {} : { health_check_interval: interval / 1_000 }), ...(config === undefined ? {} : { config: { ...config } }) };
}

type Need = 'required' | 'optional';
type ManifestAuth = NonNullable<ManifestEntry['auth']>;

/** Returns the `auth` of a tool from that of its manifest entry. */
export function authOptions(auth: ManifestAuth): ToolAuth {
  const { required, type, docs } = auth;
  const env = environmentOf(auth);
  const scopes = scopesOf(auth.scopes);
  return {
    required,
    ...(type === undefined ? {} : { type }),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(env.length === 0 ? {} : { env: Object.fromEntries(env) }),
    ...(docs === undefined ? {} : { docs }),
  };
}

/**
 * Returns the scopes trimmed, in order, each once. A text is a list with blanks between; iterated as a list, it would
 * fall into characters.
 */
function scopesOf(scopes: ManifestAuth['scopes'] = []): readonly string[] {
  const each = typeof scopes === 'string' ? scopes.split(/\s+/) : scopes;
  return [...new Set(each.map((scope) => scope.trim()).filter((scope) => scope !== ''))];
}

/**
 * Returns the variables, and whether the tool works without them.
 *
 * If the entry only names variables, a single one is required as `auth.required` is; of several, each is optional,
 * since any one of them may be enough.
 */
function environmentOf({ required, env, envs = {} }: ManifestAuth): readonly (readonly [string, Need])[] {
  const named: (readonly [string, Need | undefined])[] = [];
  if (typeof env === 'string') named.push([env.trim(), undefined]);
  else for (const [key, value] of Object.entries(env ?? {})) named.push(isNeed(value) ? [key, value] : [value.trim(), undefined]);
  for (const [key, value] of Object.entries(envs)) named.push(typeof value === 'string' ? (isNeed(value) ? [key, value] : [value.trim(), undefined]) : [key, needOf(value)]);
  const unsaid: Need = required && new Map(named).size === 1 ? 'required' : 'optional';
  return [...new Map(named)].map(([variable, need]) => [variable, need ?? unsaid]);
}

function isNeed(value: string): value is Need {
  return value === 'required' || value === 'optional';
}

function needOf(value: { readonly required?: boolean | undefined; readonly optional?: boolean | undefined }): Need | undefined {
  const required = value.required ?? (value.optional === undefined ? undefined : !value.optional);
  return required === undefined ? undefined : required ? 'required' : 'optional';
}

function manifestAuthOf({ required, type, scopes, env, docs }: ToolAuth): ManifestAuth {
  return {
    required,
    ...(type === undefined ? {} : { type }),
    ...(isPlainObject(env) ? { envs: Object.fromEntries(Object.entries(env).map(([variable, need]) => [variable, need === 'required' ? { required: true } : { optional: true }])) } : {}),
    ...(scopes === undefined ? {} : { scopes: [...scopes] }),
    ...(docs === undefined ? {} : { docs }),
  };
}
