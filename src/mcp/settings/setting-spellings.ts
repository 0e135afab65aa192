import type { Issue } from '../../core/errors.js';
import { expectedGot, kindOf } from '../../core/issues.js';
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

/** Settings with one spelling for each, and the name under which each was written. */
export interface SpelledSettings {
  readonly values: Readonly<Record<string, unknown>>;
  readonly written: ReadonlyMap<string, string>;
  readonly issues: readonly Issue[];
}

/**
 * Returns settings under one spelling: snake_case and camelCase mean the same, and so do the names of other programs.
 * `null` counts as not set. Two spellings of one setting, and anything but an object, are issues.
 */
export function spelled(given: unknown): SpelledSettings {
  if (!isPlainObject(given))
    return {
      values: {},
      written: new Map(),
      issues: [{ path: [], message: expectedGot('an object of settings', kindOf(given)) }],
    };
  const written = new Map<string, string>();
  const meanings = new Map<string, string>();
  const values: Record<string, unknown> = {};
  const issues: Issue[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const spelling = Object.hasOwn(ALIASES, camel) ? ALIASES[camel]! : camel;
    const meaning = spelling.replace(/(?:Seconds|Ms)$/, '');
    const before = meanings.get(meaning);
    if (before !== undefined)
      issues.push({
        path: [name],
        message: `Expected one of ${before} and ${name}, which mean the same. Leave one out.`,
      });
    meanings.set(meaning, name);
    written.set(spelling, name);
    Object.defineProperty(values, spelling, { value, enumerable: true, configurable: true });
  }
  return { values, written, issues };
}

/** Returns issues with the names that the settings were written under. */
export function asWritten(
  issues: readonly Issue[],
  { written }: SpelledSettings,
  ...place: Issue['path']
): readonly Issue[] {
  return issues.map(({ path: [first, ...rest], message }) => ({
    path: first === undefined ? place : [...place, written.get(String(first)) ?? first, ...rest],
    message,
  }));
}
