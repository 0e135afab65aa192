import {
  isToolError,
  ToolMetadataRegistry,
  type ToolDefinition,
  type ToolEntry,
  type ToolError,
} from '../../src/index.js';
import { issuesOf, type Issue } from '../../src/core/errors.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

/** The minimum that a tool must declare. */
export const LEAST = Object.freeze({
  name: 'sample',
  description: 'A sample',
  inputSchema: Object.freeze({ type: 'object', properties: Object.freeze({}) }),
});

/** Any options, right or wrong. */
export type LooseOptions = Readonly<Record<string, unknown>>;

/** Returns a definition of a tool with these options and the required ones. */
export function sample(options: LooseOptions = {}): ToolDefinition {
  return definitionOf({ ...LEAST, ...options });
}

/** Returns the entry of a tool with these options and the required ones. */
export function sampleEntry(options: LooseOptions = {}): ToolEntry {
  return new ToolMetadataRegistry().register(sample(options))[0]!;
}

/** A registry with one tool for each of the given options. */
export function registryOf(...tools: readonly LooseOptions[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools.map(sample));
  return registry;
}

/**
 * Returns the library's error that an action throws. The test fails for any other error, or none.
 */
export function refusal(action: () => unknown): ToolError {
  try {
    action();
  } catch (error) {
    if (isToolError(error)) return error;
    throw new Error(
      `expected a ToolError, thrown was ${Object.prototype.toString.call(error)} ${error instanceof Error ? error.message : ''}`,
      { cause: error },
    );
  }
  throw new Error('expected a ToolError, nothing was thrown');
}

/** Returns the issues of options that are refused. */
export function issuesWith(options: LooseOptions): readonly Issue[] {
  const error = refusal(() => sample(options));
  if (error.code !== 'INVALID_METADATA') throw error;
  return issuesOf(error);
}

/** Returns the entry of a tool with these options, or undefined if they're refused. */
export function acceptedEntry(options: LooseOptions): ToolEntry | undefined {
  try {
    return sampleEntry(options);
  } catch (error) {
    if (isToolError(error, 'INVALID_METADATA')) return undefined;
    throw error;
  }
}
