import { z } from 'zod';
import type { CallContext, Policy } from '../../safety/calls.js';
import { MemoryStateStore } from '../../state/memory-state-store.js';
import type { StateStore } from '../../state/state-store.js';
import { checkInput } from '../../tool/input/check-input.js';
import { jsonSchemaOf } from '../../tool/schema/json-schema-of.js';
import { answerOf } from '../bridge/answer-of.js';
import { bridgeShape, contextOf, executorOption, policyOption, withMethod } from '../bridge/bridge-options.js';
import type { CallExecutor } from '../bridge/call-executor.js';
import { GuardedCalls } from '../bridge/guarded-calls.js';
import { redeemApproval } from '../bridge/redeem-approval.js';
import { checkExportOptions, exportedTools, type ExportedTool, type ExportInput, type ExportOptions } from '../export/export-input.js';
import { createNameCodec, FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { objectSchema } from '../export/schema/object-schema.js';
import { metadataOf, type BridgeMetadata } from '../tool-annotations.js';
import { approvalIn } from './ai-sdk-approval.js';
import { aiSDKSchema, type AISDKSchema } from './ai-sdk-schema.js';
import { withProgress } from './with-progress.js';

export interface AISDKToolsOptions extends ExportOptions, CallContext {
  /** Makes the calls: a `ToolExecutor`. Without it no tool has `execute`, and the caller makes them. */
  readonly executor?: CallExecutor;
  /** Asked beside the executor's own, of which the stricter decides. */
  readonly policy?: Policy;
  /** Whether what tools report while they run is shown as preliminary results `{ progress }`; `execute` is then a generator. @default false */
  readonly progress?: boolean;
  /** Where approvals that ran their call are remembered, for 24 days. @default this tool set's memory */
  readonly store?: StateStore;
}

interface AISDKCallOptions {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly abortSignal?: AbortSignal | undefined;
}

/** A tool as the AI SDK takes it. */
export interface AISDKTool {
  title?: string;
  description: string;
  inputSchema: AISDKSchema;
  outputSchema?: AISDKSchema;
  /** Not sent to the model: the AI SDK puts it on the parts of a call, as `toolMetadata`. */
  metadata: BridgeMetadata;
  needsApproval?: (input: unknown, options: Pick<AISDKCallOptions, 'toolCallId' | 'messages'>) => Promise<boolean>;
  execute?: (input: unknown, options: AISDKCallOptions) => Promise<unknown> | AsyncIterable<unknown>;
}

const schema = z.strictObject({
  ...bridgeShape,
  executor: executorOption.optional(),
  policy: policyOption,
  progress: z.boolean().default(false),
  store: withMethod<StateStore>('compareAndSet', 'a StateStore').optional(),
});

/**
 * The tools as a tool set of the AI SDK 6, by the names that models can be given (`a.b` becomes `a__b`).
 *
 * The AI SDK checks the input, asks for approval where the policy says `confirm`, and then the executor makes the call; what
 * the policy denies is an error that the model reads. An approved call runs if the messages hold the yes to exactly this
 * call, once: resuming the same messages again does not run it again. Tools that a person answers have no `execute`. The
 * AI SDK itself is not loaded. Every call makes fresh objects.
 *
 * ```js
 * const { text } = await generateText({ model, tools: toAISDKTools(registry, { executor }), stopWhen: stepCountIs(5), prompt });
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` with every wrong option or for what can be no tools, `NOT_A_TOOL`, `DUPLICATE_TOOL`.
 */
export function toAISDKTools(input: ExportInput, options: AISDKToolsOptions = {}): Record<string, AISDKTool> {
  const { executor, policy, progress, store = new MemoryStateStore(), level, ...rest } = checkExportOptions('the AI SDK', schema, options);
  const exported = exportedTools(input, level === undefined ? {} : { level });
  const names = createNameCodec(exported.map(({ entry }) => entry.name), FUNCTION_NAME_RULE);
  const context = contextOf(rest);
  const calls = new GuardedCalls({ executor, policy, context });
  // Without a prototype: models ask for tools of any name, also of the name `constructor`.
  const tools = Object.create(null) as Record<string, AISDKTool>;
  for (const tool of exported) {
    const toolName = names.encode(tool.entry.name)!;
    tools[toolName] = { ...described(tool), ...running({ tool, toolName, executor, calls, progress, store, context, guarded: executor !== undefined || policy !== undefined }) };
  }
  return tools;
}

function described({ entry, rendered }: ExportedTool): AISDKTool {
  const check = async (value: unknown) => {
    const checked = await checkInput(entry, value);
    return checked.ok ? undefined : checked.error.message;
  };
  const output = entry.outputSchema === undefined ? undefined : aiSDKSchema(structuredClone(jsonSchemaOf(entry.outputSchema, 'output')));
  const metadata = metadataOf(entry);
  const { title } = metadata.annotations;
  return { ...(title !== undefined && { title }), description: rendered.description, inputSchema: aiSDKSchema(objectSchema(rendered.inputSchema), check), ...(output && { outputSchema: output }), metadata };
}

interface Running {
  readonly tool: ExportedTool;
  readonly toolName: string;
  readonly executor: CallExecutor | undefined;
  readonly calls: GuardedCalls;
  readonly progress: boolean;
  readonly store: StateStore;
  readonly context: CallContext;
  readonly guarded: boolean;
}

function running({ tool: { entry }, toolName, executor, calls, progress, store, context, guarded }: Running): Pick<AISDKTool, 'needsApproval' | 'execute'> {
  if (entry.manual || !guarded) return {};
  const needsApproval: AISDKTool['needsApproval'] = async (input, { toolCallId, messages }) => {
    // Asked again after the yes, the AI SDK would take a no for "denied": whether the call may run is decided when it runs.
    if (approvalIn(messages, { toolCallId, toolName, input }) !== undefined) return true;
    return (await calls.decide(entry, { id: toolCallId, name: entry.name, input }))?.verdict === 'confirm';
  };
  if (executor === undefined) return { needsApproval };
  const run = async (input: unknown, { toolCallId, messages, abortSignal }: AISDKCallOptions) => {
    const approvalId = approvalIn(messages, { toolCallId, toolName, input });
    if (approvalId !== undefined) await redeemApproval(store, 'ai-sdk', [context.conversationId ?? null, approvalId, toolCallId, toolName]);
    const outcome = await calls.run(executor, entry, { id: toolCallId, name: entry.name, input }, approvalId !== undefined, abortSignal === undefined ? {} : { signal: abortSignal });
    const answer = answerOf(entry.name, outcome);
    if (!answer.ok) throw answer.error;
    return answer.value;
  };
  if (!progress) return { needsApproval, execute: run };
  return { needsApproval, execute: (input, call) => withProgress(executor, { callId: call.toolCallId, toolName: entry.name }, () => run(input, call)) };
}
