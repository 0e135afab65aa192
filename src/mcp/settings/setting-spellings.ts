import { refusal } from '../../core/issues.js';
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
 * Returns settings under their camelCase names. snake_case and the names of other programs are
 * converted. Settings that are `undefined` or `null` are dropped. A value that isn't an object is
 * returned unchanged.
 *
 * @param readers Functions that convert the values of some settings, by camelCase name.
 * @throws ToolError `INVALID_ARGUMENT` for two spellings of the same setting.
 */
export function spelled(
  given: unknown,
  readers: Readonly<Record<string, (value: unknown) => unknown>> = {},
): unknown {
  if (!isPlainObject(given)) return given;
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    const spelling = spellingOf(name);
    if (values.has(spelling))
      throw refusal('Ambiguous settings', [
        { path: [name], message: `${spelling} is set twice. Remove one spelling.` },
      ]);
    const read = Object.hasOwn(readers, spelling) ? readers[spelling] : undefined;
    values.set(spelling, read === undefined ? value : read(value));
  }
  return Object.fromEntries(values);
}

/** Returns a server's settings under their camelCase names. Names of tools stay unchanged. */
export function spelledServer(given: unknown): unknown {
  const inner = (value: unknown) => spelled(value);
  const tools = (value: unknown) =>
    isPlainObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, tool]) => [name, spelled(tool)]))
      : value;
  return spelled(given, { auth: inner, oauth: inner, tools });
}
