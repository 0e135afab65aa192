import { randomUUID } from '../../core/crypto.js';
import { isToolError } from '../../core/errors.js';
import { checkOptions } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { ToolCall } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { exportTools, type ExportedTool, type ExportInput } from '../export/exported-tools.js';
import { parseArguments } from '../export/model-calls.js';
import { FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { openAIAgentsContent } from '../export/result-content.js';
import { objectSchema } from '../schema/object-schema.js';
import { frameworkSchema, GuardedCalls, type FrameworkOptions } from './guarded-calls.js';

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
  const { executor, level, resolve, ...callOptions } = checkOptions(
    frameworkSchema,
    options,
    'options for exporting to @openai/agents',
  );
  const calls = new GuardedCalls(executor, callOptions);
  return exportTools(input, { level, resolve }, FUNCTION_NAME_RULE).tools.map((tool) =>
    toTool(tool, calls),
  );
}

function toTool(exported: ExportedTool, calls: GuardedCalls): OpenAIAgentsTool {
  const { name, rendered } = exported;
  const agentsCalls = new AgentsCalls(exported, calls);
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
    needsApproval: (context, input, callId) => agentsCalls.needsApproval(context, input, callId),
    invoke: (context, input, details) => agentsCalls.invoke(context, input, details),
    isEnabled: () => Promise.resolve(true),
  };
}

/** The calls to one tool. */
class AgentsCalls {
  constructor(
    readonly exported: ExportedTool,
    readonly calls: GuardedCalls,
  ) {}

  async needsApproval(context: AgentsRunContext, input: unknown, id?: string): Promise<boolean> {
    if (this.exported.entry.manual) return false; // A manual tool's work is done by a user, so no approval is needed.
    const call = this.#call(input, id);
    // An approved call may already have run, so the user isn't asked about it again.
    if (this.#isApproved(context, call.id)) return true;
    return this.calls.needsApproval(call, await this.calls.optionsFor(contextIn(context)));
  }

  async invoke(
    context: AgentsRunContext,
    input: string,
    { toolCall, signal }: Parameters<OpenAIAgentsTool['invoke']>[2] = {},
  ): Promise<string | readonly object[]> {
    const call = this.#call(input, toolCall?.callId);
    const always = this.#isApproved(context, randomUUID()) ? 'always' : 'once';
    const approved = toolCall && this.#isApproved(context, toolCall.callId) ? always : undefined;
    // Outside `try`: an error in the program's `caller` isn't the model's to read, and fails the run.
    const options = await this.calls.optionsFor(contextIn(context), { signal });
    let outcome;
    try {
      outcome = await this.calls.run(call, options, { approved });
    } catch (error) {
      if (isToolError(error)) return error.message;
      throw error;
    }
    signal?.throwIfAborted();
    const { kind, text, content } = readOutcome(outcome);
    return kind === 'result' ? openAIAgentsContent(content) : text;
  }

  #isApproved(context: AgentsRunContext, callId: string): boolean {
    return context.isToolApproved({ toolName: this.exported.name, callId }) === true;
  }

  #call(input: unknown, id: string = randomUUID()): ToolCall {
    const parsed = typeof input === 'string' ? parseArguments(input) : input;
    return { id, name: this.exported.entry.name, input: parsed };
  }
}

/** Returns the program's context. The package passes an empty object if a run has none. */
function contextIn({ context }: AgentsRunContext): unknown {
  const isEmpty = isPlainObject(context) && Reflect.ownKeys(context).length === 0;
  return isEmpty ? undefined : context;
}
