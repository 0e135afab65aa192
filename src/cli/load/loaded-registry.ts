import type { LoadedTools } from '../../load/load-tools.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';

/** The tools that a command works on. */
export interface LoadedRegistry extends Pick<LoadedTools, 'problems' | 'fileOf'> {
  readonly registry: ToolMetadataRegistry;
  /**
   * The number of tools in the manifests that only other personas have, and the names of these
   * personas.
   */
  readonly leftOut?: string;
  /** The persona of each tool that only one persona has, and the persona's name for the tool. */
  readonly owned: ReadonlyMap<string, { readonly persona: string; readonly name: string }>;
  /** Closes the tools' connections. */
  readonly close: () => Promise<void>;
}
