import type { Issue } from '../../core/errors.js';
import { expectedGot, refusal } from '../../core/issues.js';
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
  enabledTools: 'allowTools',
  environment: 'env',
  excludeTools: 'denyTools',
  httpUrl: 'url',
  includeTools: 'allowTools',
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

/** Returns a setting's camelCase name. */
export function spellingOf(name: string): string {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const unit = camel.replace(/Seconds$/, '');
  return Object.hasOwn(ALIASES, unit) ? ALIASES[unit]! : unit;
}

/**
 * Returns settings under their camelCase names. Settings that are `undefined` or `null` are dropped. A
 * value that isn't an object is returned unchanged.
 *
 * @throws ToolError `INVALID_ARGUMENT` for two spellings of the same setting.
 */
export function spelled(written: unknown): unknown {
  if (!isPlainObject(written)) return written;
  const entries = Object.entries(written).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  const names = new Map<string, string>();
  for (const [name] of entries) {
    const other = names.get(spellingOf(name));
    // Approvals in settings are ignored, so two of them don't contradict each other.
    if (other !== undefined && spellingOf(name) !== 'autoApprove')
      throw refusal('Ambiguous settings', [
        {
          path: [name],
          message: `${JSON.stringify(other)} and ${JSON.stringify(name)} are the same setting. Remove one.`,
        },
      ]);
    names.set(spellingOf(name), name);
  }
  return Object.fromEntries(entries.map(([name, value]) => [spellingOf(name), value]));
}

/** Returns a path of camelCase names with the names as written. */
export function asWritten(written: unknown, path: Issue['path']): Issue['path'] {
  let at = written;
  return path.map((step) => {
    const names = isPlainObject(at) ? Object.keys(at) : [];
    const isStep = (name: string) => name === step || spellingOf(name) === step;
    const name = names.includes(String(step)) ? step : (names.find(isStep) ?? step);
    at = isPlainObject(at) ? at[String(name)] : undefined;
    return name;
  });
}

/** Returns the issue for a setting that is probably misspelt. Its name is quoted as written. */
export function misspelt(written: string, meant: string): Issue {
  const shown = written.includes('_')
    ? meant.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    : meant;
  const advice = `Did you mean ${JSON.stringify(shown)}?`;
  return {
    path: [written],
    message: expectedGot('a known option', JSON.stringify(written), advice),
  };
}

/**
 * Returns the known name, or alias of one, that differs from `key` in at most `most` letters, where two
 * swapped letters count as one. Short names must be closer, because many words are close to them.
 */
export function closest(key: string, names: readonly string[], most: number): string | undefined {
  const limit = key.length < 6 ? Math.min(most, 1) : most;
  const aliases = Object.keys(ALIASES).filter((alias) => names.includes(ALIASES[alias]!));
  return [...names, ...aliases].find((name) => isWithin(key, name, limit));
}

function isWithin(one: string, other: string, most: number): boolean {
  if (one === other) return true;
  if (most === 0 || Math.abs(one.length - other.length) > most) return false;
  let at = 0;
  while (one[at] === other[at]) at += 1;
  const [a, b] = [one.slice(at), other.slice(at)];
  return (
    isWithin(a.slice(1), b.slice(1), most - 1) ||
    isWithin(a.slice(1), b, most - 1) ||
    isWithin(a, b.slice(1), most - 1) ||
    (a[0] === b[1] && a[1] === b[0] && isWithin(a.slice(2), b.slice(2), most - 1))
  );
}
