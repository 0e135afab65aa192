import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { ToolCall } from '../safety/calls.js';
import { checkInput } from '../tool/check-input.js';

/**
 * Returns each call with the input to use for planning: the parsed input if the tool has
 * `conflictKeys`.
 */
export async function plannable(
  registry: ToolMetadataRegistry,
  calls: readonly ToolCall[],
): Promise<readonly { readonly call: ToolCall; readonly planned: ToolCall }[]> {
  return Promise.all(
    calls.map(async (call) => {
      const entry = registry.get(call.name);
      if (entry?.conflictKeys === undefined) return { call, planned: call };
      const check = await checkInput(entry, call.input);
      if (!check.ok) return { call, planned: call };
      return { call: { ...call, input: check.raw }, planned: { ...call, input: check.value } };
    }),
  );
}
