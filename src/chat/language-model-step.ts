import type * as Sdk from 'ai';
import type { JSONSchema7, LanguageModel as AiLanguageModel, ModelMessage, ToolSet } from 'ai';
import { base64Of } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { missingPackage, requireInstalled } from '../core/issues.js';
import { isPlainObject } from '../core/plain-data.js';
import type {
  LanguageModel,
  ModelPart,
  ModelRequest,
  ModelStep,
  ModelUsage,
} from './model-step.js';
import {
  withUniqueIds,
  type AssistantMessage,
  type ChatMessage,
  type ToolCallPart,
} from './thread.js';

/**
 * Returns the function that calls an AI SDK model, through the SDK's `generateText` and
 * `streamText`. The SDK's functions convert older models, retry failed requests and parse the
 * answer. The tools passed to the SDK can't run.
 *
 * @param options The SDK's options for each request, such as `temperature` and `maxRetries`.
 * @throws ToolError `MISSING_PACKAGE` if `ai` isn't installed.
 */
export async function languageModelStep(
  model: LanguageModel,
  options: Readonly<Record<string, unknown>>,
): Promise<ModelStep> {
  const ai = await importAISDK();
  return (request) => askSdk(ai, model, options, request);
}

async function* askSdk(
  ai: typeof Sdk,
  model: LanguageModel,
  options: Readonly<Record<string, unknown>>,
  request: ModelRequest,
): AsyncGenerator<ModelPart> {
  const { toolChoice, tools } = request;
  const recorded = typeof model === 'string' ? undefined : new RecordedModel(model);
  const settings = {
    ...options,
    ...withSystem(request),
    model: (recorded ?? model) as AiLanguageModel,
    ...(tools.length > 0 && {
      tools: toolSet(tools, ai),
      toolChoice:
        typeof toolChoice === 'string' ? toolChoice : ({ type: 'tool', ...toolChoice } as const),
    }),
    abortSignal: request.signal,
  };
  if (!request.stream) {
    yield answerOf(await ai.generateText(settings), recorded?.rawInputs);
    return;
  }
  const result = ai.streamText({ ...settings, onError: () => undefined }); // The SDK's default handler writes to the console.
  const answer = Promise.all([
    result.response,
    result.toolCalls,
    result.finishReason,
    result.totalUsage,
  ]);
  answer.catch(() => undefined);
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta' || part.type === 'reasoning-delta')
      yield { type: part.type, text: part.text };
    else if (part.type === 'error') throw streamError(part.error);
  }
  const [response, toolCalls, finishReason, totalUsage] = await answer;
  yield answerOf({ response, toolCalls, finishReason, totalUsage }, recorded?.rawInputs);
}

function streamError(cause: unknown): Error {
  if (cause instanceof Error) return cause;
  const message = "The model's stream ended with an error. Try again.";
  return new ToolError('MODEL_FAILED', message, { cause });
}

async function importAISDK(): Promise<typeof Sdk> {
  try {
    return requireInstalled(await import('ai'));
  } catch (cause) {
    return missingPackage('ai', 'Run npm install ai, or pass a function as the model.')(cause);
  }
}

/**
 * Returns the tools in the SDK's format. `Object.fromEntries` accepts any name, even `__proto__`.
 */
function toolSet(tools: ModelRequest['tools'], ai: typeof Sdk): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      { description, inputSchema: ai.jsonSchema(inputSchema as JSONSchema7) },
    ]),
  );
}

/**
 * Returns the instructions separately from the messages, because newer versions of the SDK refuse
 * instructions among the messages.
 */
function withSystem({ system, messages }: ModelRequest) {
  const texts = messages.flatMap(({ role, content }) => (role === 'system' ? [content] : []));
  if (system !== undefined) texts.unshift(system);
  const others = messages.filter(({ role }) => role !== 'system').map(sendable);
  return {
    ...(texts.length > 0 && { system: texts.join('\n\n') }),
    messages: others as unknown as ModelMessage[],
  };
}

/**
 * Returns a message that services accept. Replaces arguments that aren't an object, because
 * services reject them. The call's result explains the error.
 */
function sendable(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant' || typeof message.content === 'string') return message;
  const content = message.content.map((part) => {
    if (part.type !== 'tool-call') return part;
    const { rawInput: _raw, ...call } = part as ToolCallPart;
    return isPlainObject(call.input) ? call : { ...call, input: {} };
  });
  return { ...message, content };
}

interface SdkAnswer {
  readonly response: { readonly messages: readonly unknown[] };
  readonly toolCalls: readonly { readonly input: unknown }[];
  readonly finishReason: string;
  readonly totalUsage: { readonly [Field in keyof ModelUsage]: number | undefined };
}

/** @param rawInputs The calls' arguments as the service sent them. Empty for a model's name. */
function answerOf(
  { response, toolCalls, finishReason, totalUsage }: SdkAnswer,
  rawInputs: readonly string[] = [],
): ModelPart {
  const messages = response.messages as readonly ChatMessage[];
  const message = messages.find(({ role }) => role === 'assistant') as AssistantMessage | undefined;
  const { content = [] } = message ?? {};
  const parts: unknown[] = [];
  // If the model wrote invalid JSON, the message has empty arguments, with which a tool without
  // parameters would run. `toolCalls` contains the model's original arguments, in the same order.
  // Calls can't be matched by id, because ids may be missing or duplicate.
  let at = 0;
  for (const part of typeof content === 'string' ? [{ type: 'text', text: content }] : content) {
    const isCall = part.type === 'tool-call' && at < toolCalls.length;
    parts.push(isCall ? withInputs(part, toolCalls[at]!.input, rawInputs[at]) : part);
    if (isCall) at += 1;
  }
  const { inputTokens, outputTokens, totalTokens } = totalUsage;
  return {
    type: 'answer',
    message: plain({ role: 'assistant', ...message, content: parts }) as AssistantMessage,
    finishReason,
    usage: plain({ inputTokens, outputTokens, totalTokens }) as ModelUsage,
  };
}

/** Returns a call with its arguments, and with their raw text if that isn't their usual JSON. */
function withInputs(call: object, input: unknown = null, rawInput?: string): object {
  const isSame = rawInput === undefined || rawInput === JSON.stringify(input);
  return { ...call, input, ...(!isSame && { rawInput }) };
}

/** Returns plain data, with the bytes of generated files as base64. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key, json: unknown) {
      const original = this[key]; // A Buffer's `toJSON` lists its bytes as numbers.
      return original instanceof Uint8Array ? base64Of(original) : json;
    }),
  );
}

type Part = { readonly type: string; readonly input: unknown };
type SdkModel = Exclude<LanguageModel, string> & {
  readonly supportedUrls?: unknown;
  readonly doGenerate: (...args: unknown[]) => Promise<unknown>;
  readonly doStream: (
    ...args: unknown[]
  ) => Promise<{ readonly stream: ReadableStream<Part>; readonly [field: string]: unknown }>;
};

/**
 * A model that keeps the raw arguments of the calls in its last answer, and gives the calls of
 * complete answers unique ids.
 *
 * The SDK passes on only parsed arguments. Its `generateText` also finds calls by id, so two calls
 * with the same id, or without one, would get the same arguments. The SDK's `wrapLanguageModel`
 * accepts only models of its own version, so this class stands in for a model of any version.
 */
class RecordedModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: unknown;
  /** The arguments of the last answer's calls as the model's service sent them, in order. */
  readonly rawInputs: string[] = [];
  readonly #model: SdkModel;

  constructor(model: Exclude<LanguageModel, string>) {
    this.#model = model as SdkModel;
    this.specificationVersion = model.specificationVersion;
    this.provider = model.provider;
    this.modelId = model.modelId;
    this.supportedUrls = this.#model.supportedUrls;
  }

  readonly doGenerate = async (...args: unknown[]): Promise<unknown> => {
    this.rawInputs.length = 0; // The SDK retries failed requests.
    const answer = withUniqueIds(await this.#model.doGenerate(...args), new Set());
    for (const part of (answer as { readonly content?: readonly Part[] }).content ?? [])
      this.#record(part);
    return answer;
  };

  readonly doStream = async (...args: unknown[]): Promise<object> => {
    this.rawInputs.length = 0;
    const answer = await this.#model.doStream(...args);
    const recording = new TransformStream<Part, Part>({
      transform: (part, controller) => {
        this.#record(part);
        controller.enqueue(part);
      },
    });
    return { ...answer, stream: answer.stream.pipeThrough(recording) };
  };

  #record({ type, input }: Part): void {
    if (type === 'tool-call') this.rawInputs.push(String(input));
  }
}
