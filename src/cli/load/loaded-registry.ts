import type { LoadedTools } from '../../load/load-tools.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';

/** The tools that a command works on. */
export interface LoadedRegistry extends Pick<LoadedTools, 'problems' | 'fileOf'> {
  readonly registry: ToolMetadataRegistry;
  /** The number of tools in the manifests that only other personas have, and these personas. */
  readonly leftOut?: string;
  /** The persona of each tool that only one persona has, and the tool's name there. */
  readonly owned: ReadonlyMap<string, { readonly persona: string; readonly name: string }>;
  /** Closes the connections of the tools. */
  readonly close: () => Promise<void>;
}
