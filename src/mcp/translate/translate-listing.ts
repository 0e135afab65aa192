import { isAllowed } from '../settings/is-allowed.js';
import type { McpServerSettings, McpSettings } from '../settings/mcp-settings.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import { quoted } from './foreign-text.js';
import type { McpFinding } from './mcp-finding.js';
import { translateMcpTool, type McpTranslation } from './translate-mcp-tool.js';

/** A tool that can be used. */
export type TranslatedTool = Extract<McpTranslation, { readonly options: unknown }> & {
  /** The definition as the server sent it: what pins are about. */
  readonly raw: unknown;
};

/** What a server's listing comes to. */
export interface TranslatedListing {
  /** In the server's order, each name once. */
  readonly tools: readonly TranslatedTool[];
  readonly findings: readonly McpFinding[];
}

/**
 * All tools of a listing that the settings allow, translated; what is wrong with one is a finding, and takes no other down.
 *
 * Of two tools with one name the first is used: a later one could otherwise take over the calls of a tool that was
 * looked at and approved.
 */
export function translateListing(listing: readonly unknown[], server: McpServerSettings, settings: Pick<McpSettings, 'allowTools' | 'denyTools'>, engine?: PatternEngine): TranslatedListing {
  const tools = new Map<string, TranslatedTool>();
  const findings: McpFinding[] = [];
  for (const raw of listing) {
    const translated = translateMcpTool(raw, server, engine);
    const { toolName } = translated;
    // Before anything is said of it: what is denied is nobody's business.
    if (toolName !== undefined && !isAllowed(toolName, server, settings)) continue;
    const find = (kind: McpFinding['kind'], message: string) => findings.push(Object.freeze({ kind, server: server.name, ...(toolName === undefined ? {} : { tool: quoted(toolName) }), message }));
    if ('refused' in translated) find('refused', translated.refused);
    else if (tools.has(translated.name)) find('duplicate', `expected every name once, found ${translated.name} again; the first is used`);
    else {
      tools.set(translated.name, Object.freeze({ ...translated, raw }));
      for (const change of translated.changes) find('changed', change);
    }
  }
  return Object.freeze({ tools: Object.freeze([...tools.values()]), findings: Object.freeze(findings) });
}
