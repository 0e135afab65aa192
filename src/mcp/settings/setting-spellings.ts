import type { Issue } from '../../core/errors.js';
import { isPlainObject } from '../../core/plain-data.js';

/** Other names for settings, from ATLAS files and from MCP clients. */
const ALIASES: Readonly<Record<string, string>> = {
  access: 'accessMode',
  alwaysAllow: 'autoApprove',
  authentication: 'auth',
  cmd: 'command',
  commandArgs: 'args',
  consent: 'requiresConsent',
  danger: 'dangerLevel',
  disabledTools: 'denyTools',
  environment: 'env',
  excludeTools: 'denyTools',
  httpUrl: 'url',
  includeTools: 'allowTools',
  mcpServers: 'servers',
  parallel: 'allowParallel',
  personas: 'personaAllowlist',
  scheme: 'type',
  scope: 'scopes',
  serverUrl: 'url',
  transportType: 'transport',
  trust: 'autoApprove',
  uri: 'url',
  workingDirectory: 'cwd',
};

function spellingOf(name: string): string {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const unit = camel.replace(/Seconds$/, '');
  return Object.hasOwn(ALIASES, unit) ? ALIASES[unit]! : unit;
}

/**
 * Members of a server's settings that are themselves objects of settings. `*` matches every name.
 */
interface Places {
  readonly [field: string]: Places;
}
export const SERVER_PLACES: Places = { auth: {}, oauth: {}, tools: { '*': {} } };

/**
 * Returns settings under their camelCase names. snake_case and the names of other programs are
 * converted.
 *
 * Settings that are `null` are dropped. Two spellings of the same setting are reported as an issue.
 * Invalid values are left unchanged.
 */
export function spelled(
  given: unknown,
  places: Places = {},
): { readonly values: unknown; readonly issues: readonly Issue[] } {
  if (!isPlainObject(given)) return { values: given, issues: [] };
  const { '*': each } = places;
  const issues: Issue[] = [];
  const names = new Map<string, string>();
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (each === undefined && (value === undefined || value === null)) continue;
    const spelling = each === undefined ? spellingOf(name) : name;
    const before = names.get(spelling);
    if (before !== undefined)
      issues.push({
        path: [name],
        message: `${before} and ${name} mean the same setting. Remove one of them.`,
      });
    names.set(spelling, name);
    const inner = each ?? (Object.hasOwn(places, spelling) ? places[spelling] : undefined);
    const read = inner === undefined ? { values: value, issues: [] } : spelled(value, inner);
    values[spelling] = read.values;
    for (const { path, message } of read.issues) issues.push({ path: [name, ...path], message });
  }
  return { values, issues };
}

/** Converts the path of a setting to the names that the file itself uses. */
export function asWritten(path: Issue['path'], file: unknown): Issue['path'] {
  let at = file;
  return path.map((step) => {
    if (!isPlainObject(at)) return step;
    const name =
      Object.hasOwn(at, step) || typeof step === 'number'
        ? step
        : (Object.keys(at).find((key) => spellingOf(key) === step) ?? step);
    at = at[name];
    return name;
  });
}
