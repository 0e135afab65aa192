import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';

/** A file that could not be used, or a tool in it, and why. */
export interface LoadProblem {
  readonly file: string;
  readonly reason: string;
}

/** The tools a command works on. */
export interface LoadedRegistry {
  readonly registry: ToolMetadataRegistry;
  readonly problems: readonly LoadProblem[];
  /** In which file each tool was found; empty for the bundled tools. */
  readonly fileOf: ReadonlyMap<string, string>;
  /** Ends what the tools hold open. */
  readonly close?: () => Promise<void>;
}
