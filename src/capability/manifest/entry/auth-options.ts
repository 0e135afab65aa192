import { isPlainObject } from '../../../core/plain-data.js';
import type { ToolAuth } from '../../../tool/metadata/tool-options.js';
import type { ManifestEntry } from './manifest-entry.js';

type Need = 'required' | 'optional';
type ManifestAuth = NonNullable<ManifestEntry['auth']>;

/** The `auth` of a tool from that of its manifest entry. */
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

/** Trimmed, in order, each once. A text is a list with blanks between; taken for a list, it would fall into characters. */
function scopesOf(scopes: ManifestAuth['scopes'] = []): readonly string[] {
  const each = typeof scopes === 'string' ? scopes.split(/\s+/) : scopes;
  return [...new Set(each.map((scope) => scope.trim()).filter((scope) => scope !== ''))];
}

/**
 * The variables, and whether the tool works without them.
 *
 * Where the entry says only which variables there are, a single one is required as `auth.required` is; of several, each
 * is optional, since any one of them may be enough.
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

/** The `auth` of a manifest entry from that of a tool. */
export function manifestAuthOf({ required, type, scopes, env, docs }: ToolAuth): ManifestAuth {
  return {
    required,
    ...(type === undefined ? {} : { type }),
    ...(isPlainObject(env) ? { envs: Object.fromEntries(Object.entries(env).map(([variable, need]) => [variable, need === 'required' ? { required: true } : { optional: true }])) } : {}),
    ...(scopes === undefined ? {} : { scopes: [...scopes] }),
    ...(docs === undefined ? {} : { docs }),
  };
}
