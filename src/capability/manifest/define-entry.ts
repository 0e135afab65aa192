import { dangerRank } from '../../core/enum-order.js';
import { Priority } from '../../core/enums.js';
import { inferAxes } from '../../tool/infer-metadata.js';
import type { DeclaredMetadata } from '../../tool/metadata-schema.js';
import { MANIFEST_FIELDS, type FieldKind } from '../../tool/tool-fields.js';
import type { ToolAuth, ToolOptions, ToolProvider } from '../../tool/tool-options.js';
import { definitionOf, type Execute, type ToolDefinition } from '../../tool/tool-definition.js';
import { type ManifestEntry } from './manifest-entry.js';

/**
 * The conversions for each kind of value that is written differently in manifests than in tool
 * options. The values have already been checked.
 *
 * Seconds become milliseconds. `default_timeout: 0` becomes `undefined`, so that the executor's
 * default applies. `auth.envs` becomes a map that says whether each variable is required.
 */
const READ: { readonly [Kind in FieldKind]?: (value: never) => unknown } = {
  priority: (value: string | Priority) =>
    typeof value === 'string' ? Priority[value.toUpperCase() as keyof typeof Priority] : value,
  wholeSeconds: (value: number) => (value === 0 ? undefined : value * 1_000),
  seconds: (value: number) => Math.round(value * 1_000),
  auth: authOptions,
  idempotency: (value: boolean | { readonly required: boolean }) =>
    typeof value === 'object' ? value.required : value,
  tags: normalizeCapabilities,
  personas: (value: readonly string[]) => value.map((persona) => persona.trim()),
  providers: (value: readonly ManifestProvider[]) => value.map(providerOption),
  requests: (value: readonly unknown[]) => value.filter(isRequest),
};

function isRequest(example: unknown): example is string {
  return typeof example === 'string' && example.trim() !== '';
}

/** Returns the trimmed capabilities in order, without blanks and case-insensitive duplicates. */
function normalizeCapabilities(capabilities: readonly string[]): readonly string[] {
  const trimmed = capabilities.map((each) => each.trim());
  const keys = trimmed.map((each) => each.toLowerCase());
  return trimmed.filter((each, index) => each !== '' && keys.indexOf(keys[index]!) === index);
}

type ManifestProvider = NonNullable<ManifestEntry['providers']>[number];

function providerOption({
  name,
  priority,
  health_check_interval: interval,
  config,
}: ManifestProvider): ToolProvider {
  return {
    name: name.trim(),
    ...(priority === undefined ? {} : { priority }),
    ...(interval === undefined ? {} : { healthCheckIntervalMs: Math.round(interval * 1_000) }),
    ...(config === undefined ? {} : { config }),
  };
}

type Need = 'required' | 'optional';
type ManifestAuth = NonNullable<ManifestEntry['auth']>;

/** Returns a tool's `auth` from its manifest entry. */
function authOptions(auth: ManifestAuth): ToolAuth {
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

/** Returns the scopes in order and without duplicates. A scope contains no whitespace. */
function scopesOf(scopes: ManifestAuth['scopes'] = []): readonly string[] {
  const each = [scopes].flat().flatMap((scope) => scope.split(/\s+/));
  return [...new Set(each.filter((scope) => scope !== ''))];
}

/**
 * Returns the environment variables, and whether each is required or optional.
 *
 * If the entry doesn't say which variables are required, a single variable is required if
 * `auth.required` is true. If there are several variables, all are optional, because one variable
 * may be enough.
 */
function environmentOf({
  required,
  env = {},
  envs = {},
}: ManifestAuth): readonly (readonly [string, Need])[] {
  const written = [
    ...Object.entries(typeof env === 'string' ? { '': env } : env),
    ...Object.entries(envs),
  ];
  const named = new Map(
    written.map(([key, value]): [string, Need | undefined] => {
      if (typeof value === 'object') return [key, needOf(value)];
      return isNeed(value) ? [key, value] : [value.trim(), undefined];
    }),
  );
  const unsaid: Need = required && named.size === 1 ? 'required' : 'optional';
  return [...named].map(([variable, need]) => [variable, need ?? unsaid]);
}

function isNeed(value: string): value is Need {
  return value === 'required' || value === 'optional';
}

function needOf(value: {
  readonly required?: boolean | undefined;
  readonly optional?: boolean | undefined;
}): Need | undefined {
  const required = value.required ?? (value.optional === undefined ? undefined : !value.optional);
  return required === undefined ? undefined : required ? 'required' : 'optional';
}

/** The schema for tools that don't describe their input. */
const ANY_INPUT = Object.freeze({ type: 'object' });

/** The keys of an entry that correspond to tool options. All other keys are kept as metadata. */
const OPTION_KEYS = MANIFEST_FIELDS.flatMap(([name, { wire: key, kind, from }]) =>
  from === undefined && name !== 'metadata'
    ? [{ key, option: name as keyof ToolOptions, read: READ[kind] }]
    : [],
);

/** The manifest key for each tool option. */
export const KEY_OF_OPTION: ReadonlyMap<string, string> = new Map(
  OPTION_KEYS.map(({ key, option }) => [option, key]),
);

/** Replaces the names of options in a message with manifest keys, except inside quotes. */
export function inManifestKeys(message: string): string {
  return message.replace(
    /"(?:[^"\\]|\\.)*"|\b[a-z]+[A-Z][A-Za-z]*\b/g,
    (word) => KEY_OF_OPTION.get(word) ?? word,
  );
}

/**
 * Returns the tool that a manifest entry describes, equivalent to a tool declared in code.
 *
 * Safety metadata is inferred from `side_effects` as for tools in code. `safety_level` can raise
 * the danger, but never lower it. Keys without an option (`cost_unit`, `requires_flags` …) are kept
 * under `metadata`.
 *
 * @param entry A checked entry.
 * @param execute The tool's function, if it's known.
 * @throws ToolError `INVALID_METADATA` for contradictions, with every reason.
 */
export function defineEntry(entry: ManifestEntry, execute?: Execute<never>): ToolDefinition {
  const options: Record<string, unknown> = { inputSchema: ANY_INPUT };
  const { metadata: own, type: _, ...carried }: Record<string, unknown> = { ...entry };
  for (const { key, option, read } of OPTION_KEYS) {
    const value = carried[key];
    delete carried[key];
    const meant = value === undefined || read === undefined ? value : read(value as never);
    if (meant !== undefined) options[option] = meant;
  }
  const metadata = { ...(own as object | undefined), ...carried };
  if (Object.keys(metadata).length > 0) options['metadata'] = metadata;
  return definitionOf({
    ...options,
    ...raisedDanger(entry, options),
    ...(execute === undefined ? {} : { execute }),
  } as unknown as ToolDefinition);
}

/** Raises the tool's danger level to the entry's safety level if the safety level is higher. */
function raisedDanger(
  { safety_level: safety, side_effects: effects = [] }: ManifestEntry,
  options: Readonly<Record<string, unknown>>,
): Partial<ToolOptions> {
  if (safety === undefined) return {};
  const { axes } = inferAxes({ ...options, sideEffects: [effects].flat() } as DeclaredMetadata);
  return dangerRank(safety) > dangerRank(axes.dangerLevel) ? { dangerLevel: safety } : {};
}
