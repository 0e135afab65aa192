import type { ProviderFactory } from '../../providers/provider.js';
import type { ToolDefinition } from '../../tool/tool-definition.js';
import type { McpDiscoveryOptions } from './discovery-options.js';
import { McpDiscovery } from './mcp-discovery.js';
import type { McpFinding } from '../translate/foreign-text.js';

/** What servers list now, and what is needed to call it. */
export interface DiscoveredMcpTools {
  readonly definitions: readonly ToolDefinition[];
  readonly findings: readonly McpFinding[];
  /** For an executor that is to route the calls, under the name `mcp`. */
  readonly provider: ProviderFactory;
  /** For refreshing later. */
  readonly discovery: McpDiscovery;
  /** Ends the connections; until then they keep the program alive. */
  readonly close: () => Promise<void>;
}

/**
 * Asks all configured servers once, and resolves when each has answered or failed.
 *
 * ```js
 * const { definitions, close } = await discoverMcpTools({ mcpServers: { memory: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] } } });
 * registry.registerAll(definitions);
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong settings and options, `MISSING_PACKAGE`; servers that fail are findings.
 */
export async function discoverMcpTools(settings: unknown, options: McpDiscoveryOptions = {}): Promise<DiscoveredMcpTools> {
  const discovery = new McpDiscovery(settings, options);
  await discovery.refresh();
  return Object.freeze({ definitions: discovery.definitions(), findings: discovery.findings(), provider: discovery.provider, discovery, close: () => discovery.close() });
}
