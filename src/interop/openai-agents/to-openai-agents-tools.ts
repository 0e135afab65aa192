import { z } from 'zod';
import { randomUUID } from 'node:crypto';
import { isToolError } from '../../core/errors.js';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import type { CallContext, Policy, ToolCall } from '../../safety/calls.js';
import { MemoryStateStore } from '../../state/memory-state-store.js';
import type { StateStore } from '../../state/state-store.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { bridgeShape, contextOf, executorOption, GuardedCalls, policyOption, redeemApproval, storeOption, type CallExecutor } from '../bridge/guarded-calls.js';
import { exportedTools, type ExportedTool, type ExportInput, type ExportOptions } from '../export/export-input.js';
import { createNameCodec, FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { objectSchema } from '../export/schema/object-schema.js';

export interface OpenAIAgentsToolsOptions extends ExportOptions, CallContext {
  /** Makes the calls: a `ToolExecutor`. */
  readonly executor: CallExecutor;
  /** Asked beside the executor's own; the stricter of both decides. */
  readonly policy?: Policy;
  /** Where approvals that ran their call are remembered, for 24 days. @default these tools' memory */
  readonly store?: StateStore;
}

/** The part of the run's context that is used: it knows the calls that a user approved. */
interface AgentsRunContext {
  isToolApproved(call: { toolName: string; callId: string }): boolean | undefined;
}

interface AgentsCallDetails {
  readonly toolCall?: { readonly callId: string } | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A function tool of @openai/agents. */
export interface OpenAIAgentsTool {
  type: 'function';
  name: string;
  description: string;
  parameters: { type: 'object'; properties: Record<string, never>; required: string[]; additionalProperties: true };
  strict: false;
  deferLoading: false;
  invoke: (context: AgentsRunContext, input: string, details?: AgentsCallDetails) => Promise<string>;
  needsApproval: (context: AgentsRunContext, input: unknown, callId?: string) => Promise<boolean>;
  isEnabled: () => Promise<boolean>;
}

const schema = z.strictObject({ ...bridgeShape, executor: executorOption, policy: policyOption, store: storeOption } satisfies FieldsOf<OpenAIAgentsToolsOptions>);

/**
 * The tools as function tools of `@openai/agents`, by the names that models can be given (`a.b` becomes `a__b`).
 *
 * The run is interrupted where the policy says `confirm`; an approved call then runs through the executor, once. Results are
 * text, and so is what is told of a call that failed, was denied or waits for an answer: the model reads it and the run goes
 * on. A call that needs no approval runs as it was checked and decided over before. The package itself is not loaded.
 *
 * @throws ToolError `INVALID_ARGUMENT` with every wrong option or for what can be no tools, `NOT_A_TOOL`, `DUPLICATE_TOOL`.
 */
export function toOpenAIAgentsTools(input: ExportInput, options: OpenAIAgentsToolsOptions): OpenAIAgentsTool[] {
  const { executor, policy, store = new MemoryStateStore(), level, ...rest } = checkOptions(schema, options, 'options of the export to @openai/agents');
  const exported = exportedTools(input, { level });
  const names = createNameCodec(exported.map(({ entry }) => entry.name), FUNCTION_NAME_RULE);
  const context = contextOf(rest);
  const calls = new GuardedCalls({ executor, policy, context });
  const redeem = (callId: string, name: string) => redeemApproval(store, 'openai-agents', [context.conversationId ?? null, callId, name]);
  return exported.map((tool) => toTool(tool, names.encode(tool.entry.name)!, calls, redeem));
}

function toTool({ entry, rendered }: ExportedTool, name: string, calls: GuardedCalls, redeem: (callId: string, name: string) => Promise<void>): OpenAIAgentsTool {
  const callOf = (input: unknown, id = randomUUID() as string): ToolCall => ({ id, name: entry.name, input: typeof input === 'string' ? parsed(input) : input });
  return {
    type: 'function',
    name,
    description: rendered.description,
    parameters: { required: [], additionalProperties: true, ...objectSchema(rendered.inputSchema) } as OpenAIAgentsTool['parameters'],
    strict: false,
    deferLoading: false,
    // A manual call is a user's work already.
    needsApproval: async (context, input, callId) => !entry.manual && calls.needsApproval(callOf(input, callId), context),
    invoke: async (context, input, { toolCall, signal } = {}) => {
      const call = callOf(input, toolCall?.callId);
      const approved = toolCall !== undefined && context.isToolApproved({ toolName: name, callId: toolCall.callId }) === true;
      if (approved) {
        const used = await redeem(toolCall.callId, name).then(() => undefined, (error: unknown) => error);
        if (isToolError(used)) return used.message;
      }
      const outcome = await calls.run(entry, call, { owner: context, approved, signal });
      signal?.throwIfAborted();
      return readOutcome(outcome).text;
    },
    isEnabled: () => Promise.resolve(true),
  };
}

/** What a model wrote as arguments; text that is no JSON stays text, and is refused as an input. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input.trim() === '' ? '{}' : input);
  } catch {
    return input;
  }
}
