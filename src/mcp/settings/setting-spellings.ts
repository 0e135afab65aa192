import type { Issue } from '../../core/errors.js';
import { isPlainObject } from '../../core/plain-data.js';

/** Other names of settings: those in ATLAS files, and those that MCP clients use. */
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

/**
 * Objects in a settings file that have settings of their own. `*` stands for every name that the
 * user chose.
 */
interface Places {
  readonly [field: string]: Places;
}
const FILE: Places = { servers: { '*': { auth: {}, oauth: {}, tools: { '*': {} } } } };

function spellingOf(name: string): string {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const unit = camel.replace(/Seconds$/, '');
  return Object.hasOwn(ALIASES, unit) ? ALIASES[unit]! : unit;
}

/**
 * Returns a settings file with one spelling for each setting. snake_case, camelCase and other
 * programs' names are equivalent.
 *
 * `null` counts as not set. Two spellings of the same setting are reported as an issue. Invalid
 * values are left unchanged.
 */
export function spelled(file: unknown): {
  readonly file: unknown;
  readonly issues: readonly Issue[];
} {
  const issues: Issue[] = [];
  const spell = (given: unknown, places: Places, path: Issue['path']): unknown => {
    if (!isPlainObject(given)) return given;
    const { '*': each } = places;
    const firstNames = new Map<string, string>();
    const values: [string, unknown][] = [];
    for (const [name, value] of Object.entries(given)) {
      if (each === undefined && (value === undefined || value === null)) continue;
      const spelling = each === undefined ? spellingOf(name) : name;
      const before = firstNames.get(spelling);
      if (before !== undefined)
        issues.push({
          path: [...path, name],
          message: `${before} and ${name} mean the same setting. Remove one of them.`,
        });
      firstNames.set(spelling, name);
      const inner = each ?? (Object.hasOwn(places, spelling) ? places[spelling] : undefined);
      values.push([spelling, inner === undefined ? value : spell(value, inner, [...path, name])]);
    }
    return Object.fromEntries(values);
  };
  return { file: spell(file, FILE, []), issues };
}

/** Returns a place in a file, with the names that the file itself uses. */
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
