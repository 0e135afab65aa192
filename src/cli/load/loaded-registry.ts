import type { LoadedTools } from '../../load/load-tools.js';
import type { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';

/** The tools that a command works on. */
export interface LoadedRegistry extends Pick<LoadedTools, 'problems' | 'fileOf'> {
  readonly registry: ToolMetadataRegistry;
  /**
   * Describes the tools in the manifests that only other personas have: their number, and the
   * personas' names.
   */
  readonly leftOut?: string;
  /**
   * The persona of each tool that only one persona has, and the tool's name in that persona's
   * manifest.
   */
  readonly owned: ReadonlyMap<string, { readonly persona: string; readonly name: string }>;
  /** The MCP servers that tools come from. The registry follows them. */
  readonly discovery?: McpDiscovery;
  /** Closes the tools' connections. */
  readonly close: () => Promise<void>;
}
