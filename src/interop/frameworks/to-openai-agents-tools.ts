import { randomUUID } from '../../core/crypto.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { checkOptions } from '../../core/options.js';
import { digestOf, isPlainObject } from '../../core/plain-data.js';
import type { ToolCall } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { MemoryStateStore } from '../../state/memory-state-store.js';
import { exportTools, type ExportedTool, type ExportInput } from '../export/exported-tools.js';
import { parseArguments } from '../export/model-calls.js';
import { FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { openAIAgentsContent } from '../export/result-content.js';
import { objectSchema } from '../schema/object-schema.js';
import {
  AskedCalls,
  framing,
  frameworkSchema,
  GuardedCalls,
  notAsked,
  type AskedCall,
  type FramedCall,
  type FrameworkOptions,
} from './guarded-calls.js';

/** The part of the run's context that is used: the program's own, and the calls that a user approved. */
type AgentsRunContext = {
  readonly context?: unknown;
  isToolApproved(call: { toolName: string; callId: string }): boolean | undefined;
};

/** A function tool of @openai/agents. */
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
 * Makes function tools of `@openai/agents`, by the names that models can be given (`a.b` becomes `a__b`).
 *
 * The run is interrupted where the policy says `confirm`; an approved call then runs through the executor, once, with the
 * input that was asked about. The runner knows approvals by the id of the call alone: when calls with different inputs were
 * asked about under one id, none of them runs. Results are text, and so is what is told of a call that failed, was denied or
 * is pending: the model reads it and the run goes on. A call that needs no approval runs as it was checked and decided over
 * before. The package itself is not loaded.
 *
 * @throws ToolError `INVALID_ARGUMENT` with every wrong option or for what can be no tools, `NOT_A_TOOL`, `DUPLICATE_TOOL`.
 */
export function toOpenAIAgentsTools(
  input: ExportInput,
  options: FrameworkOptions,
): OpenAIAgentsTool[] {
  const {
    executor,
    policy,
    store = new MemoryStateStore(),
    level,
    resolve,
    ...rest
  } = checkOptions(frameworkSchema, options, 'options of the export to @openai/agents');
  const calls = new GuardedCalls(executor, policy);
  const asked = new AskedCalls(store, 'openai-agents');
  const frame = framing(rest);
  return exportTools(input, { level, resolve }, FUNCTION_NAME_RULE).tools.map((tool) =>
    toTool(tool, calls, asked, frame),
  );
}

function toTool(
  { entry, name, rendered }: ExportedTool,
  calls: GuardedCalls,
  asked: AskedCalls,
  frame: ReturnType<typeof framing>,
): OpenAIAgentsTool {
  // A run without a context of its own has an empty object.
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
      if (entry.manual) return false; // A manual call is a user's work already.
      const call = await callOf(context, input, callId);
      if (!(await calls.needsApproval(call))) return false;
      // A question that was answered is not asked again: its call may have run.
      if (context.isToolApproved({ toolName: name, callId: call.id }) !== true)
        await asked.remember(name, call);
      return true;
    },
    invoke: async (context, input, { toolCall, signal } = {}) => {
      const call = await callOf(context, input, toolCall?.callId);
      const isApproved = (callId: string) =>
        context.isToolApproved({ toolName: name, callId }) === true;
      const approved = toolCall !== undefined && isApproved(toolCall.callId);
      if (approved) {
        try {
          const question = await asked.find(name, call);
          // Whoever approved every call of the tool was not asked about this one.
          if (!isApproved(randomUUID())) assertAsked(question, call);
          // The approval of an id is used up whatever the input: a second input under it was not approved.
          await asked.redeem(name, call, question, call.id);
        } catch (error) {
          if (isToolError(error)) return error.message;
          throw error;
        }
      }
      const outcome = await calls.run(entry, call, { approved, signal });
      signal?.throwIfAborted();
      const { kind, text, content } = readOutcome(outcome);
      return kind === 'result' ? openAIAgentsContent(content) : text;
    },
    isEnabled: () => Promise.resolve(true),
  };
}

/** @throws ToolError `INVALID_APPROVAL` unless the call's input is all that was asked about under its id. */
function assertAsked(question: AskedCall | undefined, call: ToolCall): void {
  if (question === undefined) throw notAsked();
  if (question.input === null)
    throw new ToolError(
      'INVALID_APPROVAL',
      'Expected one call with the approved id, got calls with different inputs. Nothing was run; call again, each with an id of its own.',
    );
  if (question.input !== digestOf(call.input ?? {}))
    throw new ToolError(
      'INVALID_APPROVAL',
      'Expected the input that was asked about, got another. Nothing was run; call again with a new id.',
    );
}
