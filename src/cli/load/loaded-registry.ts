import type { LoadProblem } from '../../load/load-tools.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';

/** The tools that a command works on. */
export interface LoadedRegistry {
  readonly registry: ToolMetadataRegistry;
  readonly problems: readonly LoadProblem[];
  /** The file of each tool. Bundled tools have none. */
  readonly fileOf: ReadonlyMap<string, string>;
  /** The tools in the manifests that only other personas have. */
  readonly leftOut?: { readonly tools: number; readonly personas: readonly string[] };
  /** The persona of each tool that only one persona has, and the tool's name there. */
  readonly owned?: ReadonlyMap<string, { readonly persona: string; readonly name: string }>;
  /** The number of warnings about the manifests. */
  readonly warnings?: number;
  /** Closes the connections of the tools. */
  readonly close?: () => Promise<void>;
}
