import type { LoadedTools } from '../../load/load-tools.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';

/** The tools that a command works on. */
export interface LoadedRegistry extends Pick<LoadedTools, 'problems' | 'fileOf'> {
  readonly registry: ToolMetadataRegistry;
  /** The tools in the manifests that only other personas have. */
  readonly leftOut: { readonly tools: number; readonly personas: readonly string[] };
  /** The persona of each tool that only one persona has, and the tool's name there. */
  readonly owned: ReadonlyMap<string, { readonly persona: string; readonly name: string }>;
  /** The number of warnings about the manifests. */
  readonly warnings: number;
  /** Closes the connections of the tools. */
  readonly close: () => Promise<void>;
}
