import type { Issue } from '../../core/errors.js';
import { isPlainObject } from '../../core/plain-data.js';

/** The other names of settings: those of the documents' files, and those that clients write. */
const ALIASES: Readonly<Record<string, string>> = {
  access: 'accessMode',
  alwaysAllow: 'autoApprove',
  authentication: 'auth',
  cmd: 'command',
  commandArgs: 'args',
  consent: 'requiresConsent',
  danger: 'dangerLevel',
  disabledTools: 'denyTools',
  enabledTools: 'allowTools',
  environment: 'env',
  excludeTools: 'denyTools',
  healthCheckInterval: 'healthCheckSeconds',
  healthCheckIntervalMs: 'healthCheckMs',
  httpUrl: 'url',
  includeTools: 'allowTools',
  mcpServers: 'servers',
  parallel: 'allowParallel',
  personas: 'personaAllowlist',
  scheme: 'type',
  scope: 'scopes',
  serverUrl: 'url',
  startupTimeout: 'startupTimeoutSeconds',
  timeout: 'timeoutSeconds',
  transportType: 'transport',
  uri: 'url',
  workingDirectory: 'cwd',
};

/** The places of settings within each other; `*` is each member of an object whose names are the user's. */
interface Places {
  readonly [field: string]: Places;
}
const FILE: Places = { servers: { '*': { auth: {}, oauth: {}, tools: { '*': {} } } } };

const spellingOf = (name: string) => {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.hasOwn(ALIASES, camel) ? ALIASES[camel]! : camel;
};

/**
 * Returns a settings file under one spelling: snake_case and camelCase mean the same, and so do the names of other programs.
 * `null` counts as not set. Two spellings of one setting are issues; all else that is wrong stays as it is.
 */
export function spelled(file: unknown): {
  readonly file: unknown;
  readonly issues: readonly Issue[];
} {
  const issues: Issue[] = [];
  const spell = (given: unknown, places: Places, path: Issue['path']): unknown => {
    if (!isPlainObject(given)) return given;
    const { '*': each } = places;
    const meanings = new Map<string, string>();
    const values: [string, unknown][] = [];
    for (const [name, value] of Object.entries(given)) {
      if (each === undefined && (value === undefined || value === null)) continue;
      const spelling = each === undefined ? spellingOf(name) : name;
      const meaning = each === undefined ? spelling.replace(/(?:Seconds|Ms)$/, '') : name;
      const before = meanings.get(meaning);
      if (before !== undefined)
        issues.push({
          path: [...path, name],
          message: `Expected one of ${before} and ${name}, which mean the same. Leave one out.`,
        });
      meanings.set(meaning, name);
      const inner = each ?? (Object.hasOwn(places, spelling) ? places[spelling] : undefined);
      values.push([spelling, inner === undefined ? value : spell(value, inner, [...path, name])]);
    }
    return Object.fromEntries(values);
  };
  return { file: spell(file, FILE, []), issues };
}

/** Returns a place in a file with the names that stand in it. */
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
