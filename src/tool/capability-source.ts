import type { ToolDefinition } from './tool-definition.js';

/** The tools that a source returns. */
export interface SourceTools {
  readonly definitions: readonly ToolDefinition[];
  /** The persona that owns the tools. Without an owner, the tools are shared. */
  readonly persona?: string | null;
  /** Problems with single tools. The source's other tools are still used. */
  readonly issues?: readonly string[];
  /**
   * Joins a declared tool that has no function with the source's tool that answers its calls.
   * Returns `undefined` if the source has no such tool. A joined tool replaces the source's tool
   * with the same name.
   */
  readonly join?: (declared: ToolDefinition) => ToolDefinition | undefined;
}

/** A source of tools at run time, such as an MCP server. */
export interface CapabilitySource {
  /** The source's name in findings and tools. */
  readonly name: string;
  /**
   * Reads the source's current tools.
   *
   * @param options With `force`, the source lists its tools again even if it just did. A refresh
   * waits for every source, so use a timeout.
   * @throws any error. The tools that were read last stay in use, and the failure is reported.
   */
  load(options: { readonly force: boolean }): Promise<SourceTools>;
  /** Calls `listener` with the tools whenever they change. Returns a function that unsubscribes. */
  onChange?(listener: (tools: SourceTools) => void): () => void;
}
