import { z } from 'zod';
import { LIMITS } from '../../core/limits.js';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import { digestOf } from '../../core/plain-data.js';
import type { CallContext, Policy, ToolCall } from '../../safety/calls.js';
import { MemoryStateStore } from '../../state/memory-state-store.js';
import type { StateStore } from '../../state/state-store.js';
import { checkAhead, checkInput } from '../../tool/input/check-input.js';
import { jsonSchemaOf } from '../../tool/schema/json-schema-of.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { bridgeShape, contextOf, executorOption, GuardedCalls, isSameInput, notAsked, policyOption, redeemApproval, resultOf, storeOption, type CallExecutor } from '../bridge/guarded-calls.js';
import { exportedTools, type ExportedTool, type ExportInput, type ExportOptions } from '../export/export-input.js';
import { createNameCodec, FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { objectSchema } from '../export/schema/object-schema.js';
import { metadataOf, type BridgeMetadata } from '../tool-annotations.js';
import { aiSDKSchema, type AISDKSchema, type Validation } from './ai-sdk-schema.js';

export interface AISDKToolsOptions extends ExportOptions, CallContext {
  /** Makes the calls: a `ToolExecutor`. Without it no tool has `execute`, and the caller makes them. */
  readonly executor?: CallExecutor;
  /** Asked beside the executor's own; the stricter of both decides. */
  readonly policy?: Policy;
  /** Whether what tools report while they run is shown as preliminary results `{ progress }`; `execute` is then a generator. @default false */
  readonly progress?: boolean;
  /** Where it is remembered what users were asked about, and which approvals ran their call, for 24 days. Tool sets of one conversation need the same. @default this tool set's memory, and approvals of other sets count */
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

const schema = z.strictObject({ ...bridgeShape, executor: executorOption.optional(), policy: policyOption, progress: z.boolean().default(false), store: storeOption } satisfies FieldsOf<AISDKToolsOptions>);

/**
 * The tools as a tool set of the AI SDK 6, by the names that models can be given (`a.b` becomes `a__b`).
 *
 * A call is checked when the AI SDK reads it, decided over when the AI SDK asks whether it needs approval, and made by the
 * executor as it was checked and decided; what is no result is an error that the model reads. An approved call runs if the
 * messages hold the approval of exactly this call, once: that is a second pass, in which tool and policy are asked again.
 * Manual tools have no `execute`: the run stops, and the answer is the result that the program adds. The AI SDK itself is
 * not loaded. Every call makes fresh objects.
 *
 * ```js
 * const { text } = await generateText({ model, tools: toAISDKTools(registry, { executor }), stopWhen: stepCountIs(5), prompt });
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` with every wrong option or for what can be no tools, `NOT_A_TOOL`, `DUPLICATE_TOOL`.
 */
export function toAISDKTools(input: ExportInput, options: AISDKToolsOptions = {}): Record<string, AISDKTool> {
  const { executor, policy, progress, store: shared, level, ...rest } = checkOptions(schema, options, 'options of the export to the AI SDK');
  const exported = exportedTools(input, { level });
  const names = createNameCodec(exported.map(({ entry }) => entry.name), FUNCTION_NAME_RULE);
  const context = contextOf(rest);
  const store = shared ?? new MemoryStateStore();
  const questionOf = (toolName: string, { id }: ToolCall) => `ai-sdk-question:${digestOf([context.conversationId ?? null, id, toolName])}`;
  const calls = executor && new GuardedCalls({ executor, policy, context });
  // Without a prototype: models ask for tools of any name, also of the name `constructor`.
  const tools = Object.create(null) as Record<string, AISDKTool>;
  for (const tool of exported) {
    const { entry } = tool;
    const toolName = names.encode(entry.name)!;
    const inputs = new CheckedInputs(entry);
    const callOf = ({ toolCallId }: Pick<AISDKCallOptions, 'toolCallId'>, given: unknown): ToolCall => ({ id: toolCallId, name: entry.name, input: inputs.checked(given) });
    tools[toolName] = described(tool, inputs);
    if (entry.manual) continue;
    if (executor === undefined || calls === undefined) {
      if (policy !== undefined) tools[toolName].needsApproval = async (given, call) => needsApproval(entry, callOf(call, given), policy, context);
      continue;
    }
    tools[toolName].needsApproval = async (given, call) => {
      // Asked again after the approval, the AI SDK would take a no for "denied". The decision is made when the call runs.
      if (approvalIn(call.messages, toolName, call.toolCallId, given) !== undefined) return true;
      const made = callOf(call, given);
      if (!(await calls.needsApproval(made, ownerOf(made)))) return false;
      const { identity } = await store.now();
      await store.compareAndSet(questionOf(toolName, made), undefined, identity, { ttlMs: LIMITS.timerMs, identity });
      return true;
    };
    const run = async (given: unknown, call: AISDKCallOptions): Promise<unknown> => {
      const made = callOf(call, given);
      const approvalId = approvalIn(call.messages, toolName, made.id, given);
      if (approvalId !== undefined) {
        const identity = await store.get(questionOf(toolName, made));
        // Without a store of their own, tools of another request asked.
        if (identity === undefined && shared !== undefined) throw notAsked();
        await redeemApproval(store, 'ai-sdk', [context.conversationId ?? null, approvalId, made.id, toolName], identity);
      }
      return resultOf(await calls.run(entry, made, { owner: ownerOf(made), approved: approvalId !== undefined, signal: call.abortSignal }));
    };
    tools[toolName].execute = progress ? (given, call) => withProgress(executor, call.toolCallId, entry.name, () => run(given, call)) : run;
  }
  return tools;
}

function described({ entry, rendered }: ExportedTool, inputs: CheckedInputs): AISDKTool {
  const output = entry.outputSchema === undefined ? undefined : aiSDKSchema(structuredClone(jsonSchemaOf(entry.outputSchema, 'output')));
  const metadata = metadataOf(entry);
  const { title } = metadata.annotations;
  const inputSchema = aiSDKSchema(objectSchema(rendered.inputSchema), (value) => inputs.check(value));
  return { ...(title !== undefined && { title }), description: rendered.description, inputSchema, ...(output && { outputSchema: output }), metadata };
}

/**
 * The inputs of one tool between their check and their call: the AI SDK has a call's input checked before it names the call.
 *
 * What was checked is a frozen copy, which the AI SDK hands on; after an approval it hands on the input of the messages, for
 * which the copy is looked up. Nothing is kept longer than the AI SDK keeps it.
 */
class CheckedInputs {
  readonly #entry: ToolEntry;
  readonly #copies = new WeakMap<object, unknown>();

  constructor(entry: ToolEntry) {
    this.#entry = entry;
  }

  async check(value: unknown): Promise<Validation> {
    const checked = await checkAhead(this.#entry, value);
    if (!checked.ok) return { success: false, error: new Error(checked.error.message) };
    if (isRecord(value)) this.#copies.set(value, checked.raw);
    return { success: true, value: checked.raw };
  }

  /** Returns the checked copy of an input, or the input itself when it is the copy, was not checked or was changed since. */
  checked(given: unknown): unknown {
    const copy = isRecord(given) ? this.#copies.get(given) : undefined;
    return copy !== undefined && isSameInput(copy, given) ? copy : given;
  }
}

/** Returns what a check of one call ends with: its input, which the AI SDK hands on as it is. */
function ownerOf(call: ToolCall): object {
  return isRecord(call.input) ? call.input : call;
}

/** Decides by a policy alone, for tool sets without an executor. What is not clearly allowed or denied needs approval: nothing else would stop it. */
async function needsApproval(entry: ToolEntry, call: ToolCall, policy: Policy, context: CallContext): Promise<boolean> {
  try {
    const input = await checkInput(entry, call.input);
    if (!input.ok) return false;
    const { verdict } = await policy.decide({ ...call, input: input.value }, context, entry);
    return verdict !== 'allow' && verdict !== 'deny';
  } catch {
    return true;
  }
}

/**
 * Returns the id of the approval of exactly this call, if the messages end with one.
 *
 * As for the AI SDK, only answers in the last message count, one no outweighs all approvals, and the call and the question
 * must be in the messages before. Here the arguments must also be those that the model asked for, in the one call of this id
 * that has no result yet: of two calls with one id the AI SDK shows the user one and may run the other.
 */
function approvalIn(messages: unknown, toolName: string, toolCallId: string, input: unknown): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const last: unknown = messages.at(-1);
  if (!isRecord(last) || last['role'] !== 'tool') return undefined;
  const before: readonly unknown[] = messages.slice(0, -1);
  const answered = before.findLastIndex((message) => partsOf(message, 'tool').some((part) => part['type'] === 'tool-result' && part['toolCallId'] === toolCallId));
  const open = before.slice(answered + 1).flatMap((message) => partsOf(message, 'assistant')).filter((part) => part['toolCallId'] === toolCallId);
  const [call, ...others] = open.filter((part) => part['type'] === 'tool-call');
  if (call === undefined || others.length > 0 || call['toolName'] !== toolName || !isSameInput(call['input'], input)) return undefined;
  const questions = new Set(open.filter((part) => part['type'] === 'tool-approval-request').map((part) => part['approvalId']));
  const answers = partsOf(last, 'tool').filter((part) => part['type'] === 'tool-approval-response' && questions.has(part['approvalId']));
  if (answers.length === 0 || !answers.every((answer) => answer['approved'] === true)) return undefined;
  const id = answers[0]!['approvalId'];
  return typeof id === 'string' ? id : undefined;
}

function partsOf(message: unknown, role: string): readonly Readonly<Record<string, unknown>>[] {
  return isRecord(message) && message['role'] === role && Array.isArray(message['content']) ? (message['content'] as unknown[]).filter(isRecord) : [];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Yields what a call reports while it runs, each as `{ progress }`, and at the end its answer. */
async function* withProgress(executor: CallExecutor, callId: string, toolName: string, run: () => Promise<unknown>): AsyncGenerator<unknown, void> {
  const reported: unknown[] = [];
  let running = true;
  let wake = (): void => undefined;
  const stop = executor.on?.((event) => {
    if (event.type !== 'call-progress' || event.callId !== callId || event.toolName !== toolName) return;
    reported.push(event.progress);
    wake();
  });
  try {
    const answer = run().finally(() => {
      running = false;
      wake();
    });
    answer.catch(() => undefined); // It is awaited below.
    while (running || reported.length > 0) {
      if (reported.length > 0) yield { progress: reported.shift() };
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    yield await answer;
  } finally {
    stop?.();
  }
}
