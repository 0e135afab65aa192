import { randomUUID } from '../../core/crypto.js';
import { isToolError } from '../../core/errors.js';
import { checkOptions } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { exportTools, type ExportedTool, type ExportInput } from '../export/exported-tools.js';
import { parseArguments } from '../export/model-calls.js';
import { FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { openAIAgentsContent } from '../export/result-content.js';
import { objectSchema } from '../schema/object-schema.js';
import {
  framing,
  frameworkSchema,
  GuardedCalls,
  type FramedCall,
  type FrameworkOptions,
} from './guarded-calls.js';

/** The run's context: the program's own context, and the user's approvals. */
type AgentsRunContext = {
  readonly context?: unknown;
  isToolApproved(call: { toolName: string; callId: string }): boolean | undefined;
};

/** A function tool for `@openai/agents`. */
export interface OpenAIAgentsTool {
  type: 'function';
  name: string;
  description: string;
  parameters: {
    type: 'object';
    properties: Record<string, never>;
    required: string[];
    additionalProperties: true;
  };
  strict: false;
  deferLoading: false;
  invoke: (
    context: AgentsRunContext,
    input: string,
    details?: {
      readonly toolCall?: { readonly callId: string } | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ) => Promise<string | readonly object[]>;
  needsApproval: (context: AgentsRunContext, input: unknown, callId?: string) => Promise<boolean>;
  isEnabled: () => Promise<boolean>;
}

/**
 * Returns function tools for `@openai/agents`, under the names that models can see (`a.b` becomes
 * `a__b`).
 *
 * If the policy requires approval, the run is interrupted. After approval, the call runs once, with
 * the input that the user saw. The runner tracks approvals only by call id. If calls with different
 * inputs share an id, none of them runs. If a call has no result, the model receives the reason,
 * and the run continues. This function doesn't load the package.
 *
 * @throws ToolError `INVALID_ARGUMENT` with every invalid option, or if the input isn't a list of
 * tools. `NOT_A_TOOL` for a member that isn't a tool. `DUPLICATE_TOOL` if two tools have the same
 * name.
 */
export function toOpenAIAgentsTools(
  input: ExportInput,
  options: FrameworkOptions,
): OpenAIAgentsTool[] {
  const { executor, policy, level, resolve, ...rest } = checkOptions(
    frameworkSchema,
    options,
    'options for exporting to @openai/agents',
  );
  const calls = new GuardedCalls(executor, policy);
  const frame = framing(rest);
  return exportTools(input, { level, resolve }, FUNCTION_NAME_RULE).tools.map((tool) =>
    toTool(tool, calls, frame),
  );
}

function toTool(
  { entry, name, rendered }: ExportedTool,
  calls: GuardedCalls,
  frame: ReturnType<typeof framing>,
): OpenAIAgentsTool {
  // The package passes an empty object if a run has no context.
  const callOf = (
    { context }: AgentsRunContext,
    input: unknown,
    id: string = randomUUID(),
  ): Promise<FramedCall> =>
    frame(
      { id, name: entry.name, input: typeof input === 'string' ? parseArguments(input) : input },
      isPlainObject(context) && Reflect.ownKeys(context).length === 0 ? undefined : context,
    );
  return {
    type: 'function',
    name,
    description: rendered.description,
    parameters: {
      required: [],
      additionalProperties: true,
      ...objectSchema(rendered.inputSchema),
    } as OpenAIAgentsTool['parameters'],
    strict: false,
    deferLoading: false,
    needsApproval: async (context, input, callId) => {
      if (entry.manual) return false; // A manual tool's work is done by a user, so no approval is needed.
      const call = await callOf(context, input, callId);
      // An approved call may already have run, so the user isn't asked about it again.
      if (context.isToolApproved({ toolName: name, callId: call.id }) === true) return true;
      return calls.needsApproval(call);
    },
    invoke: async (context, input, { toolCall, signal } = {}) => {
      const call = await callOf(context, input, toolCall?.callId);
      const isApproved = (callId: string) =>
        context.isToolApproved({ toolName: name, callId }) === true;
      const always = isApproved(randomUUID()) ? 'always' : 'once';
      const approved = toolCall && isApproved(toolCall.callId) ? always : undefined;
      const outcome = await calls.run(entry, call, { signal, approved }).catch(asMessage);
      if (typeof outcome === 'string') return outcome;
      signal?.throwIfAborted();
      const { kind, text, content } = readOutcome(outcome);
      return kind === 'result' ? openAIAgentsContent(content) : text;
    },
    isEnabled: () => Promise.resolve(true),
  };
}

function asMessage(error: unknown): string {
  if (isToolError(error)) return error.message;
  throw error;
}
