import {
  isToolError,
  ToolMetadataRegistry,
  type ToolDefinition,
  type ToolEntry,
  type ToolError,
} from '../../src/index.js';
import { issuesOf, type Issue } from '../../src/core/errors.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

/** The least a tool must declare. */
export const LEAST = Object.freeze({
  name: 'sample',
  description: 'A sample',
  inputSchema: Object.freeze({ type: 'object', properties: Object.freeze({}) }),
});

/** Any options, right or wrong. */
export type LooseOptions = Readonly<Record<string, unknown>>;

/** A definition of a tool with these options besides the required ones. */
export function sample(options: LooseOptions = {}): ToolDefinition {
  return definitionOf({ ...LEAST, ...options });
}

/** The entry of a tool with these options besides the required ones. */
export function sampleEntry(options: LooseOptions = {}): ToolEntry {
  return new ToolMetadataRegistry().register(sample(options))[0]!;
}

/** A registry with one tool for each of the given options. */
export function registryOf(...tools: readonly LooseOptions[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(tools.map(sample));
  return registry;
}

/** The error of the library that an action throws; anything else it throws, or no error, fails the test. */
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

/** What is wrong with options that are refused. */
export function issuesWith(options: LooseOptions): readonly Issue[] {
  const error = refusal(() => sample(options));
  if (error.code !== 'INVALID_METADATA') throw error;
  return issuesOf(error);
}

/** The entry of a tool with these options, or nothing when they are refused as wrong metadata. */
export function acceptedEntry(options: LooseOptions): ToolEntry | undefined {
  try {
    return sampleEntry(options);
  } catch (error) {
    if (isToolError(error, 'INVALID_METADATA')) return undefined;
    throw error;
  }
}
