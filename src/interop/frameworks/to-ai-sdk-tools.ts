import { z } from 'zod';
import { checkOptions } from '../../core/options.js';
import type { Policy, ToolOutcome } from '../../safety/calls.js';
import { boundText, plainValue, readOutcome } from '../../safety/read-outcome.js';
import { checkAhead, checkInput } from '../../tool/check-input.js';
import { jsonSchemaOf } from '../../tool/tool-schema.js';
import type { JsonSchema, SchemaInput, StandardSchema } from '../../tool/tool-schema.js';
import type { ToolDefinition, ToolEntry } from '../../tool/tool-definition.js';
import { exportTools, type ExportedTool, type ExportInput } from '../export/exported-tools.js';
import { fieldOf, objectsIn } from '../export/model-calls.js';
import { FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { aiSDKContent } from '../export/result-content.js';
import { metadataOf, type BridgeMetadata } from '../export/to-mcp-tools.js';
import { objectSchema } from '../schema/object-schema.js';
import { AI_SDK_SCHEMA, type Validation } from './from-ai-sdk-tools.js';
import {
  framing,
  frameworkSchema,
  GuardedCalls,
  isSameInput,
  resultOf,
  type CallExecutor,
  type FramedCall,
  type FrameworkOptions,
} from './guarded-calls.js';
import { standardSchema } from './import-tools.js';
import type { OutputOf } from './output-of.js';

/** The options of an export to the AI SDK. Without `executor` no tool has `execute`, and the caller makes the calls. */
type AISDKOptions<Context = unknown> = Partial<Omit<FrameworkOptions, 'context' | 'caller'>> & {
  /** Handed to the tools' work where the call has no context of its own; its type is that of `toolsContext` of the AI SDK 7. @default none */
  readonly context?: Context;
  /** Returns who makes a call, from the context of the call, see `FrameworkOptions`. @default the options, for all calls */
  caller?(context: Context): ReturnType<NonNullable<FrameworkOptions['caller']>>;
  /** Shows what tools report while they run as preliminary results `{ progress }`; `execute` is then a generator. @default false */
  readonly progress?: boolean;
};

interface AISDKCallOptions<Context = unknown> {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly abortSignal?: AbortSignal | undefined;
  /** The program's own value, in version 6. */
  readonly experimental_context?: unknown;
  /** The same in version 7: the tool's entry in `toolsContext`. */
  readonly context?: Context | undefined;
}

/** A schema as the AI SDK takes it; to its types it is a Standard Schema. */
interface AISDKSchema<Value = unknown> extends StandardSchema<Value> {
  readonly jsonSchema: JsonSchema;
  readonly validate?: (value: unknown) => Promise<Validation>;
}

/** JSON as the AI SDK's types have it. */
type OpenJson =
  null | string | number | boolean | { [key: string]: OpenJson | undefined } | OpenJson[];
type ModelOutput = ReturnType<typeof aiSDKContent> | { type: 'json'; value: OpenJson };

/** A tool as the AI SDK takes it. */
export interface AISDKTool<Input = unknown, Output = unknown, Context = unknown> {
  title?: string;
  description: string;
  inputSchema: AISDKSchema<Input>;
  outputSchema?: AISDKSchema<Output>;
  /** The place where the AI SDK 7 reads the type of the context; there is none, and the context is handed on as it is. */
  contextSchema?: AISDKSchema<Context | undefined>;
  /** Facts that are not sent to the model: the AI SDK puts them on the parts of a call, as `toolMetadata`. */
  metadata: BridgeMetadata;
  needsApproval?: (
    input: Input,
    options: Omit<AISDKCallOptions<Context>, 'abortSignal'>,
  ) => Promise<boolean>;
  execute?: (
    input: Input,
    options: AISDKCallOptions<Context>,
  ) => Promise<Output> | AsyncIterable<Output>;
  /** Gives the model the parts of a result beside its value, and of a long one its two ends and its size. */
  toModelOutput?: (result: {
    readonly toolCallId: string;
    readonly input?: unknown;
    readonly output: unknown;
  }) => ModelOutput;
}

/**
 * The tools of a list of definitions under the names that models are given, with the types of their inputs and outputs, as
 * `InferUITools` reads them. With an executor they have `execute`; manual ones to the types alone.
 */
export type AISDKToolSet<
  Tools extends readonly ToolDefinition[],
  Executor = never,
  Progress = false,
  Context = unknown,
> = {
  [Tool in Tools[number] as NameAtModel<Tool['name']>]: Tool extends ToolDefinition<
    infer In,
    infer Out,
    string,
    infer Result
  >
    ? TypedTool<
        SchemaInput<In>,
        OutputOf<Out, Result> | (Progress extends false ? never : { readonly progress: unknown }),
        Executor,
        Context
      >
    : never;
};

/** The AI SDK takes its types from the members that a tool must have. */
type TypedTool<Input, Output, Executor, Context> = AISDKTool<Input, Output, Context> &
  ([Executor] extends [never]
    ? { readonly execute?: never } & Required<Pick<AISDKTool<Input, Output>, 'outputSchema'>>
    : Required<Pick<AISDKTool<Input, Output, Context>, 'execute'>>);

type NameAtModel<Name extends string> = Name extends `${infer Before}.${infer After}`
  ? NameAtModel<`${Before}__${After}`>
  : Name;

const optionsSchema = frameworkSchema
  .partial({ executor: true })
  .extend({ progress: z.boolean().default(false) });

/**
 * Makes a tool set of the AI SDK 6 or 7, by the names that models can be given (`a.b` becomes `a__b`).
 *
 * A call is checked when the AI SDK reads it, decided over when the AI SDK asks whether it needs approval, and made by the
 * executor; what is no result is an error that the model reads. A call that needs approval is stored by the executor, and runs once if the
 * messages hold the approval of exactly this call.
 * Manual tools have no `execute`: the run stops, and the answer is the result that the program adds. The AI SDK itself is
 * not loaded. Every call makes fresh objects.
 *
 * ```js
 * const { text } = await generateText({ model, tools: toAISDKTools(registry, { executor }), stopWhen: stepCountIs(5), prompt });
 * ```
 *
 * A list of definitions gives a set that knows their names, inputs and outputs: `InferUITools<typeof tools>`.
 *
 * @throws ToolError `INVALID_ARGUMENT` with every wrong option or for what can be no tools, `NOT_A_TOOL`, `DUPLICATE_TOOL`.
 */
export function toAISDKTools<
  const Tools extends readonly ToolDefinition[],
  Executor extends CallExecutor = never,
  Progress extends boolean = false,
  Context = unknown,
>(
  definitions: Tools,
  options?: AISDKOptions<Context> & { readonly executor?: Executor; readonly progress?: Progress },
): AISDKToolSet<Tools, Executor, Progress, Context>;
export function toAISDKTools<Context = unknown>(
  input: ExportInput,
  options?: AISDKOptions<Context>,
): Record<string, AISDKTool<unknown, unknown, Context>>;
export function toAISDKTools(
  input: ExportInput,
  options: AISDKOptions = {},
): Record<string, AISDKTool> {
  const { executor, policy, progress, level, resolve, ...rest } = checkOptions(
    optionsSchema,
    options,
    'options of the export to the AI SDK',
  );
  const frame = framing(rest);
  const calls = executor && new GuardedCalls(executor, policy);
  // Without a prototype: models ask for tools of any name, also of the name `constructor`.
  const tools = Object.create(null) as Record<string, AISDKTool>;
  for (const exported of exportTools(input, { level, resolve }, FUNCTION_NAME_RULE).tools) {
    const { entry, name } = exported;
    const inputs = new CheckedInputs(entry);
    const read = new ReadResults();
    const callOf = (
      given: unknown,
      { toolCallId, experimental_context: of6, context: of7 }: AISDKCallOptions,
    ): Promise<FramedCall> =>
      frame({ id: toolCallId, name: entry.name, input: inputs.checked(given) }, of6 ?? of7);
    const tool = (tools[name] = described(exported, inputs));
    if (entry.manual) continue;
    if (calls === undefined) {
      if (policy !== undefined)
        tool.needsApproval = async (given, options) =>
          needsApproval(entry, await callOf(given, options), policy);
      continue;
    }
    tool.needsApproval = async (given, options) => {
      // Asked again after the approval, the AI SDK would take a no for "denied". The decision is made when the call runs.
      if (isApprovedIn(options.messages, name, options.toolCallId, given)) return true;
      return calls.needsApproval(await callOf(given, options));
    };
    const run = async (
      given: unknown,
      options: AISDKCallOptions,
      onProgress?: (progress: unknown) => void,
    ): Promise<unknown> => {
      const call = await callOf(given, options);
      if (isApprovedIn(options.messages, name, call.id, given)) await calls.approve(entry, call);
      const outcome = await calls.run(entry, call, {
        signal: options.abortSignal,
        onProgress,
      });
      const output = resultOf(outcome);
      read.keep(call.id, given, output, outcome);
      return output;
    };
    tool.toModelOutput = ({ toolCallId, input, output }) =>
      read.take(toolCallId, input, output) ?? modelOutput(output, entry.maxResultBytes);
    tool.execute = progress
      ? (given, options) => withProgress((onProgress) => run(given, options, onProgress))
      : (given, options) => run(given, options);
  }
  return tools;
}

/**
 * The results that models read otherwise than by their value: the AI SDK hands on the value, and then asks what the model reads.
 *
 * Ids of calls do not tell whose a result is: models make `call_0` again and again, and users may share a tool set. A result belongs to
 * its value, which is an object of one call alone, or else to its input; it is given once, and is kept no longer than that object.
 */
class ReadResults {
  readonly #kept = new WeakMap<
    object,
    { readonly callId: string; readonly output: unknown; readonly shown: ModelOutput | undefined }
  >();

  keep(callId: string, input: unknown, output: unknown, outcome: ToolOutcome): void {
    const key = [output, input].find(isObject);
    if (
      key === undefined ||
      outcome.status !== 'ok' ||
      (outcome.content === undefined && outcome.maxResultBytes === undefined)
    )
      return;
    // An input that is there already does not tell two calls apart.
    this.#kept.set(key, {
      callId,
      output,
      shown: this.#kept.has(key) ? undefined : aiSDKContent(readOutcome(outcome).content),
    });
  }

  take(callId: string, input: unknown, output: unknown): ModelOutput | undefined {
    const key = [output, input].find(isObject);
    const kept = key && this.#kept.get(key);
    if (key === undefined || kept?.callId !== callId || kept.output !== output) return undefined;
    this.#kept.delete(key);
    return kept.shown;
  }
}

function modelOutput(output: unknown, maxBytes: number | undefined): ModelOutput {
  const { text, data } = plainValue(output);
  const shown = boundText(text, maxBytes);
  return typeof data === 'string' || shown !== text
    ? { type: 'text', value: shown }
    : { type: 'json', value: data as OpenJson };
}

function described({ entry, rendered }: ExportedTool, inputs: CheckedInputs): AISDKTool {
  const metadata = metadataOf(entry);
  const { title } = metadata.annotations;
  return {
    ...(title !== undefined && { title }),
    description: rendered.description,
    inputSchema: schemaOf(objectSchema(rendered.inputSchema), (value) => inputs.check(value)),
    ...(entry.outputSchema !== undefined && {
      outputSchema: schemaOf(structuredClone(jsonSchemaOf(entry.outputSchema, 'output'))),
    }),
    metadata,
  };
}

/**
 * Makes the object that `jsonSchema` of the AI SDK makes, which is therefore not needed.
 *
 * @param validate gives the value as it came, or an error for the model. What a schema converts is converted by the executor:
 * the AI SDK compares what was approved with what its schema gives, and would refuse. @default everything is accepted
 */
function schemaOf(
  jsonSchema: JsonSchema,
  validate?: (value: unknown) => Promise<Validation>,
): AISDKSchema {
  const standard = standardSchema('tooldex', jsonSchema, async (value) => {
    const result = await validate?.(value);
    return result?.success === false ? { issues: [{ message: result.error.message }] } : { value };
  });
  return {
    [AI_SDK_SCHEMA]: true,
    jsonSchema,
    ...(validate && { validate }),
    ...standard,
  } as AISDKSchema;
}

/**
 * The inputs of one tool between their check and their call: the AI SDK has a call's input checked before it names the call.
 *
 * The checked input is a frozen copy, which the AI SDK hands on; after an approval it hands on the input of the messages, for
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
    if (isObject(value)) this.#copies.set(value, checked.raw);
    return { success: true, value: checked.raw };
  }

  /** Returns the checked copy of an input, or the input itself when it is the copy, was not checked or was changed since. */
  checked(given: unknown): unknown {
    const copy = isObject(given) ? this.#copies.get(given) : undefined;
    return copy !== undefined && isSameInput(copy, given) ? copy : given;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Decides by a policy alone, for tool sets without an executor. What is not clearly allowed or denied needs approval: nothing else would stop it. */
async function needsApproval(
  entry: ToolEntry,
  { frame, ...call }: FramedCall,
  policy: Policy,
): Promise<boolean> {
  try {
    const input = await checkInput(entry, call.input);
    if (!input.ok) return false;
    const { verdict } = await policy.decide({ ...call, input: input.value }, frame, entry);
    return verdict !== 'allow' && verdict !== 'deny';
  } catch {
    return true;
  }
}

/**
 * Returns true if the messages end with an approval of exactly this call.
 *
 * As for the AI SDK, only answers in the last message count, one no outweighs all approvals, and the call and the question
 * must be in the messages before. Here the arguments must also be those that the model asked for, in the one call of this id
 * that has no result yet: of two calls with one id the AI SDK shows the user one and may run the other.
 */
function isApprovedIn(
  messages: unknown,
  toolName: string,
  toolCallId: string,
  input: unknown,
): boolean {
  if (!Array.isArray(messages)) return false;
  const before: readonly unknown[] = messages.slice(0, -1);
  const answered = before.findLastIndex((message) =>
    partsOf(message, 'tool').some(
      (part) => part['type'] === 'tool-result' && part['toolCallId'] === toolCallId,
    ),
  );
  const open = before
    .slice(answered + 1)
    .flatMap((message) => partsOf(message, 'assistant'))
    .filter((part) => part['toolCallId'] === toolCallId);
  const [call, ...others] = open.filter((part) => part['type'] === 'tool-call');
  if (
    call === undefined ||
    others.length > 0 ||
    call['toolName'] !== toolName ||
    !isSameInput(call['input'], input)
  )
    return false;
  const questions = new Set(
    open
      .filter((part) => part['type'] === 'tool-approval-request')
      .map((part) => part['approvalId']),
  );
  const answers = partsOf(messages.at(-1), 'tool').filter(
    (part) => part['type'] === 'tool-approval-response' && questions.has(part['approvalId']),
  );
  return answers.length > 0 && answers.every((answer) => answer['approved'] === true);
}

function partsOf(message: unknown, role: string): ReturnType<typeof objectsIn> {
  return fieldOf(message, 'role') === role ? objectsIn(fieldOf(message, 'content')) : [];
}

/** Yields what a call reports while it runs, each as `{ progress }`, and at the end its answer. */
async function* withProgress(
  run: (onProgress: (progress: unknown) => void) => Promise<unknown>,
): AsyncGenerator<unknown, void> {
  const reported: unknown[] = [];
  let running = true;
  let wake = (): void => undefined;
  const answer = run((progress) => {
    reported.push(progress);
    wake();
  }).finally(() => {
    running = false;
    wake();
  });
  answer.catch(() => undefined); // It is awaited below.
  while (running || reported.length > 0) {
    if (reported.length > 0) yield { progress: reported.shift() };
    else await new Promise<void>((resolve) => (wake = resolve));
  }
  yield await answer;
}
