import { z } from 'zod';
import { checkOptions } from '../../core/options.js';
import { streamOf } from './stream-of.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { boundText, plainValue, readOutcome } from '../../safety/read-outcome.js';
import { checkInput } from '../../tool/check-input.js';
import { jsonSchemaOf } from '../../tool/tool-schema.js';
import type { JsonSchema, SchemaInput, StandardSchema } from '../../tool/tool-schema.js';
import type { ToolDefinition, ToolEntry } from '../../tool/tool-definition.js';
import { exportTools, type ExportedTool, type ExportInput } from '../export/exported-tools.js';
import { fieldOf, objectsIn } from '../export/model-calls.js';
import { FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { aiSDKContent } from '../export/result-content.js';
import { bridgeMetadataOf, type BridgeMetadata } from '../export/to-mcp-tools.js';
import { objectSchema } from '../schema/object-schema.js';
import { AI_SDK_SCHEMA, type Validation } from './from-ai-sdk-tools.js';
import {
  frameworkSchema,
  GuardedCalls,
  isSameInput,
  resultOrThrow,
  type CallExecutor,
  type FrameworkOptions,
} from './guarded-calls.js';
import { standardSchema } from './import-tools.js';
import type { OutputOf } from './output-of.js';
import { markHalted } from './stop-on-halt.js';

/**
 * The options for exporting tools to the AI SDK. If you don't pass `executor`, the tools have no
 * `execute`, and your program runs the calls.
 */
type AISDKOptions<Context = unknown> = Partial<Omit<FrameworkOptions, 'context' | 'caller'>> & {
  /**
   * The context for tools if a call doesn't have its own. In AI SDK 7, `toolsContext` gets the type
   * of this value. @default none
   */
  readonly context?: Context;
  /**
   * Returns the caller of a call, based on the call's context. See `FrameworkOptions`. @default the
   * options, for all calls
   */
  caller?(context: Context): ReturnType<NonNullable<FrameworkOptions['caller']>>;
  /**
   * Reports progress as preliminary results `{ progress }`, which makes `execute` a generator.
   * @default false
   */
  readonly progress?: boolean;
};

interface AISDKCallOptions<Context = unknown> {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly abortSignal?: AbortSignal | undefined;
  /** The program's own value in AI SDK 6. */
  readonly experimental_context?: unknown;
  /** The program's own value in AI SDK 7: the tool's entry in `toolsContext`. */
  readonly context?: Context | undefined;
}

/** A schema in the AI SDK's format. For type inference, the schema is also a Standard Schema. */
interface AISDKSchema<Value = unknown> extends StandardSchema<Value> {
  readonly jsonSchema: JsonSchema;
  readonly validate?: (value: unknown) => Promise<Validation>;
}

/** The AI SDK's type for JSON. */
type OpenJson =
  null | string | number | boolean | { [key: string]: OpenJson | undefined } | OpenJson[];
type ModelOutput = ReturnType<typeof aiSDKContent> | { type: 'json'; value: OpenJson };

/** A tool in the AI SDK's format. */
export interface AISDKTool<Input = unknown, Output = unknown, Context = unknown> {
  title?: string;
  description: string;
  inputSchema: AISDKSchema<Input>;
  outputSchema?: AISDKSchema<Output>;
  /** Declares the type of the context for AI SDK 7. This field doesn't exist at runtime. */
  contextSchema?: AISDKSchema<Context | undefined>;
  /**
   * Metadata that the model doesn't see. The AI SDK adds this metadata to the parts of a call, as
   * `toolMetadata`.
   */
  metadata: BridgeMetadata;
  needsApproval?: (
    input: Input,
    options: Omit<AISDKCallOptions<Context>, 'abortSignal'>,
  ) => Promise<boolean>;
  execute?: (
    input: Input,
    options: AISDKCallOptions<Context>,
  ) => Promise<Output> | AsyncIterable<Output>;
  /**
   * Converts a result for the model. Includes images and files, and shortens a long result to its
   * start, its end, and its size.
   */
  toModelOutput?: (result: ToolOutput) => ModelOutput;
}

interface ToolOutput {
  readonly toolCallId: string;
  readonly input?: unknown;
  readonly output: unknown;
}

/**
 * The AI SDK tools for a list of definitions, under the names that models see, with the input and
 * output types that `InferUITools` reads. With an executor, all tools have `execute` in the types,
 * even manual tools.
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

/** A tool whose required members define its types for the AI SDK. */
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
 * Returns a tool set for AI SDK 6 or 7, under the names that models can see (`a.b` becomes `a__b`).
 *
 * The executor runs the calls. If a call has no result, the model receives an error. If a call
 * needs approval, the executor stores the call. The stored call runs once, when the messages
 * contain an approval of exactly this call. Manual tools have no `execute`: the run stops, and you
 * add the result. This function doesn't load the AI SDK.
 *
 * ```js
 * const { text } = await generateText({ model, tools: toAISDKTools(registry, { executor }), stopWhen: stepCountIs(5), prompt });
 * ```
 *
 * If you pass a list of definitions, the set has the tools' names, inputs, and outputs as types:
 * `InferUITools<typeof tools>`.
 *
 * @throws ToolError `INVALID_ARGUMENT` with every invalid option, or if the input isn't a list of
 * tools. `NOT_A_TOOL` for a member that isn't a tool. `DUPLICATE_TOOL` if two tools have the same
 * name.
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
  const { executor, progress, level, resolve, ...callOptions } = checkOptions(
    optionsSchema,
    options,
    'options for exporting to the AI SDK',
  );
  const calls = executor && new GuardedCalls(executor, callOptions);
  // The object has no prototype, because models can call tools by any name, even `constructor`.
  const tools = Object.create(null) as Record<string, AISDKTool>;
  for (const exported of exportTools(input, { level, resolve }, FUNCTION_NAME_RULE).tools) {
    const tool = (tools[exported.name] = described(exported));
    if (exported.entry.manual || calls === undefined) continue;
    const runnable = new RunnableTool(exported, calls);
    tool.needsApproval = (input, options) => runnable.needsApproval(input, options);
    tool.execute = progress
      ? (input, options) => withProgress((report) => runnable.run(input, options, report))
      : (input, options) => runnable.run(input, options);
    tool.toModelOutput = (result) => runnable.modelOutput(result);
  }
  return tools;
}

/** A tool whose calls an executor runs. */
class RunnableTool {
  readonly #results = new ReadResults();

  constructor(
    readonly exported: ExportedTool,
    readonly calls: GuardedCalls,
  ) {}

  async needsApproval(input: unknown, options: AISDKCallOptions): Promise<boolean> {
    // The AI SDK also calls this function after the approval, and treats `false` as a denial. So
    // this function returns true after an approval, and `run` decides.
    const { toolCallId, messages } = options;
    if (isApprovedIn(messages, this.exported.name, toolCallId, input)) return true;
    const callOptions = await this.calls.optionsFor(contextOf(options));
    return this.calls.needsApproval(this.#call(input, options), callOptions);
  }

  async run(
    input: unknown,
    options: AISDKCallOptions,
    onProgress?: (progress: unknown) => void,
  ): Promise<unknown> {
    const { toolCallId, messages, abortSignal: signal } = options;
    const isApproved = isApprovedIn(messages, this.exported.name, toolCallId, input);
    const callOptions = await this.calls.optionsFor(contextOf(options), { signal });
    const outcome = await this.calls.run(this.#call(input, options), callOptions, {
      onProgress,
      approved: isApproved ? 'once' : undefined,
    });
    if (readOutcome(outcome).haltReason !== undefined) markHalted(input);
    const output = resultOrThrow(outcome);
    this.#results.keep(toolCallId, input, output, outcome);
    return output;
  }

  modelOutput({ toolCallId, input, output }: ToolOutput): ModelOutput {
    const kept = this.#results.take(toolCallId, input, output);
    return kept ?? modelOutput(output, this.exported.entry.maxResultBytes);
  }

  #call(input: unknown, { toolCallId: id }: AISDKCallOptions): ToolCall {
    return { id, name: this.exported.entry.name, input };
  }
}

function contextOf({ experimental_context: of6, context: of7 }: AISDKCallOptions): unknown {
  return of6 ?? of7;
}

/**
 * Results that contain more for the model than their value, for example images. The AI SDK keeps
 * only the value, and later asks for the version that the model should see.
 *
 * An id doesn't identify a result, because models keep reusing `call_0` and users can share a tool
 * set. So a result is looked up by its value or its input, which are objects of a single call. The
 * result is returned only once, and kept no longer than that object.
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
    // Two calls with the same input can't be told apart.
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

function described({ entry, rendered }: ExportedTool): AISDKTool {
  const metadata = bridgeMetadataOf(entry);
  const { title } = metadata.annotations;
  return {
    ...(title !== undefined && { title }),
    description: rendered.description,
    inputSchema: schemaOf(objectSchema(rendered.inputSchema), (value) => validated(entry, value)),
    ...(entry.outputSchema !== undefined && {
      outputSchema: schemaOf(structuredClone(jsonSchemaOf(entry.outputSchema, 'output'))),
    }),
    metadata,
  };
}

/**
 * Returns a schema object like the AI SDK's `jsonSchema` does.
 *
 * @param validate Returns the value unchanged, or an error for the model. The function must not
 * convert the value, because the AI SDK compares the returned value with the approved value.
 * @default accepts everything
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

/** Validates an input, and returns its frozen copy. */
async function validated(entry: ToolEntry, value: unknown): Promise<Validation> {
  const checked = await checkInput(entry, value);
  return checked.ok
    ? { success: true, value: checked.raw }
    : { success: false, error: new Error(checked.error.message) };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * Returns true if the messages end with an approval of exactly this call.
 *
 * As in the AI SDK, only answers in the last message are used, and a single denial outweighs all
 * approvals. The call and the question must be in earlier messages. The arguments must be the ones
 * that the model wrote. No other open call may have the same id: of two such calls, the AI SDK
 * might show one to the user and run the other.
 */
function isApprovedIn(
  messages: unknown,
  toolName: string,
  toolCallId: string,
  input: unknown,
): boolean {
  if (!Array.isArray(messages)) return false;
  let calls: Part[] = [];
  const questions = new Set<unknown>();
  for (const message of messages.slice(0, -1) as unknown[]) {
    for (const part of partsOf(message, 'assistant')) {
      if (part['toolCallId'] !== toolCallId) continue;
      if (part['type'] === 'tool-call') calls.push(part);
      if (part['type'] === 'tool-approval-request') questions.add(part['approvalId']);
    }
    for (const part of partsOf(message, 'tool'))
      if (part['type'] === 'tool-result' && part['toolCallId'] === toolCallId) {
        calls = [];
        questions.clear();
      }
  }
  const [call] = calls;
  if (call === undefined || calls.length > 1 || call['toolName'] !== toolName) return false;
  if (!isSameInput(call['input'], input)) return false;
  const answers = partsOf(messages.at(-1), 'tool').filter(
    (part) => part['type'] === 'tool-approval-response' && questions.has(part['approvalId']),
  );
  return answers.length > 0 && answers.every((answer) => answer['approved'] === true);
}

type Part = Readonly<Record<string, unknown>>;

function partsOf(message: unknown, role: string): readonly Part[] {
  return fieldOf(message, 'role') === role ? objectsIn(fieldOf(message, 'content')) : [];
}

/** Yields a call's progress as `{ progress }`, and then its result. */
async function* withProgress(
  run: (onProgress: (progress: unknown) => void) => Promise<unknown>,
): AsyncGenerator<unknown, void> {
  yield yield* streamOf((emit) => run((progress) => emit({ progress })));
}
