import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { ToolCall } from '../safety/calls.js';
import { checkInput } from '../tool/check-input.js';
import { planExecution, type ExecutionPlan } from './plan-execution.js';

/** Plans calls. Uses the parsed input of tools that have `conflictKeys`. */
export async function planCalls(
  registry: ToolMetadataRegistry,
  calls: readonly ToolCall[],
): Promise<ExecutionPlan> {
  const parsed = calls.map(async (call) => {
    const entry = registry.get(call.name);
    const check = entry?.conflictKeys && (await checkInput(entry, call.input));
    return check?.ok === true ? { ...call, input: check.value } : call;
  });
  return planExecution(registry, await Promise.all(parsed));
}
