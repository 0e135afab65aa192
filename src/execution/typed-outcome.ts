import { ToolError } from '../core/errors.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { ExecuteOptions } from './executor-options.js';
import type { ToolOutcome } from '../safety/calls.js';

/**
 * The options of `executor.run`: the options of `execute`, and the call's `id`. They must contain the
 * context that the definition needs.
 */
export type RunOptions<Context> = unknown extends Context
  ? [options?: ExecuteOptions & { readonly id?: string }]
  : [options: ExecuteOptions & { readonly id?: string; readonly context: Context }];

/** The outcome of a call whose tool returns `Result`. */
export type TypedOutcome<Result> = ToolOutcome extends infer Each
  ? Each extends { readonly status: 'ok' }
    ? Omit<Each, 'value'> & { readonly value: Result }
    : Each
  : never;

/** @throws ToolError `TOOL_NOT_FOUND` unless exactly this definition is registered. */
export function assertRegistered(
  definition: { readonly name: string },
  registry: ToolMetadataRegistry,
): void {
  const { name } = definition;
  if (registry.get(name)?.definition !== definition)
    throw new ToolError(
      'TOOL_NOT_FOUND',
      `This definition of ${JSON.stringify(name)} isn't registered in the executor's registry. Call registry.register(definition) first.`,
    );
}
