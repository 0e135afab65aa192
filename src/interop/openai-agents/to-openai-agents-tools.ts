import { z } from 'zod';
import { randomUUID } from 'node:crypto';
import { isToolError, ToolError } from '../../core/errors.js';
import { LIMITS } from '../../core/limits.js';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import { digestOf } from '../../core/plain-data.js';
import type { CallContext, Policy, ToolCall } from '../../safety/calls.js';
import { MemoryStateStore } from '../../state/memory-state-store.js';
import type { StateStore } from '../../state/state-store.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { bridgeShape, contextOf, executorOption, GuardedCalls, notAsked, policyOption, redeemApproval, storeOption, type CallExecutor } from '../bridge/guarded-calls.js';
import { exportedTools, type ExportedTool, type ExportInput, type ExportOptions } from '../export/export-input.js';
import { createNameCodec, FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { objectSchema } from '../export/schema/object-schema.js';

export interface OpenAIAgentsToolsOptions extends ExportOptions, CallContext {
  /** Makes the calls: a `ToolExecutor`. */
  readonly executor: CallExecutor;
  /** Asked beside the executor's own; the stricter of both decides. */
  readonly policy?: Policy;
  /** Where it is remembered what users were asked about, and which approvals ran their call, for 24 days. Runs that go on with other tools or in another process need one that both share. @default these tools' memory */
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
 * The run is interrupted where the policy says `confirm`; an approved call then runs through the executor, once, with the
 * input that was asked about. The runner knows approvals by the id of the call alone: when calls with different inputs were
 * asked about under one id, none of them runs. Results are text, and so is what is told of a call that failed, was denied or waits for an answer: the model reads it and the run goes
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
  const questions = new Questions(store, context.conversationId);
  return exported.map((tool) => toTool(tool, names.encode(tool.entry.name)!, calls, questions));
}

function toTool({ entry, rendered }: ExportedTool, name: string, calls: GuardedCalls, questions: Questions): OpenAIAgentsTool {
  const callOf = (input: unknown, id = randomUUID() as string): ToolCall => ({ id, name: entry.name, input: typeof input === 'string' ? parsed(input) : input });
  return {
    type: 'function',
    name,
    description: rendered.description,
    parameters: { required: [], additionalProperties: true, ...objectSchema(rendered.inputSchema) } as OpenAIAgentsTool['parameters'],
    strict: false,
    deferLoading: false,
    // A manual call is a user's work already.
    needsApproval: async (context, input, callId) => {
      if (entry.manual) return false;
      const call = callOf(input, callId);
      if (!(await calls.needsApproval(call, context))) return false;
      await questions.remember(name, call);
      return true;
    },
    invoke: async (context, input, { toolCall, signal } = {}) => {
      const call = callOf(input, toolCall?.callId);
      const isApproved = (callId: string) => context.isToolApproved({ toolName: name, callId }) === true;
      const approved = toolCall !== undefined && isApproved(toolCall.callId);
      if (approved) {
        try {
          // Whoever approved every call of the tool was not asked about this one.
          const identity = await (isApproved(randomUUID()) ? questions.identityOf(name, call) : questions.assertAsked(name, call));
          await questions.redeem(name, call, identity);
        } catch (error) {
          if (isToolError(error)) return error.message;
          throw error;
        }
      }
      const outcome = await calls.run(entry, call, { owner: context, approved, signal });
      signal?.throwIfAborted();
      return readOutcome(outcome).text;
    },
    isEnabled: () => Promise.resolve(true),
  };
}

/** What users were asked about, with its input and the identity of the store: the runner's approvals know only the id and the tool of a call. */
class Questions {
  readonly #store: StateStore;
  readonly #conversationId: string | null;

  constructor(store: StateStore, conversationId: string | undefined) {
    this.#store = store;
    this.#conversationId = conversationId ?? null;
  }

  async remember(toolName: string, call: ToolCall): Promise<void> {
    const { identity } = await this.#store.now();
    const [key, digest, lifetime] = [this.#key(toolName, call), digestOf(call.input ?? {}), { ttlMs: LIMITS.timerMs, identity }];
    if ((await this.#store.compareAndSet(key, undefined, JSON.stringify([digest, identity]), lifetime)) === true) return;
    const before = await this.#store.get(key);
    // An earlier question keeps its identity: of an approval of before a restart nobody knows whether it ran.
    if (before !== undefined && questionIn(before)[0] !== digest) await this.#store.compareAndSet(key, before, AMBIGUOUS, lifetime);
  }

  /** @returns the identity of the store then. @throws ToolError `INVALID_APPROVAL` unless this input is all that was asked about under the id of the call. */
  async assertAsked(toolName: string, call: ToolCall): Promise<string | undefined> {
    const question = await this.#store.get(this.#key(toolName, call));
    if (question === undefined) throw notAsked();
    const [asked, identity] = questionIn(question);
    if (question === AMBIGUOUS) throw new ToolError('INVALID_APPROVAL', 'Expected one call with the approved id, got calls with different inputs. Nothing was run; call again, each with an id of its own.');
    if (asked !== digestOf(call.input ?? {})) throw new ToolError('INVALID_APPROVAL', 'Expected the input that was asked about, got another. Nothing was run; call again with a new id.');
    return identity;
  }

  /** The identity of the store when a call was asked about; `undefined` when it was not. */
  async identityOf(toolName: string, call: ToolCall): Promise<string | undefined> {
    const question = await this.#store.get(this.#key(toolName, call));
    return question === undefined ? undefined : questionIn(question)[1];
  }

  /** Uses up the approval of an id, whatever the input: a second input under it was not approved. */
  redeem(toolName: string, { id }: ToolCall, identity: string | undefined): Promise<void> {
    return redeemApproval(this.#store, 'openai-agents', [this.#conversationId, id, toolName], identity);
  }

  #key(toolName: string, { id }: ToolCall): string {
    return `openai-agents-question:${digestOf([this.#conversationId, id, toolName])}`;
  }
}

/** Written instead of an input's digest. */
const AMBIGUOUS = JSON.stringify(['ambiguous']);

function questionIn(text: string): readonly [inputDigest: string, identity?: string] {
  return JSON.parse(text) as [string, string?];
}

/** What a model wrote as arguments; text that is no JSON stays text, and is refused as an input. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input.trim() === '' ? '{}' : input);
  } catch {
    return input;
  }
}
