import { authOptions } from '../../capability/manifest/entry/manifest-forms.js';
import { LIMITS } from '../../core/limits.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { ToolAuth } from '../../tool/metadata/tool-options.js';
import type { McpServerAuth } from '../settings/mcp-settings.js';
import { cleanText } from './foreign-text.js';

/**
 * What a tool needs to be allowed to call: what its server's settings say, and more if the tool asks for more.
 *
 * It is required when either says so, or when there are scopes: the server's always count, the tool's unless one of both
 * says no. A tool never takes back what the settings require. Scopes are those of both; variables only the settings',
 * since a foreign server has no business with names in our environment.
 */
export function mergeAuth(tool: Readonly<Record<string, unknown>>, server: McpServerAuth | undefined): ToolAuth {
  const own = [tool['auth'], tool['authentication']].find(isPlainObject) ?? {};
  const says = [tool['requires_authentication'], own['required']].filter((value) => typeof value === 'boolean');
  const serverScopes = server?.scopes ?? [];
  const scopes = scopesIn(own).slice(0, LIMITS.listLength - serverScopes.length);
  const implied = (serverScopes.length > 0 && server?.required === undefined) || (scopes.length > 0 && server?.required === undefined && says.length === 0);
  const type = [own['type'], own['scheme']].map(label).find((each) => each !== undefined) ?? server?.type;
  return authOptions({
    required: server?.required === true || says.includes(true) || implied,
    ...(type === undefined ? {} : { type }),
    scopes: [...new Set([...scopes, ...serverScopes])],
    env: { ...server?.env },
  });
}

function scopesIn(own: Readonly<Record<string, unknown>>): readonly string[] {
  const given = own['scopes'] ?? own['scope'];
  const list: readonly unknown[] = typeof given === 'string' ? given.split(/\s+/) : Array.isArray(given) ? given : [];
  return list.slice(0, LIMITS.listLength).map(label).filter((scope) => scope !== undefined);
}

function label(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LIMITS.labelLength) return undefined;
  return cleanText(value, LIMITS.labelLength).text || undefined;
}
